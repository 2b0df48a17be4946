package org.nvmf4j.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** The options of one arm of {@code nvmf bench compare}: those of the whole comparison, and the arm's own over them. */
@Command(name = "arm")
final class ArmOptions {
    /** Each run gets a seed of its own from the comparison's, and the report has one name. */
    private static final List<String> OF_THE_WHOLE = List.of("--name", "--randseed", "--randrepeat");

    private static final Pattern BLANKS = Pattern.compile("\\s+");

    @Mixin
    HostMixin host;

    @Mixin
    WorkloadMixin work;

    @Mixin
    PostMixin post;

    private ArmOptions() {}

    /**
     * Parses an arm's options.
     *
     * @param common what the comparison's command line says; options that are no arm's are left out
     * @param label of the arm, for messages
     * @param own as on a command line, separated by blanks
     * @throws IllegalArgumentException with one line that names the arm
     */
    static ArmOptions parse(ParseResult common, String label, String own) {
        ArmOptions arm = new ArmOptions();
        CommandLine line = new CommandLine(arm).setOverwrittenOptionsAllowed(true);
        List<String> all = new ArrayList<>();
        for (OptionSpec option : common.matchedOptions()) {
            OptionSpec same = line.getCommandSpec().findOption(option.longestName());
            if (same != null) {
                option.originalStringValues().forEach(value -> all.add(option.longestName() + "=" + value));
            }
        }
        all.addAll(words(own));
        try {
            line.parseArgs(all.toArray(String[]::new));
        } catch (ParameterException e) {
            String why = unknown(own);
            throw new IllegalArgumentException(label + ": " + (why != null ? why : e.getMessage()), e);
        }
        for (String word : words(own)) {
            String option = word.replaceFirst("=.*", "");
            if (OF_THE_WHOLE.contains(option)) {
                throw new IllegalArgumentException(
                        label + ": " + option + " is for the whole comparison: give it outside the quotation marks");
            }
        }
        return arm;
    }

    private static @Nullable String unknown(String own) {
        for (String word : words(own)) {
            String why = FioMixin.whyNot(word);
            if (why != null) {
                return why;
            }
        }
        return null;
    }

    private static List<String> words(String options) {
        return BLANKS.splitAsStream(options).filter(word -> !word.isEmpty()).toList();
    }
}
