package org.nvmf4j.linux;

import java.io.IOException;
import java.util.List;

/** Waits for the sockets' file descriptors. */
final class NativeUdpWaiter extends UdpWaiter {
    private final DescriptorWaiter waiter;

    private NativeUdpWaiter(DescriptorWaiter waiter) {
        this.waiter = waiter;
    }

    static NativeUdpWaiter open(List<UdpSocket> sockets) throws LinuxException {
        int[] fds = new int[sockets.size()];
        for (int i = 0; i < fds.length; i++) {
            if (!(sockets.get(i) instanceof NativeUdpSocket own)) {
                throw new IllegalArgumentException("cannot wait for a native and a portable socket together");
            }
            fds[i] = own.fd();
        }
        return new NativeUdpWaiter(new DescriptorWaiter(fds));
    }

    @Override
    public void await(long timeoutNanos, boolean untilWritable) throws IOException {
        waiter.await(timeoutNanos, untilWritable);
    }

    @Override
    public void wake() {
        waiter.wake();
    }

    @Override
    public void close() {
        waiter.close();
    }
}
