package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.VerbsException;

/**
 * Takes the asynchronous events of one {@code ibv_context}: queue pairs that failed without a completion, completion queues that
 * overflowed, shared receive queues that failed, ports that went down or came up, the end of the device. librdmacm opens one context per physical device for the whole
 * process, so all devices that are open on it are told.
 */
final class AsyncEvents {
    private static final System.Logger LOG = System.getLogger(AsyncEvents.class.getName());
    private static final Map<Long, AsyncEvents> BY_CONTEXT = new HashMap<>();
    /** {@code enum ibv_event_type}. */
    static final int CQ_ERR = 0;

    static final int QP_FATAL = 1;
    static final int QP_REQ_ERR = 2;
    static final int QP_ACCESS_ERR = 3;
    static final int DEVICE_FATAL = 8;
    static final int PORT_ACTIVE = 9;
    static final int PORT_ERR = 10;
    static final int SRQ_ERR = 14;
    static final int GID_CHANGE = 18;

    private final RdmaCore core;
    private final long context;
    private final String deviceName;
    private final List<IbVerbsDevice> devices = new CopyOnWriteArrayList<>();
    private final MemorySegment event = Arena.ofAuto().allocate(Abi.IbvAsyncEvent.SIZE, 8);
    /** Belongs to the thread. */
    private final Set<Integer> portsDown = new HashSet<>();

    private final EventReader reader;

    private AsyncEvents(RdmaCore core, IbVerbsDevice first) throws VerbsException {
        this.core = core;
        context = first.context();
        deviceName = first.name();
        devices.add(first);
        reader = new EventReader("device events", RdmaCore.intAt(context + Abi.IbvContext.ASYNC_FD), this::takeOne);
    }

    static synchronized void add(RdmaCore core, IbVerbsDevice device) throws VerbsException {
        AsyncEvents events = BY_CONTEXT.get(device.context());
        if (events == null) {
            BY_CONTEXT.put(device.context(), new AsyncEvents(core, device));
        } else {
            events.devices.add(device);
        }
    }

    /** No event comes any more when this returns, and no call uses the context if the device was the last one on it. */
    static synchronized void remove(IbVerbsDevice device) {
        AsyncEvents events = BY_CONTEXT.get(device.context());
        if (events != null && events.devices.remove(device) && events.devices.isEmpty()) {
            BY_CONTEXT.remove(device.context());
            events.reader.close();
        }
    }

    /** Acknowledged only when copied: destroying what it is about waits for that. */
    private int takeOne() {
        long at = event.address();
        int errno = core.status(Function.IBV_GET_ASYNC_EVENT, context, at, 0, 0);
        if (errno != 0) {
            if (errno == SystemErrors.EIO) {
                devices.forEach(IbVerbsDevice::onRemoved);
            }
            return errno;
        }
        int type = RdmaCore.intAt(at + Abi.IbvAsyncEvent.EVENT_TYPE);
        long element = RdmaCore.longAt(at + Abi.IbvAsyncEvent.ELEMENT);
        boolean ofQueuePair = type == QP_FATAL || type == QP_REQ_ERR || type == QP_ACCESS_ERR;
        int number = ofQueuePair ? RdmaCore.intAt(element + Abi.IbvQp.QP_NUM) : 0;
        var _ = core.status(Function.IBV_ACK_ASYNC_EVENT, at, 0, 0, 0);
        switch (type) {
            case QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR -> devices.forEach(device -> device.onQueuePairFatal(number));
            case CQ_ERR -> devices.forEach(device -> device.onQueueOverflow(element));
            case SRQ_ERR -> devices.forEach(device -> device.onSharedReceivesFatal(element));
            case DEVICE_FATAL -> devices.forEach(IbVerbsDevice::onRemoved);
            case PORT_ACTIVE -> onPort((int) element, true);
            case PORT_ERR -> onPort((int) element, false);
            case GID_CHANGE ->
                LOG.log(System.Logger.Level.DEBUG, "the addresses of RDMA device " + deviceName + " have changed");
            default -> {
                // Nothing that changes what is done here.
            }
        }
        return 0;
    }

    private void onPort(int port, boolean up) {
        String which = "port " + port + " of RDMA device " + deviceName;
        if (up && portsDown.remove(port)) {
            LOG.log(System.Logger.Level.INFO, which + " is up again");
        } else if (!up && portsDown.add(port)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    which
                            + " is down: connections on it end unless it comes up soon; look at its link (rdma link, ip link)");
        }
    }
}
