package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.host.HostException;
import org.nvmf4j.host.HostOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code nvmf copy}. */
@Command(
        name = "copy",
        description = "Copy a file into a remote namespace, or a namespace into a file.",
        footer = {
            "",
            "A namespace is written rdma://ADDR[:PORT]/NQN?nsid=N (without ?nsid=N it is 1),",
            "standard input or output is -.",
            "A file that does not fill the namespace leaves the rest of it as it was.",
            "A copy that fails or is interrupted keeps what was written, and says how much",
            "that is."
        })
final class CopyCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "SRC", description = "File, - or namespace to read.")
    private String source = "";

    @Parameters(index = "1", paramLabel = "DST", description = "File, - or namespace to write.")
    private String destination = "";

    @Option(names = "--verify", description = "Read the destination again and compare by SHA-256.")
    private boolean verify;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            converter = Sizes.class,
            description = "Copy so many bytes (default: the whole file or namespace).")
    private @Nullable Long sizeBytes;

    @Mixin
    private HostMixin hostOptions;

    @Spec
    private CommandSpec spec;

    @Override
    public @Nullable Integer call() throws IOException {
        boolean upload = NamespaceUri.isOne(destination);
        if (upload == NamespaceUri.isOne(source)) {
            throw new IllegalArgumentException(
                    "one of SRC and DST must be a namespace, rdma://ADDR[:PORT]/NQN?nsid=N, and the"
                            + " other a file or -");
        }
        if (verify && destination.equals("-")) {
            throw new IllegalArgumentException(
                    "--verify needs a destination that can be read again, not standard output");
        }
        NamespaceUri uri = NamespaceUri.parse(upload ? destination : source);
        HostOptions options = hostOptions.options().build();
        return Interrupt.guard(interrupt -> {
            if (upload) {
                upload(uri, options, interrupt);
            } else {
                download(uri, options, interrupt);
            }
        });
    }

    private void upload(NamespaceUri uri, HostOptions options, Interrupt interrupt) throws IOException {
        // The file first: nobody is to be asked if there is nothing to send.
        try (LocalData local = LocalData.open(source)) {
            long length = local.length(sizeBytes);
            try (Session session = Session.open(uri.target(), uri.nqn(), options, interrupt, spec);
                    NamespaceCopy copy = copy(session, uri)) {
                interrupt.stopByInterrupt();
                copy.requireRoomFor(length);
                NamespaceCopy.Outcome outcome = watched(copy, uri.toString(), length, interrupt, progress -> {
                    return copy.upload(local.channel(), length, progress);
                });
                if (verify) {
                    try (Progress progress = Progress.ofBytes("verify", outcome.bytes())) {
                        compare(outcome, copy.hash(outcome.bytes(), progress), uri.toString());
                    }
                }
                report(outcome);
            }
        }
    }

    private static NamespaceCopy copy(Session session, NamespaceUri uri) throws IOException {
        return new NamespaceCopy(session.host(), session.controller().namespace(uri.nsid()));
    }

    private void download(NamespaceUri uri, HostOptions options, Interrupt interrupt) throws IOException {
        LocalData.checkFolder(destination);
        try (Session session = Session.open(uri.target(), uri.nqn(), options, interrupt, spec);
                NamespaceCopy copy = copy(session, uri)) {
            interrupt.stopByInterrupt();
            download(copy, uri, interrupt);
        }
    }

    private void download(NamespaceCopy copy, NamespaceUri uri, Interrupt interrupt) throws IOException {
        long length = sizeBytes == null ? copy.sizeBytes() : sizeBytes;
        if (length > copy.sizeBytes()) {
            throw new HostException("--size " + length + " exceeds the " + copy.sizeBytes() + " bytes of " + uri);
        }
        NamespaceCopy.Outcome outcome;
        try (LocalData local = LocalData.create(destination)) {
            String name = destination.equals("-") ? "standard output" : destination;
            outcome = watched(copy, name, length, interrupt, progress -> {
                NamespaceCopy.Outcome read = copy.download(local.channel(), length, progress);
                local.sync();
                return read;
            });
        }
        if (verify) {
            try (Progress progress = Progress.ofBytes("verify", length)) {
                compare(outcome, LocalData.hash(Path.of(destination), progress), destination);
            }
        }
        report(outcome);
    }

    private interface Copying {
        NamespaceCopy.Outcome run(LongConsumer progress) throws IOException;
    }

    /** Copies with a progress bar; if that ends early, the user hears how far it came: what was written stays. */
    private NamespaceCopy.Outcome watched(
            NamespaceCopy copy, String destination, long length, Interrupt interrupt, Copying copying)
            throws IOException {
        try (Progress progress = Progress.ofBytes("copy", length)) {
            return copying.run(progress);
        } catch (IOException e) {
            long bytes = copy.settle();
            String all = length == LocalData.UNKNOWN ? "" : " of " + length;
            String remark = bytes == 0
                    ? "nothing was written to " + destination
                    : "the first " + bytes + " bytes" + all + " were written to " + destination;
            if (interrupt.isSignalled()) {
                PrintWriter err = spec.commandLine().getErr();
                err.println(spec.qualifiedName() + ": interrupted: " + remark);
                err.flush();
                throw e;
            }
            throw new HostException(Failures.explain(e) + "; " + remark, e);
        }
    }

    private static void compare(NamespaceCopy.Outcome outcome, byte[] found, String where) throws HostException {
        if (!java.util.Arrays.equals(outcome.sha256(), found)) {
            throw new HostException("verify failed: " + where + " has SHA-256 "
                    + HexFormat.of().formatHex(found) + ", the source "
                    + HexFormat.of().formatHex(outcome.sha256()));
        }
    }

    private void report(NamespaceCopy.Outcome outcome) {
        PrintWriter out = destination.equals("-")
                ? spec.commandLine().getErr()
                : spec.commandLine().getOut();
        out.printf(
                "%d bytes copied%s, SHA-256 %s%n",
                outcome.bytes(), verify ? " and verified" : "", HexFormat.of().formatHex(outcome.sha256()));
        out.flush();
    }
}
