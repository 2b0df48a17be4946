package org.nvmf4j.target;

import static org.nvmf4j.nvme.ControllerProperties.CC_EN;

import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.verbs.Agent;

/**
 * A controller: what lasts from the Connect of an admin queue to its end. Its state belongs to the lane of the admin queue; queues on
 * other lanes read what is volatile here, and are attached and detached without locks.
 */
final class Controller {
    /** A controller without keep-alive that serves discovery alone ends after this time without a command. */
    private static final long IDLE_DISCOVERY_NANOS = 120_000_000_000L;
    /** Granularity of the keep-alive timeout: KAS, in 100 ms. */
    static final int KAS = 10;

    private static final long KAS_MILLIS = KAS * 100L;
    private static final int READY_TIMEOUT_MILLIS = 7_500;

    private final Subsystem subsystem;
    private final int cntlid;
    private final String hostNqn;
    private final UUID hostId;
    private final TargetOptions options;
    private final ControllerQueue admin;
    private final AtomicReferenceArray<@Nullable ControllerQueue> ioQueues;
    private final IoCounters[] counters;
    private final ControllerPeerMemory peerMemory;
    private final AsyncEvents events;
    private final ErrorLog errorLog = new ErrorLog();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final long cap;

    /** The latest command of queues that have ended, or the answer to Connect: with them alone the host was heard for a while. */
    private final AtomicLong latestOfEndedQueuesNanos;

    private int cc;
    private long katoMillis;
    private volatile int csts;
    /** Its Connect has not been answered yet, so that the host has nothing to keep alive. */
    private boolean connecting;

    private volatile boolean writeCacheEnabled = true;

    /**
     * A controller that is not enabled yet.
     *
     * @param maxQueueSize entries of its largest I/O queue
     */
    Controller(
            Subsystem subsystem,
            int cntlid,
            String hostNqn,
            UUID hostId,
            TargetOptions options,
            int maxQueueSize,
            ControllerQueue admin,
            ControllerPeerMemory.Source peerMemories) {
        this.subsystem = subsystem;
        this.cntlid = cntlid;
        this.hostNqn = hostNqn;
        this.hostId = hostId;
        this.options = options;
        this.admin = admin;
        this.latestOfEndedQueuesNanos = new AtomicLong(admin.lastCommandNanos());
        this.ioQueues = new AtomicReferenceArray<>(options.maxIoQueues() + 1);
        this.counters = new IoCounters[options.maxIoQueues() + 1];
        this.peerMemory = new ControllerPeerMemory(peerMemories);
        this.events = new AsyncEvents(admin, supportedNotices());
        this.cap = ControllerProperties.cap(maxQueueSize - 1, READY_TIMEOUT_MILLIS);
    }

    Subsystem subsystem() {
        return subsystem;
    }

    int cntlid() {
        return cntlid;
    }

    String hostNqn() {
        return hostNqn;
    }

    UUID hostId() {
        return hostId;
    }

    TargetOptions options() {
        return options;
    }

    boolean isDiscovery() {
        return subsystem.isDiscovery();
    }

    AsyncEvents events() {
        return events;
    }

    ControllerPeerMemory peerMemory() {
        return peerMemory;
    }

    ErrorLog errorLog() {
        return errorLog;
    }

    int supportedNotices() {
        return isDiscovery() ? AsyncEvent.NOTICE_DISCOVERY_LOG : AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE;
    }

    // Properties.

    long cap() {
        return cap;
    }

    int cc() {
        return cc;
    }

    int csts() {
        return csts;
    }

    int maxQueueSize() {
        return ControllerProperties.mqesZeroBased(cap) + 1;
    }

    /** Whether commands other than Fabrics commands are taken. */
    boolean isReady() {
        return (csts & (ControllerProperties.CSTS_RDY | ControllerProperties.CSTS_CFS))
                == ControllerProperties.CSTS_RDY;
    }

    /** Property Set of CC. */
    void setCc(int value) {
        int before = cc;
        cc = value;
        boolean fatal = ControllerProperties.fatal(csts);
        int shutdown = ControllerProperties.shst(csts);
        boolean enabled = ControllerProperties.enabled(value);
        if (enabled && (before & CC_EN) == 0) {
            fatal = !isUsable(value);
            shutdown = ControllerProperties.SHST_NORMAL;
        } else if (!enabled && (before & CC_EN) != 0) {
            fatal = false;
            shutdown = ControllerProperties.SHST_NORMAL;
        }
        if (ControllerProperties.shn(value) != ControllerProperties.SHN_NONE
                && ControllerProperties.shn(before) == ControllerProperties.SHN_NONE) {
            // Nothing is cached here that a flush would not have to write in any case.
            shutdown = ControllerProperties.SHST_COMPLETE;
        }
        csts = ControllerProperties.csts(enabled && !fatal, fatal, shutdown);
    }

