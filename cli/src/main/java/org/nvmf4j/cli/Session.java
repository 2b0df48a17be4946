package org.nvmf4j.cli;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.Host;
import org.nvmf4j.host.HostOptions;
import picocli.CommandLine.Model.CommandSpec;

/** A host, and the controller that it is connected to, for as long as a command runs. */
final class Session implements AutoCloseable {
    private final Host host;
    private final Controller controller;

    private Session(Host host, Controller controller) {
        this.host = host;
        this.controller = controller;
    }

    /** Connects; until something else is set, a signal closes everything, which ends whatever waits for the target. */
    static Session open(
            InetSocketAddress target, String nqn, HostOptions options, Interrupt interrupt, CommandSpec command)
            throws IOException {
        Host host = Host.open(target.getAddress(), options);
        try {
            interrupt.stopBy(host::close);
            return new Session(host, patiently(target, command, () -> host.connect(target, nqn)));
        } catch (IOException | RuntimeException e) {
            host.close();
            throw e;
        }
    }

    /** Something that waits for a target. */
    interface Attempt<T> {
        T make() throws IOException;
    }

    /** Makes an attempt, and says when that takes long. */
    static <T> T patiently(InetSocketAddress target, CommandSpec command, Attempt<T> attempt) throws IOException {
        try (Patience _ = Patience.with(
                target, command.qualifiedName(), command.commandLine().getErr())) {
            return attempt.make();
        }
    }

    Host host() {
        return host;
    }

    Controller controller() {
        return controller;
    }

    /** Disconnects. */
    @Override
    public void close() {
        controller.close();
        host.close();
    }
}
