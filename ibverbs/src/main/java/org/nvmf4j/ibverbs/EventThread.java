package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.verbs.VerbsException;

/**
 * Takes the connection manager's events of one device and hands them to whom they are for, so that lanes need no system call to know
 * that there are none. Each is copied and acknowledged at once: destroying an id waits for that.
 */
final class EventThread implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(EventThread.class.getName());

    private final RdmaCore core;
    private final long channel;
    private final DescriptorWaiter waiter;
    private final Map<Long, CmId> ids = new ConcurrentHashMap<>();
    private final Thread thread;
    private volatile boolean stopping;

    EventThread(RdmaCore core) throws VerbsException {
        this.core = core;
        channel = core.pointer(Function.RDMA_CREATE_EVENT_CHANNEL, 0);
        try {
            int fd = RdmaCore.intAt(channel + Abi.RdmaEventChannel.FD);
            DescriptorWaiter.setNonBlocking(fd);
            waiter = new DescriptorWaiter(fd);
        } catch (LinuxException e) {
            destroyChannel();
            throw new VerbsException("cannot wait for connection events: " + e.getMessage(), e);
        }
        thread = Thread.ofPlatform().daemon().name("nvmf4j-rdma-cm").start(this::run);
    }

    long channel() {
        return channel;
    }

    void add(long pointer, CmId id) {
        ids.put(pointer, id);
    }

    void remove(long pointer) {
        ids.remove(pointer);
    }

    private void run() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment room = arena.allocate(ValueLayout.JAVA_LONG);
            while (!stopping) {
                waiter.await(-1);
                while (!stopping && core.status(Function.RDMA_GET_CM_EVENT, channel, room.address(), 0, 0) == 0) {
                    take(room.get(ValueLayout.JAVA_LONG, 0));
                }
            }
        } catch (LinuxException e) {
            LOG.log(System.Logger.Level.ERROR, "no connection events any more: " + e.getMessage(), e);
        }
    }

    private void take(long event) {
        CmEvent copy = CmEvent.copyOf(event);
        boolean isRequest = copy.type() == CmEvent.Type.CONNECT_REQUEST;
        long about = isRequest ? RdmaCore.longAt(event + Abi.RdmaCmEvent.LISTEN_ID) : copy.id();
        CmId id = ids.get(about); // before it is acknowledged: after that the place may be another id's
        var _ = core.status(Function.RDMA_ACK_CM_EVENT, event, 0, 0, 0);
        try {
            if (id != null) {
                id.deliver(copy);
            } else if (isRequest) {
                CmId.of(core, this, copy.id()).destroy();
            }
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "unexpected failure at connection event " + copy.type(), e);
        }
    }

    /** Ends the thread and destroys ids that are left, then the channel. */
    @Override
    public void close() {
        ids.values().forEach(CmId::destroy);
        stopping = true;
        boolean interrupted = false;
        while (thread.isAlive()) {
            waiter.wake();
            try {
                thread.join(100);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        ids.values().forEach(CmId::destroy);
        waiter.close();
        destroyChannel();
    }

    private void destroyChannel() {
        var _ = core.status(Function.RDMA_DESTROY_EVENT_CHANNEL, channel, 0, 0, 0);
    }
}
