package org.nvmf4j.verbs;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Keeps a class's log messages from the console and at hand for a test. */
public final class QuietLog extends Handler implements AutoCloseable {
    private final Logger logger;
    private final List<String> messages = new CopyOnWriteArrayList<>();

    public QuietLog(Class<?> of) {
        logger = Logger.getLogger(of.getName());
        logger.setUseParentHandlers(false);
        logger.addHandler(this);
    }

    public List<String> messages() {
        return messages;
    }

    @Override
    public void publish(LogRecord message) {
        messages.add(message.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }
}
