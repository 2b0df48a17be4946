package org.nvmf4j.linux;

import java.io.IOException;
import java.util.List;

/**
 * Lets the thread that owns some sockets sleep until one of them has something to receive, or another thread wakes it.
 *
 * <p>{@link #await} is the owner's; {@link #wake} is for any thread and costs an atomic exchange while the owner is
 * awake. {@link #close} is for the owner, or for another thread after it stopped; a {@link #wake} that races with it
 * does nothing.
 */
public abstract sealed class UdpWaiter implements AutoCloseable permits NativeUdpWaiter, PortableUdpWaiter {
    UdpWaiter() {}

    /**
     * A waiter for some sockets.
     *
     * @param sockets at least one, all of one implementation; they stay the caller's to close, after the waiter
     */
    public static UdpWaiter of(List<UdpSocket> sockets) throws IOException {
        if (sockets.isEmpty()) {
            throw new IllegalArgumentException("a waiter needs at least one socket");
        }
        return sockets.getFirst().isNative() ? NativeUdpWaiter.open(sockets) : PortableUdpWaiter.open(sockets);
    }

    /**
     * Sleeps until a socket has something to receive, {@link #wake} was called since the last return of this method, or
     * the time is over; may return without reason.
     *
     * @param timeoutNanos how long at most; 0 looks without sleeping, a negative value sleeps without limit
     * @param untilWritable true to return also when a socket has room to send
     */
    public abstract void await(long timeoutNanos, boolean untilWritable) throws IOException;

    /** Makes the running {@link #await}, or else the next, return at once. Thread-safe. */
    public abstract void wake();

    /** Releases what the waiter holds; not the sockets. Idempotent. */
    @Override
    public abstract void close();
}
