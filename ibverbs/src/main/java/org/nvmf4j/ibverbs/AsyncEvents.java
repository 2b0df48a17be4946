package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.verbs.VerbsException;

/**
 * Takes the asynchronous events of one {@code ibv_context}: queue pairs that failed without a completion, completion queues that
 * overflowed. librdmacm opens one context per physical device for the whole process, so all devices that are open on it are told.
 */
final class AsyncEvents {
    private static final System.Logger LOG = System.getLogger(AsyncEvents.class.getName());
    private static final Map<Long, AsyncEvents> BY_CONTEXT = new HashMap<>();
    private static final int EVENT_CQ_ERR = 0;
    private static final int EVENT_QP_FATAL = 1;
    private static final int EVENT_QP_REQ_ERR = 2;
    private static final int EVENT_QP_ACCESS_ERR = 3;
    private static final int EVENT_DEVICE_FATAL = 8;
    private static final int EVENT_PORT_ERR = 10;

    private final RdmaCore core;
    private final long context;
    private final DescriptorWaiter waiter;
    private final List<IbVerbsDevice> devices = new CopyOnWriteArrayList<>();
    private volatile boolean stopping;

    private AsyncEvents(RdmaCore core, long context) throws VerbsException {
        this.core = core;
        this.context = context;
        try {
            int fd = RdmaCore.intAt(context + Abi.IbvContext.ASYNC_FD);
            DescriptorWaiter.setNonBlocking(fd);
            waiter = new DescriptorWaiter(fd);
        } catch (LinuxException e) {
            throw new VerbsException("cannot wait for device events: " + e.getMessage(), e);
        }
        Thread.ofPlatform().daemon().name("nvmf4j-ibverbs-events").start(this::run);
    }

    static synchronized void add(RdmaCore core, IbVerbsDevice device) throws VerbsException {
        AsyncEvents events = BY_CONTEXT.get(device.context());
        if (events == null) {
            events = new AsyncEvents(core, device.context());
            BY_CONTEXT.put(device.context(), events);
        }
        events.devices.add(device);
    }

    static synchronized void remove(IbVerbsDevice device) {
        AsyncEvents events = BY_CONTEXT.get(device.context());
        if (events != null && events.devices.remove(device) && events.devices.isEmpty()) {
            BY_CONTEXT.remove(device.context());
            events.stopping = true;
            events.waiter.wake();
        }
    }

    private void run() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(Abi.IbvAsyncEvent.SIZE, 8);
            while (!stopping) {
                waiter.await(-1);
                while (!stopping && core.status(Function.IBV_GET_ASYNC_EVENT, context, event.address(), 0, 0) == 0) {
                    take(event.address());
                }
            }
        } catch (LinuxException e) {
            LOG.log(System.Logger.Level.ERROR, "no device events any more: " + e.getMessage(), e);
        } finally {
            waiter.close();
        }
    }

    /** Acknowledged only when copied: destroying what it is about waits for that. */
    private void take(long event) {
        int type = RdmaCore.intAt(event + Abi.IbvAsyncEvent.EVENT_TYPE);
        long element = RdmaCore.longAt(event + Abi.IbvAsyncEvent.ELEMENT);
        boolean ofQueuePair = type == EVENT_QP_FATAL || type == EVENT_QP_REQ_ERR || type == EVENT_QP_ACCESS_ERR;
        int number = ofQueuePair ? RdmaCore.intAt(element + Abi.IbvQp.QP_NUM) : 0;
        var _ = core.status(Function.IBV_ACK_ASYNC_EVENT, event, 0, 0, 0);
        for (IbVerbsDevice device : devices) {
            if (ofQueuePair) {
                device.onQueuePairFatal(number);
            } else if (type == EVENT_CQ_ERR) {
                device.onQueueOverflow(element);
            }
        }
        if (type == EVENT_DEVICE_FATAL || type == EVENT_PORT_ERR) {
            String what = type == EVENT_PORT_ERR ? "the port went down" : "the device failed";
            LOG.log(
                    System.Logger.Level.WARNING,
                    devices.isEmpty() ? what : devices.getFirst().name() + ": " + what);
        }
    }
}
