package org.nvmf4j.cli;

import picocli.CommandLine;

/** What became of what a command printed: writers to standard output keep a failure to themselves until they are asked. */
final class StandardOutput {
    private StandardOutput() {}

    /** Whether something that was printed did not get out; flushes. */
    static boolean hasFailed(CommandLine command) {
        // The writer does not hear of it when System.out, which is behind it, failed.
        boolean writer = command.getOut().checkError();
        return System.out.checkError() || writer;
    }

    /**
     * Says so in one line, if something that was printed did not get out.
     *
     * @param status what the command itself ended with
     * @return the exit status
     */
    static int check(CommandLine command, int status) {
        if (!hasFailed(command)) {
            return status;
        }
        command.getErr().println(command.getCommandSpec().qualifiedName() + ": cannot write to standard output");
        command.getErr().flush();
        return status == 0 ? Failures.FAILED : status;
    }
}
