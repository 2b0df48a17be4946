package org.nvmf4j.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;

/** What the launcher runs once after a build, so that the classes of a typical start are in the AOT cache. */
final class Training {
    private Training() {}

    /** Runs every command's help; fails with a stack trace, which the launcher shows. */
    public static void main(String[] args) {
        CommandLine nvmf = Main.commandLine();
        nvmf.setOut(new PrintWriter(new StringWriter()));
        nvmf.execute("--version");
        nvmf.getSubcommands().forEach((name, command) -> {
            nvmf.execute(name, "--help");
            command.getSubcommands().keySet().forEach(second -> nvmf.execute(name, second, "--help"));
        });
    }
}
