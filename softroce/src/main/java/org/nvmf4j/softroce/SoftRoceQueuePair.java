package org.nvmf4j.softroce;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.cm.PathParameters;
import org.nvmf4j.roce.rc.CompletionSink;
import org.nvmf4j.roce.rc.RcParameters;
import org.nvmf4j.roce.rc.RcQueuePair;
import org.nvmf4j.roce.rc.RcSizes;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.CompletionRing;
import org.nvmf4j.verbs.spi.ProviderQueuePair;
import org.nvmf4j.verbs.spi.QueuePairChecks;

/** A queue pair: the protocol's state machine, the way to its peer, and its place in the duty cycle of its vector. */
final class SoftRoceQueuePair extends DeadlineQueue.Entry implements ProviderQueuePair, CompletionSink {
    /** IBTA code of the shortest wait (10 µs) that a peer without a posted receive is asked for. */
    private static final int MIN_RNR_TIMER_CODE = 1;

    private final SoftRoceVector vector;
    private final CompletionRing sendRing;
    private final CompletionRing receiveRing;
    private final @Nullable Object context;
    private final @Nullable SoftRoceSharedReceives shared;
    private final int inlineBytes;
    private final RcQueuePair rc;
    private final int number;
    private @Nullable PeerPath path;
    /** The connection that is to hear of the first packet received, as that proves the peer to be ready. */
    private @Nullable SoftRoceConnection awaitingFirstPacket;

    private boolean connecting;
    private boolean listed;

    SoftRoceQueuePair(
            SoftRoceVector vector,
            int number,
            ProtectionDomain domain,
            CompletionRing sendRing,
            CompletionRing receiveRing,
            QueuePairOptions options,
            @Nullable SoftRoceSharedReceives shared,
            int inlineBytes) {
        this.vector = vector;
        this.number = number;
        this.sendRing = sendRing;
        this.receiveRing = receiveRing;
        this.context = options.context();
        this.shared = shared;
        this.inlineBytes = inlineBytes;
        RcSizes sizes =
                new RcSizes(options.maxSendRequests(), options.maxReceiveRequests(), options.maxSge(), inlineBytes);
        long storageBytes = sizes.inlineStorageBytes();
        MemorySegment storage =
                storageBytes == 0 ? MemorySegment.NULL : Arena.ofAuto().allocate(storageBytes, 64);
        SoftRoceDevice device = vector.device();
        rc = new RcQueuePair(
                number,
                sizes,
                device.tuning(),
                domain,
                device.memory(),
                this,
                storage,
                shared == null ? null : shared.ring());
        sendRing.attach(this);
        receiveRing.attach(this);
        if (shared != null) {
            shared.attach();
        }
        vector.add(this);
    }

    SoftRoceVector vector() {
        return vector;
    }

    RcQueuePair rc() {
        return rc;
    }

    /** The way to the peer; null before there is one. */
    @Nullable
    PeerPath path() {
        return path;
    }

    /** Whether it waits for its turn to send. */
    boolean isListed() {
        return listed;
    }

    void listed(boolean listed) {
        this.listed = listed;
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public QueuePairState state() {
        return rc.state();
    }

    @Override
    public int inlineBytes() {
        return inlineBytes;
    }

    /** Refuses a queue pair that cannot be connected, or not once more. */
    void checkConnectable() {
        QueuePairChecks.connectable(rc.state(), connecting);
    }

    void beginConnecting() {
        checkConnectable();
        connecting = true;
    }

    /** A queue pair that was refused is still in INIT and may try again. */
    void endConnecting() {
        connecting = false;
        awaitingFirstPacket = null;
    }

    /** Moves from INIT to READY_TO_SEND. */
    void establish(PathParameters agreed) {
        path = new PeerPath(vector.device().attributes().localAddress(), agreed.remoteAddress());
        rc.connect(new RcParameters(
                agreed.remoteQpn(),
                agreed.sendPsn(),
                agreed.receivePsn(),
                agreed.pathMtuBytes(),
                agreed.initiatorDepth(),
                agreed.responderResources(),
                agreed.retryCount(),
                agreed.rnrRetryCount(),
                agreed.ackTimeoutNanos(),
                MIN_RNR_TIMER_CODE));
    }

    void awaitFirstPacket(@Nullable SoftRoceConnection connection) {
        awaitingFirstPacket = connection;
    }

    void onPacketReceived() {
        SoftRoceConnection waiting = awaitingFirstPacket;
        if (waiting != null) {
            awaitingFirstPacket = null;
            waiting.onFirstPacket();
        }
    }

    @Override
    public @Nullable SendWorkRequest postSend(SendWorkRequest first) {
        rc.postSend(first);
        vector.settle(this);
        return null;
    }

    @Override
    public void postReceive(ReceiveWorkRequest first) {
        rc.postReceive(first);
    }

    @Override
    public void complete(
            long id, WorkCompletionStatus status, WorkOpcode opcode, int lengthBytes, int invalidatedRkey) {
        CompletionRing ring = opcode == WorkOpcode.RECEIVE ? receiveRing : sendRing;
        ring.add(id, status, opcode, lengthBytes, number, invalidatedRkey, 0, context);
    }

    @Override
    public void toError() {
        rc.toError();
        vector.settle(this);
    }

    @Override
    public void close() {
        if (rc.state() == QueuePairState.DESTROYED) {
            return;
        }
        rc.destroy();
        sendRing.detach(this);
        receiveRing.detach(this);
        if (shared != null) {
            shared.detach();
        }
        vector.remove(this);
    }

    @Override
    public String toString() {
        PeerPath known = path;
        return "queue pair " + number + " to " + (known == null ? "nobody" : known.peer());
    }
}
