package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.VerbsException;

/** What is said where the libraries or what is behind them are not as they should be. */
class RdmaCoreTest {
    /** Everywhere, and without any function of RDMA. */
    private static final String OTHER_LIBRARY = "libc.so.6";

    @Test
    void aMissingLibraryIsNamedWithItsPackage() {
        assertOneLine(
                "libibverbs-not-here.so.1",
                OTHER_LIBRARY,
                "libibverbs-not-here.so.1 is not there",
                "apt-get install libibverbs1",
                "dnf install libibverbs");
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
    void theLimitOfLockedMemoryIsRead() throws Exception {
        Assumptions.assumeTrue(
                Files.exists(Path.of("/usr/lib/x86_64-linux-gnu/libibverbs.so.1")), "no libibverbs here");
        long bytes = new Libraries("libibverbs.so.1", "librdmacm.so.1").lockableBytes();
        String soft = Files.readAllLines(Path.of("/proc/self/limits")).stream()
                .filter(line -> line.startsWith("Max locked memory"))
                .map(line ->
                        line.substring("Max locked memory".length()).strip().replaceFirst(" .*", ""))
                .findFirst()
                .orElseThrow();
        assertThat(bytes == Long.MAX_VALUE ? "unlimited" : Long.toString(bytes)).isEqualTo(soft);
    }

    @Test
    void aMachineWithoutDevicesHasAReason() {
        Assumptions.assumeFalse(Files.isDirectory(Path.of("/sys/class/infiniband")), "there are RDMA devices here");
        assertThat(new IbVerbsProvider().unavailableBecause()).isNotEmpty().doesNotContain("\n");
    }
}
