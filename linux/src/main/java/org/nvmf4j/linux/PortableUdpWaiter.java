package org.nvmf4j.linux;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Waits by a {@link Selector}, whose timeouts are whole milliseconds, rounded up. */
final class PortableUdpWaiter extends UdpWaiter {
    private static final long NANOS_PER_MILLISECOND = 1_000_000L;

    private final Selector selector;
    private final List<SelectionKey> keys = new ArrayList<>();
    private final WakeState state = new WakeState();
    private boolean writable;
    private final Consumer<SelectionKey> ignore = PortableUdpWaiter::ignore;

    private PortableUdpWaiter(Selector selector) {
        this.selector = selector;
    }

    static PortableUdpWaiter open(List<UdpSocket> sockets) throws IOException {
        PortableUdpWaiter waiter = new PortableUdpWaiter(Selector.open());
        try {
            for (UdpSocket socket : sockets) {
                if (!(socket instanceof PortableUdpSocket portable)) {
                    throw new IllegalArgumentException("cannot wait for a native and a portable socket together");
                }
                waiter.keys.add(portable.channel().register(waiter.selector, SelectionKey.OP_READ));
            }
        } catch (IOException | RuntimeException e) {
            waiter.close();
            throw e;
        }
        return waiter;
    }

    @Override
    public void await(long timeoutNanos, boolean untilWritable) throws IOException {
        try {
            if (state.fallAsleep()) {
                sleep(timeoutNanos, untilWritable);
            }
        } finally {
            state.stayAwake();
        }
    }

    private void sleep(long timeoutNanos, boolean untilWritable) throws IOException {
        if (untilWritable != writable) {
            writable = untilWritable;
            int operations = untilWritable ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ;
            for (int i = 0; i < keys.size(); i++) {
                keys.get(i).interestOps(operations);
            }
        }
        if (timeoutNanos == 0) {
            selector.selectNow(ignore);
        } else if (timeoutNanos < 0) {
            selector.select(ignore);
        } else {
            selector.select(ignore, (timeoutNanos - 1) / NANOS_PER_MILLISECOND + 1);
        }
    }

    /** Which sockets are ready does not matter: their owner tries them all. */
    private static void ignore(SelectionKey key) {}

    @Override
    public void wake() {
        if (state.wake()) {
            selector.wakeup();
        }
    }

    @Override
    public void close() {
        try {
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
