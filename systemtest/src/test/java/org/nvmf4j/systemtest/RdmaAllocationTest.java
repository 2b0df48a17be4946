package org.nvmf4j.systemtest;

import java.io.IOException;
import java.net.InetAddress;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The same over libibverbs, on the device of the address in {@code NVMF4J_RDMA_ADDRESS}. */
@EnabledIfEnvironmentVariable(
        named = RdmaAllocationTest.ADDRESS,
        matches = ".+",
        disabledReason = "it is not set: interop/run ibverbs_allocation runs this on rdma_rxe")
class RdmaAllocationTest extends AllocationTest {
    static final String ADDRESS = "NVMF4J_RDMA_ADDRESS";

    @Override
    String provider() {
        return "ibverbs";
    }

    @Override
    TargetNode start(TargetNode.Setup setup) throws IOException {
        return TargetNode.startAt(InetAddress.getByName(System.getenv(ADDRESS)), setup);
    }
}
