package org.nvmf4j.linux;

import java.util.concurrent.atomic.AtomicInteger;

/** Whether the owner of a waiter sleeps, so that waking it costs an atomic exchange while it does not. */
final class WakeState {
    private static final int AWAKE = 0;
    private static final int ASLEEP = 1;
    private static final int WOKEN = 2;

    private final AtomicInteger state = new AtomicInteger(AWAKE);

    /** Called by the owner; false if it was woken already. Either way it calls {@link #stayAwake} then. */
    boolean fallAsleep() {
        return state.compareAndSet(AWAKE, ASLEEP);
    }

    void stayAwake() {
        state.set(AWAKE);
    }

    /** Called by anyone; true if the sleep must be interrupted. */
    boolean wake() {
        return state.getAndSet(WOKEN) == ASLEEP;
    }
}
