package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.VerbsException;

/** What is said where the libraries or what is behind them are not as they should be. */
class RdmaCoreTest {
    /** Everywhere, and without any function of RDMA. */
    private static final String OTHER_LIBRARY = "libc.so.6";

    @Test
    void aMissingLibraryIsNamedWithItsPackage() {
        assertOneLine("libibverbs-not-here.so.1", OTHER_LIBRARY, "libibverbs-not-here.so.1 is not there", "apt-get");
    }

    @Test
    void aLibraryWithoutAFunctionIsTooOld() {
        assertOneLine(OTHER_LIBRARY, OTHER_LIBRARY, "too old", "ibv_query_device", "rdma-core 22");
    }

    private static void assertOneLine(String verbs, String manager, String... parts) {
        Assumptions.assumeTrue(System.getProperty("os.arch").equals("amd64"), "the provider is for x86-64");
        assertThatThrownBy(() -> new Libraries(verbs, manager))
                .isInstanceOf(VerbsException.class)
                .hasMessageNotContaining("\n")
                .hasMessageContainingAll(parts);
    }

    @Test
    void errorsSayWhatToDo() {
        assertThat(RdmaCore.failure(Function.IBV_REG_MR, VerbsException.ENOMEM))
                .hasMessageContainingAll("ibv_reg_mr: ENOMEM", "ulimit -l");
        assertThat(RdmaCore.failure(Function.RDMA_CREATE_EVENT_CHANNEL, 13))
                .hasMessageContainingAll("EACCES", "/dev/infiniband");
        assertThat(RdmaCore.failure(Function.RDMA_CREATE_EVENT_CHANNEL, 2))
                .hasMessageContainingAll("no RDMA device can be opened", "/dev/infiniband", "rdma_ucm");
        assertThat(RdmaCore.failure(Function.IBV_CREATE_QP, VerbsException.EINVAL)
                        .errno())
                .isEqualTo(VerbsException.EINVAL);
    }

    @Test
    void aMachineWithoutDevicesHasAReason() {
        Assumptions.assumeFalse(Files.isDirectory(Path.of("/sys/class/infiniband")), "there are RDMA devices here");
        assertThat(new IbVerbsProvider().unavailableBecause()).isNotEmpty().doesNotContain("\n");
    }
}
