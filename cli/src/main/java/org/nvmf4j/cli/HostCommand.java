package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.Controller;
import org.nvmf4j.host.HostOptions;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command that connects to one subsystem and prints something of it. */
abstract class HostCommand implements Callable<Integer> {
    @Mixin
    FabricMixin fabric;

    @Option(
            names = {"-n", "--nqn"},
            paramLabel = "NQN",
            required = true,
            converter = NqnConverter.class,
            description = "NQN of the subsystem.")
    String nqn = "";

    @Mixin
    OutputMixin output;

    @Spec
    CommandSpec spec;

    /** Prints what the command is for. */
    abstract void print(Controller controller, PrintWriter out) throws IOException;

    @Override
    public final @Nullable Integer call() throws IOException {
        InetSocketAddress target = fabric.target();
        HostOptions options = fabric.host.options().build();
        return Interrupt.guard(interrupt -> {
            try (Session session = Session.open(target, nqn, options, interrupt, spec)) {
                PrintWriter out = spec.commandLine().getOut();
                print(session.controller(), out);
                out.flush();
            }
        });
    }

    void print(Report report, String title, PrintWriter out) {
        if (output.json()) {
            report.printJson(out);
        } else {
            out.println(title);
            report.print(out);
        }
    }
}
