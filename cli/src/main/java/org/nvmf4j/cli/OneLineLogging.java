package org.nvmf4j.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.logging.Formatter;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * What the parts of the program log, on standard error in one line each: warnings and errors, and which peer memory was picked; with
 * {@code --verbose} everything, also stack traces. Public because {@link LogManager} makes it when the first message comes; a start without messages does not pay for it.
 */
public final class OneLineLogging {
    private static final String CONFIG_CLASS = "java.util.logging.config.class";
    private static final String CONFIG_FILE = "java.util.logging.config.file";
    private static final String PROGRAM = "org.nvmf4j";
    private static final String CONFIG = """
            handlers = java.util.logging.ConsoleHandler
            java.util.logging.ConsoleHandler.level = ALL
            java.util.logging.ConsoleHandler.formatter = org.nvmf4j.cli.OneLineLogging$Line
            .level = WARNING
            org.nvmf4j.target.PeerMemories.level = INFO
            """;

    private static volatile boolean verbose;

    /**
     * Reads the configuration; for {@link LogManager}.
     *
     * @throws IOException never
     */
    public OneLineLogging() throws IOException {
        LogManager.getLogManager().readConfiguration(new ByteArrayInputStream(CONFIG.getBytes(UTF_8)));
    }

    /** Sets it up, unless the user has a configuration; before anything logs. */
    static void install() {
        if (System.getProperty(CONFIG_CLASS) == null && System.getProperty(CONFIG_FILE) == null) {
            System.setProperty(CONFIG_CLASS, OneLineLogging.class.getName());
        }
    }

    /** From now on everything is logged, with stack traces. */
    static void beVerbose() {
        if (OneLineLogging.class.getName().equals(System.getProperty(CONFIG_CLASS))) {
            verbose = true;
            Holder.LOGGER.setLevel(Level.FINE);
        }
    }

    /** A logger keeps its level only as long as something refers to it. */
    private static final class Holder {
        static final Logger LOGGER = Logger.getLogger(PROGRAM);
    }

    /** One message. */
    public static final class Line extends Formatter {
        /** For {@link LogManager}. */
        public Line() {}

        @Override
        public String format(LogRecord message) {
            StringWriter text = new StringWriter();
            text.append("nvmf: ").append(word(message.getLevel())).append(": ").append(formatMessage(message));
            Throwable cause = message.getThrown();
            if (cause == null) {
                return text.append(System.lineSeparator()).toString();
            }
            if (verbose) {
                text.append(System.lineSeparator());
                cause.printStackTrace(new PrintWriter(text));
                return text.toString();
            }
            return text.append(": ")
                    .append(cause.toString())
                    .append(System.lineSeparator())
                    .toString();
        }

        private static String word(Level level) {
            if (level.intValue() >= Level.SEVERE.intValue()) {
                return "error";
            }
            if (level.intValue() >= Level.WARNING.intValue()) {
                return "warning";
            }
            return level.intValue() >= Level.INFO.intValue() ? "info" : "debug";
        }
    }
}
