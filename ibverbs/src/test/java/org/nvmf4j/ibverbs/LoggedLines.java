package org.nvmf4j.ibverbs;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What this module logs, as long as this is open: {@code LEVEL: message}. */
final class LoggedLines extends Handler {
    private final Logger logger = Logger.getLogger(LoggedLines.class.getPackageName());
    private final SimpleFormatter formatter = new SimpleFormatter();
    private final List<String> lines = new CopyOnWriteArrayList<>();

    LoggedLines() {
        setLevel(Level.INFO);
        logger.addHandler(this);
        logger.setUseParentHandlers(false);
    }

    List<String> lines() {
        return lines;
    }

    @Override
    public void publish(LogRecord record) {
        if (isLoggable(record)) {
            lines.add(record.getLevel() + ": " + formatter.formatMessage(record));
        }
    }

    @Override
    public void flush() {
        // nothing is held back
    }

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }
}
