package org.nvmf4j.host;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.nvmf4j.verbs.VerbsException;

/** A fake target and what a host needs to reach it. */
final class HostFixture implements AutoCloseable {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    final FakeTarget target;

    HostFixture() throws VerbsException {
        target = new FakeTarget();
    }

    static HostOptions.Builder options() {
        return HostOptions.builder().provider("loopback");
    }

    static HostOptions.Builder callerOptions() {
        return options().threading(ThreadingMode.CALLER_THREAD);
    }

    Host open(HostOptions options) throws IOException {
        return Host.open(target.address.getAddress(), options);
    }

    Controller connect(Host host) throws IOException {
        return host.connect(target.address, FakeTarget.NQN);
    }

    /** Waits for something that another thread brings about; gives up only where nothing would ever come. */
    static void waitFor(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > PATIENCE_NANOS) {
                throw new AssertionError("never came: " + what);
            }
            LockSupport.parkNanos(100_000);
        }
    }

    @Override
    public void close() {
        target.close();
    }
}
