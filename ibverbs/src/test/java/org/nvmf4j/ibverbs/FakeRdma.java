package org.nvmf4j.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SystemErrors;

/**
 * libibverbs and librdmacm with one device that has every address, does no work, and connects to whoever is asked for. Tests say what fails
 * and what happens. Thread-safe, as the libraries are.
 */
final class FakeRdma implements RdmaCore.Calls, AutoCloseable {
    static final String NAME = "fake0";
    static final int PORT_ACTIVE = 4;

    private static final int SOCKADDR_BYTES = 28;
    private static final Linker LINKER = Linker.nativeLinker();
    private static final FunctionDescriptor FAST = FunctionDescriptor.of(
            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);
    private static final MethodHandle EVENTFD = function("eventfd");
    private static final MethodHandle READ = function("read");
    private static final MethodHandle WRITE = function("write");
    private static final MethodHandle CLOSE = function("close");

    /** What fails, with which error number. */
    final Map<Function, Integer> failures = new EnumMap<>(Function.class);
    /** What the libraries do not have. */
    final Set<Function> missing = EnumSet.noneOf(Function.class);
    /** Every call, with its arguments. */
    final List<Call> calls = new ArrayList<>();
    /** What was posted to send queues: the bytes of inline data, else nothing, for each work request. */
    final List<byte[]> posted = new ArrayList<>();

    int portState = PORT_ACTIVE;
    long lockableBytes = Long.MAX_VALUE;
    /** Whether anybody answers who is asked for. */
    boolean answers = true;
    /** What {@code ibv_post_send} and {@code ibv_req_notify_cq} give, and posts where there is no room. */
    int fastResult;
    /** How many work requests posts take. */
    int room = Integer.MAX_VALUE;
    /** The ids of what was posted to send queues, and to receive queues. */
    final List<Long> sendIds = new ArrayList<>();

    final List<Long> receiveIds = new ArrayList<>();
    /** The number that the next queue pair or region gets. */
    int nextNumber = 100;
    /** Runs when an event of rdma_cm is acknowledged, which is before it is told to anybody. */
    Runnable onAcknowledge = () -> {};
    /** Runs while a queue pair is destroyed. */
    Runnable onDestroyQueuePair = () -> {};

    private final Arena arena = Arena.ofShared();
    private final List<Integer> fds = new ArrayList<>();
    private final Map<Long, Queue<Long>> managerEvents = new HashMap<>();
    private final Queue<long[]> deviceEvents = new ArrayDeque<>();
    private final long context;

    private final Queue<Completion> completions = new ArrayDeque<>();

    private final Map<Function, List<Long>> created = new EnumMap<>(Function.class);

    private record Completion(long id, int status, int number) {}

    record Call(Function function, long a, long b, long c, long d, long e, long f) {}

    FakeRdma() {
        MemorySegment device = allocate(Abi.IbvDevice.SIZE);
        device.setString(Abi.IbvDevice.NAME, NAME);
        MemorySegment made = allocate(Abi.IbvContext.SIZE);
        made.set(ValueLayout.JAVA_LONG, Abi.IbvContext.DEVICE, device.address());
        made.set(ValueLayout.JAVA_LONG, Abi.IbvContext.OPS__POLL_CQ, stub((queue, most, to) -> poll(most, to)));
        made.set(
                ValueLayout.JAVA_LONG, Abi.IbvContext.OPS__REQ_NOTIFY_CQ, stub((queue, solicited, none) -> fastResult));
        made.set(
                ValueLayout.JAVA_LONG, Abi.IbvContext.OPS__POST_SEND, stub((pair, first, bad) -> postSend(first, bad)));
        made.set(
                ValueLayout.JAVA_LONG,
                Abi.IbvContext.OPS__POST_RECV,
                stub((pair, first, bad) -> postReceive(first, bad)));
        made.set(
                ValueLayout.JAVA_LONG,
                Abi.IbvContext.OPS__POST_SRQ_RECV,
                stub((queue, first, bad) -> postReceive(first, bad)));
        made.set(ValueLayout.JAVA_INT, Abi.IbvContext.CMD_FD, newEventFd());
        made.set(ValueLayout.JAVA_INT, Abi.IbvContext.ASYNC_FD, newEventFd());
        made.set(ValueLayout.JAVA_INT, Abi.IbvContext.NUM_COMP_VECTORS, 1);
        made.set(ValueLayout.JAVA_LONG, Abi.IbvContext.ABI_COMPAT, -1);
        context = made.address();
    }

