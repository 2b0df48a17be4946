package org.nvmf4j.cli;

import java.io.Console;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.nvmf4j.verbs.AddressText;

/** Says on a terminal, once, that an answer is slow to come. */
final class Patience implements AutoCloseable {
    private static final Duration LONG = Duration.ofSeconds(2);

    private final Thread waiter;

    private Patience(Thread waiter) {
        this.waiter = waiter;
    }

    /** From now to {@link #close}. */
    static Patience with(InetSocketAddress target, String command, PrintWriter err) {
        return new Patience(Thread.ofPlatform().daemon().name("nvmf-patience").start(() -> {
            try {
                Thread.sleep(LONG);
            } catch (InterruptedException e) {
                return; // it came
            }
            Console console = System.console();
            if (console != null && console.isTerminal()) {
                err.println(command + ": no answer yet from " + AddressText.of(target) + ", still trying");
                err.flush();
            }
        }));
    }

    @Override
    public void close() {
        waiter.interrupt();
    }
}