    /** Whether a host asks for entries, pages and a command set that there are. */
    private boolean isUsable(int value) {
        return ControllerProperties.mps(value) == 0
                && ControllerProperties.ams(value) == 0
                && (isDiscovery()
                        || (ControllerProperties.css(value) == ControllerProperties.CSS_NVM
                                && ControllerProperties.iosqes(value) == 6
                                && ControllerProperties.iocqes(value) == 4));
    }

    boolean writeCacheEnabled() {
        return writeCacheEnabled;
    }

    void writeCacheEnabled(boolean enabled) {
        writeCacheEnabled = enabled;
    }

    // Keep alive.

    /** The keep-alive timeout in effect, 0 for none. */
    long katoMillis() {
        return katoMillis;
    }

    /** Sets the timeout, rounded up to what the controller can tell apart. */
    void katoMillis(long millis) {
        katoMillis = (millis + KAS_MILLIS - 1) / KAS_MILLIS * KAS_MILLIS;
    }

    /** When the controller has not heard of its host for too long, in {@link System#nanoTime}, or {@link Agent#NO_DEADLINE}. */
    long keepAliveDeadlineNanos() {
        if (connecting) {
            return Agent.NO_DEADLINE;
        }
        long timeout = katoMillis * 1_000_000;
        if (timeout == 0) {
            if (!isDiscovery()) {
                return Agent.NO_DEADLINE;
            }
            timeout = IDLE_DISCOVERY_NANOS;
        }
        long latest = later(latestOfEndedQueuesNanos.get(), admin.lastCommandNanos());
        for (int qid = 1; qid < ioQueues.length(); qid++) {
            ControllerQueue queue = ioQueues.get(qid);
            if (queue != null) {
                latest = later(latest, queue.lastCommandNanos());
            }
        }
        return latest + timeout;
    }

    private static long later(long a, long b) {
        return b - a > 0 ? b : a;
    }

    /** The answer to Connect takes its time. */
    void connecting() {
        connecting = true;
    }

    /** Connect is answered now. */
    void connected(long nowNanos) {
        connecting = false;
        latestOfEndedQueuesNanos.accumulateAndGet(nowNanos, Controller::later);
    }

    /** The host is gone: tells whoever still asks, and ends every queue. */
    void keepAliveExpired() {
        csts |= ControllerProperties.CSTS_CFS;
        close("keep alive timeout of " + (katoMillis == 0 ? IDLE_DISCOVERY_NANOS / 1_000_000 : katoMillis)
                + " ms expired");
    }

    // I/O queues.

    /**
     * Makes a queue part of the controller.
     *
     * @return {@link NvmeStatus#SUCCESS}, or why not
     */
    int attach(ControllerQueue queue) {
        if (!ioQueues.compareAndSet(queue.qid(), null, queue)) {
            return NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR;
        }
        if (closed.get()) {
            ioQueues.compareAndSet(queue.qid(), queue, null);
            return NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR;
        }
        return NvmeStatus.SUCCESS;
    }

    /** The queue has ended; ends the controller with its admin queue. */
    void detach(ControllerQueue queue) {
        if (queue == admin) {
            close("admin queue ended");
        } else {
            latestOfEndedQueuesNanos.accumulateAndGet(queue.lastCommandNanos(), Controller::later);
            ioQueues.compareAndSet(queue.qid(), queue, null);
        }
    }

    int ioQueueCount() {
        int count = 0;
        for (int qid = 1; qid < ioQueues.length(); qid++) {
            count += ioQueues.get(qid) == null ? 0 : 1;
        }
        return count;
    }

    /** What the queue with that number counts with. */
    synchronized IoCounters counters(int qid) {
        IoCounters own = counters[qid];
        if (own == null) {
            own = new IoCounters();
            counters[qid] = own;
        }
        return own;
    }

    /** Sums over all queues that there were. */
    synchronized long sum(ToLongFunction<IoCounters> value) {
        long sum = 0;
        for (IoCounters own : counters) {
            sum += own == null ? 0 : value.applyAsLong(own);
        }
        return sum;
    }

    /** Ends the controller and every queue of it; from any thread. */
    void close(String reason) {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        subsystem.removeController(this);
        peerMemory.close();
        for (int qid = 1; qid < ioQueues.length(); qid++) {
            ControllerQueue queue = ioQueues.get(qid);
            if (queue != null) {
                queue.closeSoon(reason);
            }
        }
        admin.closeSoon(reason);
    }

    boolean isClosed() {
        return closed.get();
    }

    /** Tells the host, if it wants to know; from any thread. */
    void namespaceChanged(int nsid) {
        admin.execute(() -> events.namespaceChanged(nsid));
    }

    /** Tells the host, if it wants to know; from any thread. */
    void discoveryLogChanged() {
        admin.execute(events::discoveryLogChanged);
    }
}
