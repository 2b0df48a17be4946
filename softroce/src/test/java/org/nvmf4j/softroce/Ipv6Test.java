package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.VerbsException;

/**
 * IPv6 needs two addresses and loopback has but one: so this runs in network namespaces of its own, where it may make them. There no
 * other test can have the port.
 */
@Timeout(120)
class Ipv6Test {
    private static final String TARGET = "fd00:7::1";
    private static final String HOST = "fd00:7::2";
    private static final String LOOPBACK = "::1";

    @Test
    void movesDataBetweenTwoAddresses() throws Exception {
        runInNamespace(
                "ip -6 addr add " + TARGET + "/128 dev lo && ip -6 addr add " + HOST + "/128 dev lo", "exchange");
    }

    @Test
    void saysThatLoopbackNeedsASecondAddress() throws Exception {
        runInNamespace("true", "alone");
    }

    private static void runInNamespace(String setUp, String scenario) throws Exception {
        assumeTrue(runs("unshare", "-n", "sh", "-c", "ip link set lo up"), "no right to make network namespaces here");
        List<String> command = new ArrayList<>(List.of("unshare", "-n", "sh", "-c"));
        command.add("ip link set lo up && " + setUp + " && exec \"$@\"");
        command.add("sh");
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(Ipv6Test.class.getName());
        command.add(scenario);
        Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(child.waitFor()).as(output).isZero();
    }

    private static boolean runs(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor(30, TimeUnit.SECONDS) && process.exitValue() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** What runs in a namespace. */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("alone")) {
            DeviceOptions options = DeviceOptions.towards(InetAddress.ofLiteral(LOOPBACK));
            try (Device device = Device.open(new SoftRoceProvider(), options)) {
                throw new AssertionError("opened " + device.attributes());
            } catch (VerbsException e) {
                assertThat(e).hasMessageContaining("ip -6 addr add").hasMessageNotContaining("\n");
            }
            return;
        }
        InetAddress target = InetAddress.ofLiteral(TARGET);
        exchange(target, InetAddress.ofLiteral(HOST), target);
        exchange(target, null, target); // the host finds an address by itself
        InetAddress loopback = InetAddress.ofLiteral(LOOPBACK);
        exchange(loopback, null, loopback);
    }

    private static void exchange(InetAddress target, @Nullable InetAddress host, InetAddress towards)
            throws VerbsException {
        SoftRoceProvider provider = new SoftRoceProvider();
        DeviceOptions hostOptions = DeviceOptions.towards(towards).withLocalAddress(host);
        try (Pair pair = Pair.open(provider, DeviceOptions.at(target), hostOptions)) {
            Side hostSide = pair.side(pair.host, 0);
            Side targetSide = pair.side(pair.target, 0);
            pair.connectAndWait(hostSide, targetSide);
            TrafficTest.exchange(
                    pair, hostSide, targetSide, pair.host.attributes().pathMtuBytes());
            assertThat(Pair.count(pair.host, Counter.DROPPED_ICRC)).isZero();
            assertThat(Pair.count(pair.target, Counter.DROPPED_ICRC)).isZero();
        }
    }
}
