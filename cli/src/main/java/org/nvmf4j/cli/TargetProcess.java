package org.nvmf4j.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.host.HostException;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.verbs.AddressText;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.ProviderDescription;

/** An {@code nvmf serve} in a process of its own, on a loopback address that was free or on a device of the kernel. */
final class TargetProcess implements AutoCloseable {
    private static final int ATTEMPTS = 5;
    /** On an address that others use too: below the ports that the kernel gives out by itself. */
    private static final int FIRST_PORT = 20_000;

    private static final int LAST_PORT = 30_000;

    private final Process process;
    private final InetSocketAddress address;
    private final String ready;

    private TargetProcess(Process process, InetSocketAddress address, String ready) {
        this.process = process;
        this.address = address;
        this.ready = ready;
    }

    /**
     * Starts it and waits until hosts can connect.
     *
     * @param device its device must be able to talk to one of these options
     */
    static TargetProcess start(DeviceMixin device, String nqn, String... namespaces) throws IOException {
        String answer = "";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            InetSocketAddress address = addressOn(device);
            List<String> command = javaCommand();
            command.addAll(List.of(
                    "serve",
                    ServeCommand.PARENT_OPTION,
                    Long.toString(ProcessHandle.current().pid())));
            command.addAll(List.of("--listen", AddressText.of(address), "--nqn", nqn));
            command.addAll(List.of(DeviceMixin.PROVIDER_OPTION, device.provider));
            for (String namespace : namespaces) {
                command.addAll(List.of("--ns", namespace));
            }
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
            answer = "it said nothing";
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("ready")) {
                    Thread.ofVirtual().start(() -> drain(lines));
                    return new TargetProcess(process, address, line);
                }
                // A warning, of the JVM's perhaps, or why it ends.
                answer = line;
            }
            stop(process);
        }
        throw new HostException("the target process did not start: " + answer);
    }

    /** A loopback address if the provider serves those, else one of this machine's. */
    private static InetSocketAddress addressOn(DeviceMixin device) throws IOException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        InetAddress loopback = NetworkRoutes.randomLoopbackAddress(random);
        if (canListen(device, loopback)) {
            return new InetSocketAddress(loopback, Addresses.DEFAULT_PORT);
        }
        InetAddress own = NetworkRoutes.localAddresses().stream()
                .filter(address -> !address.isLinkLocalAddress() && canListen(device, address))
                .min(Comparator.comparing(Inet6Address.class::isInstance))
                .orElseThrow(() -> new IOException(whyNowhere(device)));
        return new InetSocketAddress(own, random.nextInt(FIRST_PORT, LAST_PORT));
    }

    /** Naming a target instead would not help: a host needs a device, too. */
    private static String whyNowhere(DeviceMixin device) {
        return Device.describeProviders().stream()
                .filter(provider -> provider.name().equals(device.provider))
                .map(ProviderDescription::unavailableBecause)
                .filter(problem -> !problem.isEmpty())
                .findFirst()
                .orElseGet(() -> "no address of this machine is on "
                        + (device.deviceName == null
                                ? "a device of provider " + device.provider
                                : "an RDMA device '" + device.deviceName + "'")
                        + ": nvmf devices lists those there are; give the interface of one an address (ip addr add)");
    }

    private static boolean canListen(DeviceMixin device, InetAddress address) {
        return Device.canOpen(device.provider, DeviceOptions.at(address).withDeviceName(device.deviceName));
    }

    /** This program once more, as it was started itself. */
    private static List<String> javaCommand() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
        return command;
    }

    private static void drain(BufferedReader lines) {
        try (lines) {
            // A full pipe would stop the target.
            lines.transferTo(java.io.Writer.nullWriter());
        } catch (IOException e) {
            return; // the process has ended
        }
    }

    long pid() {
        return process.pid();
    }

    InetSocketAddress address() {
        return address;
    }

    String ready() {
        return ready;
    }

    @Override
    public void close() {
        stop(process);
    }

    private static void stop(Process process) {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
