package org.nvmf4j.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.roce.rc.CompletionSink;
import org.nvmf4j.roce.rc.RcParameters;
import org.nvmf4j.roce.rc.RcQueuePair;
import org.nvmf4j.roce.rc.RcSizes;
import org.nvmf4j.roce.rc.RcTuning;
import org.nvmf4j.roce.wire.PacketSink;
import org.nvmf4j.roce.wire.RocePacket;
import org.nvmf4j.verbs.spi.MemoryTable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one command capsule costs the software device, from the post to its acknowledgement, but for the sockets: two queue pairs
 * of the RC protocol, whose packets the benchmark carries from one to the other.
 *
 * <p>In this package, since only the core may mark a work request inline.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class PostBenchmark {
    private static final int BATCH = 16;
    private static final int CAPSULE_BYTES = 64;
    private static final int RECEIVE_BYTES = 4096 + CAPSULE_BYTES;
    private static final int PATH_MTU = 4096;

    /** How the capsule is posted. */
    public enum Post {
        INLINE,
        REFERENCE,
        ASKED_NOT_USED
    }

    /** What the three arms of {@code nvmf bench compare} do. */
    @Param
    public Post post = Post.INLINE;

    private final Arena arena = Arena.global();
    private final SendWorkRequest capsule = new SendWorkRequest(2);
    private final ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
    private final Packets packets = new Packets(arena.allocate((long) BATCH * Packets.STRIDE, 64));
    private RcQueuePair host;
    private RcQueuePair target;
    private long nowNanos;

    /** Connects both ends; the host registers its capsules and the target its receives. */
    @Setup
    public void connect() throws VerbsException {
        MemoryTable memory = new MemoryTable(new SplittableRandom(1));
        ProtectionDomain domain = domain(memory);
        MemoryRegion capsules = domain.register(arena.allocate(1 << 16, 64), EnumSet.noneOf(AccessFlag.class));
        MemoryRegion receives = domain.register(arena.allocate(1 << 16, 64), EnumSet.of(AccessFlag.LOCAL_WRITE));
        host = queuePair(1, memory, domain, post == Post.REFERENCE ? 0 : CAPSULE_BYTES);
        target = queuePair(2, memory, domain, 0);
        host.connect(parameters(2));
        target.connect(parameters(1));
        capsule.setSge(capsules, 4 * CAPSULE_BYTES, CAPSULE_BYTES);
        capsule.inline(post == Post.INLINE);
        receive.setSge(receives, 0, RECEIVE_BYTES);
    }

    private static ProtectionDomain domain(MemoryTable memory) {
        return new ProtectionDomain() {
            @Override
            public MemoryRegion register(MemorySegment segment, Set<AccessFlag> access) throws VerbsException {
                return memory.register(this, segment, access);
            }

            @Override
            public void close() {}
        };
    }

    private RcQueuePair queuePair(int number, MemoryTable memory, ProtectionDomain domain, int inlineBytes) {
        RcSizes sizes = new RcSizes(2 * BATCH, 2 * BATCH, 2, inlineBytes);
        CompletionSink completions = (_, status, opcode, _, _) -> {
            if (status != WorkCompletionStatus.SUCCESS) {
                throw new IllegalStateException(opcode + " failed: " + status);
            }
        };
        MemorySegment storage =
                inlineBytes == 0 ? MemorySegment.NULL : arena.allocate(sizes.inlineStorageBytes(), Long.BYTES);
        return new RcQueuePair(number, sizes, RcTuning.DEFAULT, domain, memory, completions, storage);
    }

    private static RcParameters parameters(int peer) {
        return new RcParameters(peer, 1, 1, PATH_MTU, 4, 4, 7, 7, RcParameters.ackTimeoutNanos(14), 1);
    }

    /** Posts, sends and has acknowledged one capsule. */
    @Benchmark
    @OperationsPerInvocation(BATCH)
    public long capsule() {
        nowNanos += 100_000;
        for (int i = 0; i < BATCH; i++) {
            target.postReceive(receive);
            host.postSend(capsule);
        }
        carry(host, target);
        target.onTimeout(nowNanos);
        carry(target, host);
        return host.statistics().acksReceived();
    }

    private void carry(RcQueuePair from, RcQueuePair to) {
        packets.clear();
        from.pollTransmit(packets, nowNanos);
        for (int i = 0; i < packets.count; i++) {
            to.onPacket(packets.memory, (long) i * Packets.STRIDE, packets.lengths[i], nowNanos);
        }
    }

    /** Gathers packets as a socket would. */
    private static final class Packets implements PacketSink {
        static final int STRIDE = 256;

        final MemorySegment memory;
        final int[] lengths = new int[BATCH];
        int count;
        private int at;

        Packets(MemorySegment memory) {
            this.memory = memory;
        }

        void clear() {
            count = 0;
        }

        @Override
        public boolean begin(int headerLengthBytes, int payloadLengthBytes) {
            at = headerLengthBytes;
            return count < BATCH;
        }

        @Override
        public MemorySegment headerSegment() {
            return memory;
        }

        @Override
        public long headerOffset() {
            return (long) count * STRIDE;
        }

        @Override
        public void payload(MemorySegment source, long offset, int lengthBytes) {
            MemorySegment.copy(source, offset, memory, headerOffset() + at, lengthBytes);
            at += lengthBytes;
        }

        @Override
        public boolean onDemandPayload(MemorySegment source, long offset, int lengthBytes) {
            payload(source, offset, lengthBytes);
            return true;
        }

        @Override
        public void end() {
            lengths[count++] = at + RocePacket.padCount(at);
        }
    }
}
