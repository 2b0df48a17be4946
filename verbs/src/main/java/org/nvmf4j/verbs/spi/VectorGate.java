package org.nvmf4j.verbs.spi;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.CompletionVector;

/**
 * Lets one thread at a time into a vector: its lane, for a turn of {@link CompletionVector#progress}, or whoever closes the device. Entering
 * costs an atomic exchange. Thread-safe.
 */
public final class VectorGate {
    private static final VarHandle INSIDE;

    static {
        try {
            INSIDE = MethodHandles.lookup().findVarHandle(VectorGate.class, "inside", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("UnusedVariable") // written through INSIDE
    private volatile @Nullable Thread inside;

    private volatile boolean closed;

    /**
     * Enters for a turn, unless another thread is in or the gate is closed.
     *
     * @return whether the caller is in, and must {@link #leave}
     * @throws IllegalStateException if the caller is in already
     */
    public boolean tryEnter() {
        if (closed) {
            return false;
        }
        Thread self = Thread.currentThread();
        if (!INSIDE.compareAndSet(this, null, self)) {
            if (inside == self) {
                throw new IllegalStateException("progress must not be called from within a handler");
            }
            return false;
        }
        if (closed) {
            leave();
            return false;
        }
        return true;
    }

    /**
     * Enters as soon as whoever is in has left, also where the gate is closed.
     *
     * @param wake called again and again while another thread is in, which may be asleep
     * @return whether the caller must {@link #leave}; false if it was in already
     */
    public boolean enter(Runnable wake) {
        Thread self = Thread.currentThread();
        if (inside == self) {
            return false;
        }
        while (!INSIDE.compareAndSet(this, null, self)) {
            wake.run();
            Thread.onSpinWait();
        }
        return true;
    }

    public void leave() {
        INSIDE.setRelease(this, null);
    }

    /** From now on nobody enters for a turn; who is in, stays. */
    public void close() {
        closed = true;
    }

    public boolean isClosed() {
        return closed;
    }
}
