package org.nvmf4j.systemtest;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Tests, run where there is no Maven; says of each how it ended and how long it took. */
final class TestRun implements TestExecutionListener {
    private final PrintStream out;
    private int passed;
    private int failed;
    private int skipped;
    private long started;

    private TestRun(PrintStream out) {
        this.out = out;
    }

    /**
     * Runs classes, and methods named as in {@code org.nvmf4j.SomeTest#method(java.nio.file.Path)}.
     *
     * @return whether some passed and none failed
     */
    static boolean of(List<String> names, PrintStream out) {
        List<DiscoverySelector> selectors = names.stream()
                .map(name -> name.contains("#")
                        ? (DiscoverySelector) DiscoverySelectors.selectMethod(name)
                        : DiscoverySelectors.selectClass(name))
                .toList();
        TestRun run = new TestRun(out);
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectors)
                                .build(),
                        run);
        out.println(run.passed + " passed, " + run.failed + " failed, " + run.skipped + " skipped");
        return run.failed == 0 && run.passed > 0;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        started = System.nanoTime();
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        skipped++;
        out.println("SKIPPED    " + test.getDisplayName() + ": " + reason);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!test.isTest() && result.getThrowable().isEmpty()) {
            return;
        }
        switch (result.getStatus()) {
            case SUCCESSFUL -> passed++;
            case ABORTED -> skipped++;
            case FAILED -> failed++;
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        out.printf(Locale.ROOT, "%-10s %5.1f s  %s%n", result.getStatus(), seconds, test.getDisplayName());
        result.getThrowable().ifPresent(thrown -> report(result.getStatus(), thrown));
    }

    private void report(TestExecutionResult.Status status, Throwable thrown) {
        if (status == TestExecutionResult.Status.ABORTED) {
            out.println("    " + thrown.getMessage());
        } else {
            thrown.printStackTrace(out);
        }
    }
}
