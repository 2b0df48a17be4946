package org.nvmf4j.ibverbs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.ProviderContractTest;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.spi.VerbsProvider;

/**
 * The contract on an RDMA device of this machine: the one with the address in {@code NVMF4J_RDMA_ADDRESS}, both ends on it. Nothing may be
 * at the address in {@code NVMF4J_RDMA_NOBODY}, on the same network.
 */
class RdmaContractTest extends ProviderContractTest {
    private static final String ADDRESS = "NVMF4J_RDMA_ADDRESS";
    private static final String NOBODY = "NVMF4J_RDMA_NOBODY";

    @BeforeAll
    static void needsADevice() {
        for (String variable : new String[] {ADDRESS, NOBODY}) {
            Assumptions.assumeTrue(
                    System.getenv(variable) != null,
                    variable + " is not set: interop/run ibverbs_contract runs this on rdma_rxe");
        }
    }

    private static InetAddress address(String variable) {
        try {
            return InetAddress.getByName(System.getenv(variable));
        } catch (UnknownHostException e) {
            throw new IllegalStateException(variable + ": " + e.getMessage(), e);
        }
    }

    @Override
    protected VerbsProvider provider() {
        return new IbVerbsProvider();
    }

    @Override
    protected DeviceOptions targetOptions() {
        return DeviceOptions.at(address(ADDRESS));
    }

    @Override
    protected InetAddress deadAddress() {
        return address(NOBODY);
    }

    /** The kernel's device belongs to every process that may use it. */
    @Override
    public boolean ownsItsAddress() {
        return false;
    }

    @Override
    public boolean pinsMemory() {
        return true;
    }

    /** A device does that with memory windows only, which need a queue pair. */
    @Override
    public boolean invalidatesRegions() {
        return false;
    }

    /** What rdma_rxe finds wrong with the poster's own memory is an operation error to it. */
    @Override
    public boolean tellsLocalErrorsApart() {
        return false;
    }

    @Test
    @Disabled("rdma_rxe of Linux 6.1 never ends a request that leaves its region in the midst of a message")
    @Override
    public void refusesToSendMoreThanTheRegionHolds() {}
}
