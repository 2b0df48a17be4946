package org.nvmf4j.pcie;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What this module logs meanwhile, kept from the console. */
public final class LoggedWarnings extends Handler implements AutoCloseable {
    private final Logger logger = Logger.getLogger("org.nvmf4j.pcie");
    private final List<String> messages = new ArrayList<>();

    public LoggedWarnings() {
        logger.addHandler(this);
        logger.setUseParentHandlers(false);
    }

    /** Since the last call. */
    public List<String> take() {
        List<String> taken = List.copyOf(messages);
        messages.clear();
        return taken;
    }

    @Override
    public void publish(LogRecord logged) {
        messages.add(new SimpleFormatter().formatMessage(logged));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }
}
