package org.nvmf4j.bench;

/** A wish that a run end early, from any thread; what was done until then is reported. */
public final class Stop {
    private volatile boolean requested;

    public void request() {
        requested = true;
    }

    public boolean isRequested() {
        return requested;
    }
}