    private static MethodHandle function(String name) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), FAST);
    }

    /** A function that is called by its pointer. */
    @FunctionalInterface
    private interface Fast {
        @SuppressWarnings("UnusedMethod") // called by native code
        int call(long a, long b, long c);
    }

    private long stub(Fast function) {
        try {
            MethodType type = MethodType.methodType(int.class, long.class, long.class, long.class);
            MethodHandle handle = MethodHandles.lookup().bind(function, "call", type);
            return LINKER.upcallStub(handle, FAST, arena).address();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private MemorySegment allocate(int bytes) {
        return arena.allocate(bytes, 8);
    }

    private static int system(MethodHandle function, long a, long b, long c) {
        try {
            return (int) function.invokeExact(a, b, c);
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    private int newEventFd() {
        int fd = system(EVENTFD, 0, 0x800, 0); // EFD_NONBLOCK
        fds.add(fd);
        return fd;
    }

    private void signal(long fd, boolean on) {
        MemorySegment one = allocate(8);
        one.set(ValueLayout.JAVA_LONG, 0, 1);
        int _ = system(on ? WRITE : READ, fd, one.address(), 8);
    }

    /** Has rdma_cm tell something of an id. */
    void happens(CmEvent.Type type, long id, int status) {
        happens(type, id, 0, status);
    }

    private synchronized void happens(CmEvent.Type type, long id, long listening, int status) {
        MemorySegment event = allocate(Abi.RdmaCmEvent.SIZE);
        event.set(ValueLayout.JAVA_LONG, Abi.RdmaCmEvent.ID, id);
        event.set(ValueLayout.JAVA_LONG, Abi.RdmaCmEvent.LISTEN_ID, listening);
        event.set(
                ValueLayout.JAVA_INT,
                Abi.RdmaCmEvent.EVENT,
                List.of(CmEvent.Type.values()).indexOf(type));
        event.set(ValueLayout.JAVA_INT, Abi.RdmaCmEvent.STATUS, status);
        event.set(ValueLayout.JAVA_BYTE, Abi.RdmaCmEvent.PARAM__CONN__RESPONDER_RESOURCES, (byte) 1);
        event.set(ValueLayout.JAVA_BYTE, Abi.RdmaCmEvent.PARAM__CONN__INITIATOR_DEPTH, (byte) 1);
        long channel = RdmaCore.longAt(id + Abi.RdmaCmId.CHANNEL);
        managerEvents.computeIfAbsent(channel, key -> new ArrayDeque<>()).add(event.address());
        signal(RdmaCore.intAt(channel + Abi.RdmaEventChannel.FD), true);
    }

    /** Has the device tell something, of a port or of an object by its pointer. */
    synchronized void deviceHappens(int type, long element) {
        deviceEvents.add(new long[] {type, element});
        signal(RdmaCore.intAt(context + Abi.IbvContext.ASYNC_FD), true);
    }

    /** Has a work request complete, on the queue that is polled next. */
    synchronized void completes(long id, int status, int queuePairNumber) {
        completions.add(new Completion(id, status, queuePairNumber));
    }

    /** Has rdma_cm bring a connection request to a listening id; gives the new id. */
    synchronized long isAskedFor(long listening) {
        long channel = RdmaCore.longAt(listening + Abi.RdmaCmId.CHANNEL);
        MemorySegment id = allocate(Abi.RdmaCmId.SIZE);
        id.set(ValueLayout.JAVA_LONG, Abi.RdmaCmId.CHANNEL, channel);
        happens(CmEvent.Type.CONNECT_REQUEST, id.address(), listening, 0);
        return id.address();
    }

    /** The calls of a function so far. */
    synchronized List<Call> callsOf(Function function) {
        return calls.stream().filter(call -> call.function == function).toList();
    }

    /** What a function made so far, by its pointer. */
    synchronized List<Long> created(Function function) {
        return List.copyOf(created.getOrDefault(function, List.of()));
    }

    @Override
    public long lockableBytes() {
        return lockableBytes;
    }

    @Override
    public boolean has(Function function) {
        return !missing.contains(function);
    }

    @Override
    public synchronized long call(Function function, int[] errno, long a, long b, long c, long d, long e, long f) {
        calls.add(new Call(function, a, b, c, d, e, f));
        long result = result(function, errno, a, b, c, d);
        if (givesPointer(function)) {
            created.computeIfAbsent(function, key -> new ArrayList<>()).add(result);
        }
        return result;
    }

    private long result(Function function, int[] errno, long a, long b, long c, long d) {
        Integer failure = failures.get(function);
        if (failure != null) {
            errno[0] = failure;
            return givesPointer(function) ? 0 : -1;
        }
        switch (function) {
            case RDMA_CREATE_EVENT_CHANNEL, IBV_CREATE_COMP_CHANNEL -> {
                MemorySegment channel = allocate(16); // the file descriptor is behind a pointer in the second
                int at = function == Function.RDMA_CREATE_EVENT_CHANNEL
                        ? Abi.RdmaEventChannel.FD
                        : Abi.IbvCompChannel.FD;
                channel.set(ValueLayout.JAVA_INT, at, newEventFd());
                return channel.address();
            }
            case RDMA_CREATE_ID -> {
                MemorySegment id = allocate(Abi.RdmaCmId.SIZE);
                id.set(ValueLayout.JAVA_LONG, Abi.RdmaCmId.CHANNEL, a);
                id.set(ValueLayout.JAVA_INT, Abi.RdmaCmId.PS, (int) d);
                RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, b, id.address());
            }
            case RDMA_BIND_ADDR -> bind(a, b, Abi.RdmaCmId.ROUTE__ADDR__SRC_ADDR);
            case RDMA_RESOLVE_ADDR -> {
                bind(a, b, Abi.RdmaCmId.ROUTE__ADDR__SRC_ADDR);
                bind(a, c, Abi.RdmaCmId.ROUTE__ADDR__DST_ADDR);
                if (answers) {
                    happens(CmEvent.Type.ADDR_RESOLVED, a, 0);
                }
            }
            case RDMA_RESOLVE_ROUTE -> happens(CmEvent.Type.ROUTE_RESOLVED, a, 0);
            case RDMA_CONNECT -> happens(CmEvent.Type.CONNECT_RESPONSE, a, 0);
            case RDMA_INIT_QP_ATTR -> RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, c, 1);
            case RDMA_GET_CM_EVENT -> {
                return next(managerEvents.get(a), b, a + Abi.RdmaEventChannel.FD, errno);
            }
            case IBV_DESTROY_QP -> onDestroyQueuePair.run();
            case RDMA_ACK_CM_EVENT -> onAcknowledge.run();
            case IBV_GET_ASYNC_EVENT -> {
                long[] event = deviceEvents.poll();
                if (event == null) {
                    return next(null, 0, context + Abi.IbvContext.ASYNC_FD, errno);
                }
                RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, b + Abi.IbvAsyncEvent.EVENT_TYPE, (int) event[0]);
                RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, b + Abi.IbvAsyncEvent.ELEMENT, event[1]);
            }
            case IBV_GET_CQ_EVENT -> {
                errno[0] = SystemErrors.EAGAIN;
                return -1;
            }
            case IBV_GET_DEVICE_NAME -> {
                return a + Abi.IbvDevice.NAME;
            }
            case IBV_QUERY_DEVICE -> {
                for (int at : new int[] {
                    Abi.IbvDeviceAttr.MAX_QP_WR,
                    Abi.IbvDeviceAttr.MAX_SGE,
                    Abi.IbvDeviceAttr.MAX_QP_RD_ATOM,
                    Abi.IbvDeviceAttr.MAX_QP_INIT_RD_ATOM
                }) {
                    RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, b + at, 64);
                }
            }
            case IBV_QUERY_PORT -> {
                RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, c + Abi.IbvPortAttr.STATE, portState);
                RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, c + Abi.IbvPortAttr.ACTIVE_MTU, 5);
            }
            case IBV_ALLOC_PD -> {
                return object(16, Abi.IbvPd.CONTEXT, context).address();
            }
            case IBV_REG_MR -> {
                return region(a, b, c);
            }
            case IBV_REG_DMABUF_MR -> {
                return region(a, b, c); // the offset is where the address would be
            }
            case IBV_CREATE_CQ -> {
                MemorySegment queue = object(Abi.IbvCq.SIZE, Abi.IbvCq.CONTEXT, context);
                queue.set(ValueLayout.JAVA_LONG, Abi.IbvCq.CHANNEL, d);
                queue.set(ValueLayout.JAVA_INT, Abi.IbvCq.CQE, (int) b);
                return queue.address();
            }
            case IBV_CREATE_SRQ -> {
                MemorySegment queue = object(32, Abi.IbvSrq.CONTEXT, context);
                queue.set(ValueLayout.JAVA_LONG, Abi.IbvSrq.PD, a);
                return queue.address();
            }
            case IBV_CREATE_QP -> {
                MemorySegment pair = object(Abi.IbvQp.SIZE, Abi.IbvQp.CONTEXT, context);
                pair.set(ValueLayout.JAVA_LONG, Abi.IbvQp.PD, a);
                pair.set(ValueLayout.JAVA_LONG, Abi.IbvQp.SEND_CQ, RdmaCore.longAt(b + Abi.IbvQpInitAttr.SEND_CQ));
                pair.set(ValueLayout.JAVA_LONG, Abi.IbvQp.RECV_CQ, RdmaCore.longAt(b + Abi.IbvQpInitAttr.RECV_CQ));
                pair.set(ValueLayout.JAVA_INT, Abi.IbvQp.QP_NUM, nextNumber++);
                return pair.address();
            }
            default -> {
                return 0; // done
            }
        }
        return 0;
    }

    private static boolean givesPointer(Function function) {
        return switch (function) {
            case IBV_GET_DEVICE_NAME,
                    IBV_ALLOC_PD,
                    IBV_REG_MR,
                    IBV_REG_DMABUF_MR,
                    IBV_CREATE_COMP_CHANNEL,
                    IBV_CREATE_CQ,
                    IBV_CREATE_SRQ,
                    IBV_CREATE_QP,
                    RDMA_CREATE_EVENT_CHANNEL -> true;
            default -> false;
        };
    }

    private void bind(long id, long address, int at) {
        MemorySegment.copy(RdmaCore.MEMORY, address, RdmaCore.MEMORY, id + at, SOCKADDR_BYTES);
        RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, id + Abi.RdmaCmId.VERBS, context);
        RdmaCore.MEMORY.set(ValueLayout.JAVA_BYTE, id + Abi.RdmaCmId.PORT_NUM, (byte) 1);
    }

    private long next(@Nullable Queue<Long> events, long room, long fd, int[] errno) {
        Long event = events == null ? null : events.poll();
        if (event == null) {
            signal(RdmaCore.intAt(fd), false);
            errno[0] = SystemErrors.EAGAIN;
            return -1;
        }
        RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, room, event);
        return 0;
    }

    private MemorySegment object(int bytes, int at, long owner) {
        MemorySegment made = allocate(bytes);
        made.set(ValueLayout.JAVA_LONG, at, owner);
        return made;
    }

    private long region(long domain, long address, long bytes) {
        MemorySegment made = object(Abi.IbvMr.SIZE, Abi.IbvMr.CONTEXT, context);
        made.set(ValueLayout.JAVA_LONG, Abi.IbvMr.PD, domain);
        made.set(ValueLayout.JAVA_LONG, Abi.IbvMr.ADDR, address);
        made.set(ValueLayout.JAVA_LONG, Abi.IbvMr.LENGTH, bytes);
        made.set(ValueLayout.JAVA_INT, Abi.IbvMr.LKEY, nextNumber++);
        made.set(ValueLayout.JAVA_INT, Abi.IbvMr.RKEY, nextNumber++);
        return made.address();
    }

    private synchronized int poll(long most, long to) {
        int count = 0;
        while (count < most && !completions.isEmpty()) {
            Completion next = completions.remove();
            long at = to + (long) count * Abi.IbvWc.SIZE;
            RdmaCore.MEMORY.asSlice(at, Abi.IbvWc.SIZE).fill((byte) 0);
            RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, at + Abi.IbvWc.WR_ID, next.id());
            RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, at + Abi.IbvWc.STATUS, next.status());
            RdmaCore.MEMORY.set(ValueLayout.JAVA_INT, at + Abi.IbvWc.QP_NUM, next.number());
            count++;
        }
        return count;
    }

    private synchronized int postReceive(long first, long bad) {
        for (long request = first; request != 0; request = RdmaCore.longAt(request + Abi.IbvRecvWr.NEXT)) {
            if (room-- == 0) {
                RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, bad, request);
                return fastResult;
            }
            receiveIds.add(RdmaCore.longAt(request + Abi.IbvRecvWr.WR_ID));
        }
        return 0;
    }

    private synchronized int postSend(long first, long bad) {
        for (long request = first; request != 0; request = RdmaCore.longAt(request + Abi.IbvSendWr.NEXT)) {
            if (room-- == 0) {
                RdmaCore.MEMORY.set(ValueLayout.JAVA_LONG, bad, request);
                return fastResult;
            }
            sendIds.add(RdmaCore.longAt(request + Abi.IbvSendWr.WR_ID));
            boolean inline = (RdmaCore.intAt(request + Abi.IbvSendWr.SEND_FLAGS) & 8) != 0;
            long list = RdmaCore.longAt(request + Abi.IbvSendWr.SG_LIST);
            posted.add(
                    inline
                            ? RdmaCore.bytesAt(
                                    RdmaCore.longAt(list + Abi.IbvSge.ADDR), RdmaCore.intAt(list + Abi.IbvSge.LENGTH))
                            : new byte[0]);
        }
        return fastResult;
    }

    @Override
    public void close() {
        fds.forEach(fd -> system(CLOSE, fd, 0, 0));
        arena.close();
    }
}
