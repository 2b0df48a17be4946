package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.VerbsException;

/**
 * Takes the connection manager's events of one device and hands them to whom they are for. Each is copied and acknowledged at once:
 * destroying an id waits for that.
 */
final class EventThread implements AutoCloseable {
    private final RdmaCore core;
    private final long channel;
    private final Map<Long, CmId> ids = new ConcurrentHashMap<>();
    private final MemorySegment room = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
    private final EventReader reader;

    EventThread(RdmaCore core) throws VerbsException {
        this.core = core;
        channel = core.pointer(Function.RDMA_CREATE_EVENT_CHANNEL, 0);
        try {
            int fd = RdmaCore.intAt(channel + Abi.RdmaEventChannel.FD);
            reader = new EventReader("connection events", fd, this::takeOne);
        } catch (VerbsException e) {
            destroyChannel();
            throw e;
        }
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

    private int takeOne() {
        int errno = core.status(Function.RDMA_GET_CM_EVENT, channel, room.address(), 0, 0);
        if (errno != 0) {
            return errno;
        }
        long event = room.get(ValueLayout.JAVA_LONG, 0);
        CmEvent copy = CmEvent.copyOf(event);
        boolean isRequest = copy.type() == CmEvent.Type.CONNECT_REQUEST;
        long about = isRequest ? RdmaCore.longAt(event + Abi.RdmaCmEvent.LISTEN_ID) : copy.id();
        CmId id = ids.get(about); // before it is acknowledged: after that the place may be another id's
        var _ = core.status(Function.RDMA_ACK_CM_EVENT, event, 0, 0, 0);
        boolean heard = id != null && id.deliver(copy);
        if (!heard && isRequest) {
            CmId.of(core, this, copy.id()).destroy();
        }
        return 0;
    }

    /** Ends the thread and destroys ids that are left, then the channel. */
    @Override
    public void close() {
        reader.close(); // first, as it may be looking at an id
        ids.values().forEach(CmId::destroy);
        destroyChannel();
    }

    private void destroyChannel() {
        var _ = core.status(Function.RDMA_DESTROY_EVENT_CHANNEL, channel, 0, 0, 0);
    }
}
