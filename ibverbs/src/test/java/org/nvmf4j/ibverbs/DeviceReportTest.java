package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.verbs.DeviceDescription;
import org.nvmf4j.verbs.VerbsException;

/** What is told of devices that are not there to be tried, from copies of what sysfs has. */
class DeviceReportTest {
    @TempDir
    Path sysfs;

    private DeviceReport report;

    @BeforeEach
    void copySysfs() throws IOException {
        Path devices = sysfs.resolve("class/infiniband");
        report = new DeviceReport(devices, new IbVerbsProvider());
        Path mlx = devices.resolve("mlx5_0");
        write(mlx.resolve("ports/1/state"), "4: ACTIVE\n");
        write(mlx.resolve("ports/1/link_layer"), "Ethernet\n");
        write(mlx.resolve("ports/1/gids/0"), "fe80:0000:0000:0000:0211:22ff:fe33:4455\n");
        write(mlx.resolve("ports/1/gids/1"), "0000:0000:0000:0000:0000:ffff:c000:0201\n");
        write(mlx.resolve("ports/1/gids/2"), "2001:0db8:0000:0000:0000:0000:0000:0001\n");
        write(mlx.resolve("ports/1/gids/3"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
        write(mlx.resolve("ports/1/gid_attrs/ndevs/1"), "eth7\n");
        write(sysfs.resolve("devices/0000:3b:00.0/numa_node"), "1\n");
        Files.createSymbolicLink(mlx.resolve("device"), sysfs.resolve("devices/0000:3b:00.0"));
        write(devices.resolve("bare0/ports/1/state"), "1: DOWN\n");
        write(devices.resolve("bare0/ports/1/link_layer"), "Ethernet\n");
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private DeviceDescription description(String name) {
        return report.all().stream()
                .filter(device -> device.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void tellsPortAddressesAndPlace() {
        assertThat(description("mlx5_0").facts())
                .containsEntry("port 1", "ACTIVE, Ethernet, on eth7")
                .containsEntry("port 1 addresses", "192.0.2.1, 2001:db8::1")
                .containsEntry("PCI address", "0000:3b:00.0")
                .containsEntry("NUMA node", "1");
    }

    /** These addresses are nobody's on this machine. */
    @Test
    void tellsWhyADeviceCannotBeUsed() {
        assertThat(description("mlx5_0").facts().get("use"))
                .startsWith("not possible: ")
                .doesNotContain("\n");
        assertThat(description("bare0").facts())
                .containsEntry("port 1", "DOWN, Ethernet")
                .containsEntry("port 1 addresses", "none")
                .containsEntry("PCI address", "none: it is software")
                .containsEntry("use", "not possible: it has no IP address; ip addr add ADDR dev INTERFACE");
    }

    @Test
    void findsAnAddressOfThePeersKind() throws Exception {
        assertThat(report.addressOf("mlx5_0", null)).isEqualTo(InetAddress.getByName("192.0.2.1"));
        assertThat(report.addressOf("mlx5_0", InetAddress.getByName("2001:db8::2")))
                .isEqualTo(InetAddress.getByName("2001:db8::1"));
    }

    @Test
    void aWrongNameIsAnsweredWithTheRightOnes() {
        assertThatThrownBy(() -> report.addressOf("mlx5_9", null))
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll("'mlx5_9'", "mlx5_0", "bare0")
                .hasMessageNotContaining("\n");
        assertThatThrownBy(() -> report.addressOf("bare0", null))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("has no IP address");
    }
}
