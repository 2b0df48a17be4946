package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against made-up {@code /proc} and {@code /sys} trees. */
class PortOwnerTest {
    private static final String HEADER =
            "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref"
                    + " pointer drops\n";
    private static final InetAddress TEN = InetAddress.ofLiteral("10.0.0.1");

    @TempDir
    Path root = Path.of("");

    private Path proc = root;
    private Path sys = root;

    @BeforeEach
    void makeTrees() throws IOException {
        proc = root.resolve("proc");
        sys = root.resolve("sys");
        Files.createDirectories(proc.resolve("net"));
        Files.createDirectories(sys);
    }

    private void udp(String file, String localAddress, int uid, int inode) throws IOException {
        Files.writeString(
                proc.resolve("net").resolve(file),
                HEADER + " 3020: " + localAddress + " 00000000:0000 07 00000000:00000000 00:00000000 00000000  " + uid
                        + "        0 " + inode + " 2 000000004a0e1b11 0\n");
    }

    private void process(int pid, String name, int inode) throws IOException {
        Path descriptors = proc.resolve(pid + "/fd");
        Files.createDirectories(descriptors);
        Files.writeString(proc.resolve(pid + "/comm"), name + "\n");
        Files.createSymbolicLink(descriptors.resolve("0"), Path.of("pipe:[1]"));
        Files.createSymbolicLink(descriptors.resolve("7"), Path.of("socket:[" + inode + "]"));
    }

    private String explanation(InetAddress address) {
        return new PortOwner(proc, sys).explanation(address, 4791);
    }

    @Test
    void namesProcessWithTheAddress() throws IOException {
        udp("udp", "0100000A:12B7", 1000, 555);
        process(31, "other", 554);
        process(32, "nvmf", 555);
        assertThat(explanation(TEN))
                .isEqualTo("UDP port 4791 on 10.0.0.1 is taken by process 32 (nvmf): stop it, or use another address");
    }

    private boolean mayBeTaken(String address) {
        return new PortOwner(proc, sys).mayBeTaken(InetAddress.ofLiteral(address), 4791);
    }

    @Test
    void knowsWhetherAnybodyHasThePort() throws IOException {
        udp("udp", "0100000A:12B7", 1000, 555);
        udp("udp6", "B80D0120000000000000000001000000:12B7", 1000, 555);
        assertThat(mayBeTaken("10.0.0.1")).isTrue();
        assertThat(mayBeTaken("10.0.0.2")).isFalse();
        assertThat(mayBeTaken("2001:db8::1")).isTrue();
        assertThat(mayBeTaken("2001:db8::2")).isFalse();
        udp("udp", "0100000A:12B8", 1000, 555);
        assertThat(mayBeTaken("10.0.0.1")).isFalse();
        udp("udp", "00000000:12B7", 0, 555);
        assertThat(mayBeTaken("10.0.0.2")).isTrue();
    }

    @Test
    void takesAPortForTakenWhereItCannotBeKnown() {
        assertThat(mayBeTaken("10.0.0.1")).isTrue();
        assertThat(mayBeTaken("::1")).isTrue();
    }

    @Test
    void namesProcessWithTheWildcard() throws IOException {
        udp("udp", "00000000:12B7", 1000, 555);
        process(32, "nvmf", 555);
        assertThat(explanation(TEN)).contains("is taken on all addresses by process 32 (nvmf)");
    }

    @Test
    void findsIpv6Address() throws IOException {
        udp("udp6", "B80D0120000000000000000001000000:12B7", 1000, 555);
        process(32, "nvmf", 555);
        assertThat(explanation(InetAddress.ofLiteral("2001:db8::1"))).contains("by process 32 (nvmf)");
        assertThat(explanation(InetAddress.ofLiteral("2001:db8::2"))).doesNotContain("process 32");
    }

    @Test
    void findsIpv6WildcardThatHasTheIpv4Port() throws IOException {
        udp("udp6", "00000000000000000000000000000000:12B7", 1000, 555);
        process(32, "nvmf", 555);
        assertThat(explanation(TEN)).contains("on all addresses by process 32 (nvmf)");
    }

    @Test
    void ignoresOtherPortsAndAddresses() throws IOException {
        udp("udp", "0100000A:12B8", 0, 555);
        udp("udp6", "00000000000000000000000001000000:12B7", 0, 556);
        process(32, "nvmf", 555);
        assertThat(explanation(TEN))
                .isEqualTo("UDP port 4791 on 10.0.0.1 is taken: stop the program that has it, or use another address");
    }

    @Test
    void namesTheKernelsModule() throws IOException {
        udp("udp", "00000000:12B7", 0, 555);
        Files.writeString(proc.resolve("modules"), "ib_core 1 0 - Live\nrdma_rxe 163840 0 - Live 0x0\n");
        assertThat(explanation(TEN))
                .contains("on all addresses by the kernel's rdma_rxe module")
                .contains("rmmod rdma_rxe")
                .contains("network namespace");
        Files.delete(proc.resolve("modules"));
        assertThat(explanation(TEN)).doesNotContain("rdma_rxe");
        Files.createDirectories(sys.resolve("module/rdma_rxe"));
        assertThat(explanation(TEN)).contains("rdma_rxe");
    }

    @Test
    void saysThatOwnerIsHidden() throws IOException {
        udp("udp", "0100000A:12B7", 1001, 555);
        assertThat(explanation(TEN)).contains("user id 1001").contains("ss -lunp");
    }

    @Test
    void worksWithoutProc() {
        assertThat(new PortOwner(root.resolve("none"), root.resolve("none")).explanation(TEN, 4791))
                .contains("UDP port 4791 on 10.0.0.1 is taken");
    }
}
