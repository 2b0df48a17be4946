package org.nvmf4j.cli;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Where no target can be started, the one line that says why. */
class TargetProcessTest {
    private final DeviceMixin device = new DeviceMixin();

    private void assertStartsNowhere(String... parts) {
        assertThatThrownBy(() -> TargetProcess.start(device, "nqn.2026-11.org.nvmf4j:own", "null:1M"))
                .isInstanceOf(IOException.class)
                .hasMessageContainingAll(parts)
                .hasMessageNotContaining("\n");
    }

    @Test
    void aDeviceThatThereIsNotIsNamed() {
        device.deviceName = "nonsense";
        assertStartsNowhere("an RDMA device 'nonsense'", "nvmf devices");
    }

    @Test
    void aProviderWithoutDevicesSaysWhatIsMissing() {
        Assumptions.assumeFalse(Files.isDirectory(Path.of("/sys/class/infiniband")), "there are RDMA devices here");
        device.provider = "ibverbs";
        assertStartsNowhere("no RDMA device", "load the driver");
    }
}
