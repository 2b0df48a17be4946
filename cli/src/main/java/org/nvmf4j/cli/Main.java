package org.nvmf4j.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The {@code nvmf} command. */
@Command(
        name = "nvmf",
        description = "NVMe over Fabrics on RDMA, host and target, without RDMA hardware.",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        versionProvider = Version.class,
        synopsisSubcommandLabel = "COMMAND",
        usageHelpAutoWidth = true,
        sortOptions = false,
        subcommands = {
            ServeCommand.class,
            DiscoverCommand.class,
            IdCtrlCommand.class,
            IdNsCommand.class,
            ListNsCommand.class,
            CopyCommand.class,
            BenchCommand.class,
            CompareCommand.class,
            DevicesCommand.class,
            P2pCommand.class,
            PcieCommand.class,
            DecodeCommand.class,
            DemoCommand.class,
            HelpCommand.class
        })
public final class Main implements Runnable {
    private static final Map<String, String> EXIT_CODES = exitCodes();

    @Spec
    private CommandSpec spec;

    @Option(
            names = {Verbosity.SHORT_OPTION, Verbosity.OPTION},
            scope = ScopeType.INHERIT,
            description = "Say more, and show the stack trace of a failure.")
    @SuppressWarnings("UnusedVariable") // read by name, see Verbosity
    private boolean verbose;

    private Main() {}

    /** Runs one command and exits with its status. */
    public static void main(String[] args) {
        OneLineLogging.install();
        System.exit(launch(commandLine(), args));
    }

    /**
     * Executes a command line and returns its exit status: {@code bench compare} counts as one word, since picocli would ask
     * {@code bench} for the options that it requires for itself. {@code --verbose} may stand between.
     */
    public static int launch(CommandLine commandLine, String... args) {
        List<String> words = new ArrayList<>(List.of(args));
        int first = 0;
        while (first < words.size()
                && (words.get(first).startsWith("-") || words.get(first).equals("help"))) {
            first++;
        }
        int second = first + 1;
        while (second < words.size() && Verbosity.isOption(words.get(second))) {
            second++;
        }
        if (second < words.size() && (words.get(first) + " " + words.get(second)).equals(CompareCommand.NAME)) {
            words.set(first, CompareCommand.NAME);
            words.remove(second);
        }
        return commandLine.execute(words.toArray(String[]::new));
    }

    /** The command with all subcommands, to be executed within a program: its exit status is returned, the process goes on. */
    public static CommandLine commandLine() {
        CommandLine commandLine = new CommandLine(new Main());
        commandLine
                .getCommandSpec()
                .usageMessage()
                .exitCodeListHeading("Exit status:%n")
                .exitCodeList(EXIT_CODES);
        commandLine.setCaseInsensitiveEnumValuesAllowed(true);
        // The values of --a and --b are options themselves.
        Objects.requireNonNull(commandLine.getSubcommands().get(CompareCommand.NAME))
                .setAllowOptionsAsOptionParameters(true);
        commandLine.setExecutionStrategy(Main::execute);
        commandLine.setParameterExceptionHandler(Failures::onWrongUsage);
        commandLine.setExecutionExceptionHandler(Failures::onFailure);
        return commandLine;
    }

    private static Map<String, String> exitCodes() {
        Map<String, String> codes = new LinkedHashMap<>();
        codes.put("0", "done; of serve also: ended by a signal");
        codes.put(
                Integer.toString(Failures.FAILED),
                "failed: a file, the network, the target or the data was not as needed");
        codes.put(Integer.toString(Failures.USAGE), "wrong command line; nothing was done");
        codes.put(Integer.toString(Failures.INTERRUPTED), "ended early by SIGINT or SIGTERM, in good order");
        return codes;
    }

    private static int execute(ParseResult parsed) {
        CommandLine command = parsed.asCommandLineList().getLast();
        if (Verbosity.of(command)) {
            OneLineLogging.beVerbose();
        }
        return StandardOutput.check(command, new CommandLine.RunLast().execute(parsed));
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
