package org.nvmf4j.ibverbs;

import java.io.IOException;
import java.io.PrintStream;
import java.util.Locale;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs {@link RdmaContractTest}, or the methods of it that are named, as in {@code name(java.nio.file.Path)}, where there is no Maven: in the guest of {@code interop/}. In the end
 * nothing may be left of what was made on the devices.
 */
final class ContractMain {
    private ContractMain() {}

    public static void main(String[] methods) throws IOException {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
        if (methods.length == 0) {
            request.selectors(DiscoverySelectors.selectClass(RdmaContractTest.class));
        }
        for (String method : methods) {
            request.selectors(DiscoverySelectors.selectMethod(RdmaContractTest.class.getName() + "#" + method));
        }
        LauncherDiscoveryRequest plan = request.build();
        Listener listener = new Listener(System.out);
        LauncherFactory.create().execute(plan, listener);
        System.out.println(
                listener.passed + " passed, " + listener.failed + " failed, " + listener.skipped + " skipped");
        System.exit(listener.failed == 0 && listener.passed > 0 ? 0 : 1);
    }

    private static final class Listener implements TestExecutionListener {
        private final PrintStream out;
        private int passed;
        private int failed;
        private int skipped;
        private long started;

        Listener(PrintStream out) {
            this.out = out;
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
            result.getThrowable().ifPresent(t -> report(result.getStatus(), t));
        }

        private void report(TestExecutionResult.Status status, Throwable thrown) {
            if (status == TestExecutionResult.Status.ABORTED) {
                out.println("    " + thrown.getMessage());
            } else {
                thrown.printStackTrace(out);
            }
        }
    }
}
