package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class NativeAccessTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    /** Run without native access. */
    static final class Denied {
        private Denied() {}

        public static void main(String[] args) throws Exception {
            try (UdpSocket socket = UdpSocket.open(LOOPBACK, 0, UdpOptions.defaults());
                    Arena arena = Arena.ofConfined()) {
                assertThat(socket.isNative()).isFalse();
                assertThat(PageMemory.allocate(arena, 10_000).address() % 4096).isZero();
                assertThat(socket.newReceiveBatch(arena, 2).receive()).isZero();
            }
            UdpOptions natively = UdpOptions.defaults().withImplementation(UdpOptions.Implementation.NATIVE);
            assertThatThrownBy(() -> UdpSocket.open(LOOPBACK, 0, natively))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("--enable-native-access");
            assertThat(CpuAffinity.isSupported()).isFalse();
            assertThatThrownBy(CpuAffinity::currentCpu).isInstanceOf(UnsupportedOperationException.class);
        }
    }

    /** Run with a system property that chooses the implementation. */
    static final class Chosen {
        private Chosen() {}

        public static void main(String[] args) throws Exception {
            if (args[0].equals("refused")) {
                assertThatThrownBy(() -> UdpSocket.open(LOOPBACK, 0, UdpOptions.defaults()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("automatic, native or portable");
            } else {
                try (UdpSocket socket = UdpSocket.open(LOOPBACK, 0, UdpOptions.defaults())) {
                    assertThat(socket.isNative()).isEqualTo(Boolean.parseBoolean(args[0]));
                }
            }
        }
    }

    @Test
    void fallsBackAndSaysSoWhereNativeAccessIsDenied() throws Exception {
        assertThat(ChildJvm.run(List.of(), List.of("--illegal-native-access=deny"), Denied.class))
                .contains("native access is denied; start Java with --enable-native-access");
    }

    @Test
    void systemPropertyChoosesImplementation() throws Exception {
        String access = "--enable-native-access=ALL-UNNAMED";
        ChildJvm.run(List.of(), List.of(access, "-Dnvmf4j.udp=portable"), Chosen.class, "false");
        ChildJvm.run(List.of(), List.of(access, "-Dnvmf4j.udp=Native"), Chosen.class, "true");
        ChildJvm.run(List.of(), List.of(access, "-Dnvmf4j.udp=both"), Chosen.class, "refused");
        ChildJvm.run(List.of(), List.of(access), Chosen.class, "true");
    }
}
