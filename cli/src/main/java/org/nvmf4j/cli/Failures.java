package org.nvmf4j.cli;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.NvmeStatusException;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Turns what went wrong into one line on standard error; {@code --verbose} adds the stack trace. */
final class Failures {
    /** Exit status of a command line that makes no sense; nothing was done. */
    static final int USAGE = 2;
    /** Exit status of a command that failed. */
    static final int FAILED = 1;

    /** Exit status of a command that a signal ended, as a shell would say it of SIGINT. */
    static final int INTERRUPTED = 130;

    private Failures() {}

    static int onWrongUsage(ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        command.getErr().println(name(command) + ": " + explain(e, command) + "; see '" + name(command) + " --help'");
        return USAGE;
    }

    private static String explain(ParameterException e, CommandLine command) {
        List<String> commands = List.copyOf(command.getSubcommands().keySet());
        if (!commands.isEmpty() && e instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()) {
            return "no command '" + unmatched.getUnmatched().getFirst() + "'; use one of "
                    + String.join(", ", commands);
        }
        if (e instanceof UnmatchedArgumentException unmatched
                && unmatched.isUnknownOption()
                && command.getCommandName().equals("bench")) {
            String reason = FioMixin.whyNot(unmatched.getUnmatched().getFirst());
            if (reason != null) {
                return reason;
            }
        }
        String message = oneLine(e.getMessage()).replaceFirst(" is not an? (int|long|double)$", " is not a number");
        return message.endsWith(".") ? message.substring(0, message.length() - 1) : message;
    }

    /** An {@link IllegalArgumentException} is about what the user wrote: values are checked before anything is done. */
    static int onFailure(Exception e, CommandLine command, @Nullable ParseResult parsed) {
        boolean wrongUsage = e instanceof IllegalArgumentException;
        command.getErr()
                .println(name(command) + ": " + explain(e)
                        + (wrongUsage ? "; see '" + name(command) + " --help'" : advice(e)));
        if (Verbosity.of(command)) {
            e.printStackTrace(command.getErr());
        }
        return wrongUsage ? USAGE : FAILED;
    }

    /** What only the command line knows of a remedy. */
    private static String advice(Exception e) {
        return e instanceof NvmeStatusException nvme
                        && NvmeStatus.code(nvme.status()) == NvmeStatus.CONNECT_INVALID_HOST
                ? ": the target allows other hosts only; use the NQN of one with -q/--hostnqn, or have this one allowed"
                : "";
    }

    private static String name(CommandLine command) {
        return command.getCommandSpec().qualifiedName();
    }

    /** What went wrong, in one line. */
    static String explain(Throwable e) {
        String message = e.getMessage();
        String text = switch (e) {
            case NoSuchFileException _ -> "no such file: " + message;
            case AccessDeniedException _ -> "permission denied: " + message;
            case FileAlreadyExistsException _ -> "exists already: " + message;
            case OutOfMemoryError _ -> "out of memory: " + message;
            default -> message == null ? e.getClass().getSimpleName() : message;
        };
        return oneLine(text);
    }

    private static String oneLine(@Nullable String text) {
        return text == null ? "" : text.strip().replaceAll("\\s*\\R\\s*", " ");
    }
}
