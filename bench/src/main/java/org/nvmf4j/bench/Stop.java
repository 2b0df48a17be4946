package org.nvmf4j.bench;

import org.jspecify.annotations.Nullable;

/** A wish that a run end early, from any thread; what was done until then is reported. */
public final class Stop {
    private final @Nullable Stop outer;
    private volatile boolean requested;

    public Stop() {
        this(null);
    }

    /** One that is requested with another, and can be requested alone. */
    Stop(@Nullable Stop outer) {
        this.outer = outer;
    }

    public void request() {
        requested = true;
    }

    public boolean isRequested() {
        return requested || (outer != null && outer.isRequested());
    }
}
