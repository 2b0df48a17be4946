package org.nvmf4j.cli;

import java.io.Console;
import java.util.function.LongConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/** A progress bar on a terminal, nothing elsewhere. */
final class Progress implements LongConsumer, AutoCloseable {
    private final @Nullable ProgressBar bar;

    private Progress(@Nullable ProgressBar bar) {
        this.bar = bar;
    }

    /** Of bytes that are moved. */
    static Progress ofBytes(String what, long bytes) {
        return new Progress(
                isTerminal()
                        ? builder(what, bytes)
                                .setUnit(" MiB", 1 << 20)
                                .showSpeed()
                                .build()
                        : null);
    }

    /** Of anything that can be counted. */
    static Progress of(String what, long count, String unit) {
        return new Progress(
                isTerminal() ? builder(what, count).setUnit(" " + unit, 1).build() : null);
    }

    private static boolean isTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    private static ProgressBarBuilder builder(String what, long max) {
        return new ProgressBarBuilder().setTaskName(what).setInitialMax(max).setStyle(ProgressBarStyle.UNICODE_BLOCK);
    }

    /** Goes on by so much. */
    @Override
    public void accept(long more) {
        if (bar != null) {
            bar.stepBy(more);
        }
    }

    /** Goes on to so much in all. */
    void reach(long done) {
        if (bar != null) {
            bar.stepTo(done);
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }
}
