package org.nvmf4j.systemtest;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what other threads and processes do, for as long as it takes them but not for ever. */
final class Await {
    /** Far more than anything here takes; a test that gets there has failed. */
    static final Duration LIMIT = Duration.ofSeconds(60);

    private static final long LOOK_NANOS = 2_000_000;

    private Await() {}

    /** Waits until something is so; says what it waited for, and how things stood, if that does not come. */
    static void until(String what, BooleanSupplier condition, Supplier<?> state) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > LIMIT.toNanos()) {
                throw new AssertionError("not within " + LIMIT.toSeconds() + " s: " + what + "; " + state.get());
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }
}
