package org.nvmf4j.roce.rc;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.spi.MemoryTable;

/** One queue pair with a memory table of its own, for tests. Time is what a test sets. */
final class RcEnd {
    static final Set<AccessFlag> ALL_RIGHTS = EnumSet.complementOf(EnumSet.of(AccessFlag.ON_DEMAND));

    private static final RcSizes SIZES = new RcSizes(64, 64, 4, 64);

    /** A completion that came. */
    record Completion(long id, WorkCompletionStatus status, WorkOpcode opcode, int length, int invalidatedRkey) {}

    final Arena arena;
    final MemoryTable table;
    final ProtectionDomain domain = newDomain();
    final RcQueuePair queuePair;
    final BatchSink sink;
    final List<Completion> completions = new ArrayList<>();
    long now;

    RcEnd(int number, RcSizes sizes, RcTuning tuning, RandomGenerator random, Arena arena, int sinkPackets) {
        this(number, sizes, tuning, random, arena, sinkPackets, null);
    }

    /** One that takes its receives from a ring that others may share. */
    RcEnd(int number, ReceiveRing shared) {
        this(number, SIZES, RcTuning.DEFAULT, new SplittableRandom(number), Arena.ofAuto(), 1024, shared);
    }

    private RcEnd(
            int number,
            RcSizes sizes,
            RcTuning tuning,
            RandomGenerator random,
            Arena arena,
            int sinkPackets,
            @Nullable ReceiveRing shared) {
        this.arena = arena;
        sink = new BatchSink(arena, sinkPackets);
        table = new MemoryTable(random);
        queuePair = new RcQueuePair(
                number,
                sizes,
                tuning,
                domain,
                table,
                (id, status, opcode, length, rkey) -> completions.add(new Completion(id, status, opcode, length, rkey)),
                arena.allocate(Math.max(8, sizes.inlineStorageBytes())),
                shared);
    }

    RcEnd(int number, RcTuning tuning) {
        this(number, SIZES, tuning, new SplittableRandom(number), Arena.ofAuto(), 1024);
    }

    ProtectionDomain newDomain() {
        return new ProtectionDomain() {
            @Override
            public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
                return table.register(this, memory, access);
            }

            @Override
            public void close() {}
        };
    }

    MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) {
        try {
            return domain.register(memory, access);
        } catch (VerbsException e) {
            throw new AssertionError(e);
        }
    }

    MemoryRegion region(long bytes) {
        return register(arena.allocate(bytes, 8), ALL_RIGHTS);
    }

    /** A region whose bytes count up. */
    MemoryRegion pattern(int bytes) {
        MemoryRegion region = region(bytes);
        MemorySegment.copy(MemorySegment.ofArray(bytes(bytes)), 0, region.segment(), 0, bytes);
        return region;
    }

    /** Bytes that count up, with a period that fits no path MTU. */
    static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i % 251);
        }
        return bytes;
    }

    static byte[] read(MemoryRegion region, long offset, int length) {
        byte[] bytes = new byte[length];
        MemorySegment.copy(region.segment(), offset, MemorySegment.ofArray(bytes), 0, length);
        return bytes;
    }

    SendWorkRequest send(long id, WorkOpcode opcode, MemoryRegion region, long offset, int length) {
        SendWorkRequest request = new SendWorkRequest(4);
        request.id(id);
        request.opcode(opcode);
        request.setSge(region, offset, length);
        return request;
    }

    void postReceive(long id, MemoryRegion region, long offset, int length) {
        queuePair.postReceive(receive(id, region, offset, length));
    }

    static ReceiveWorkRequest receive(long id, MemoryRegion region, long offset, int length) {
        ReceiveWorkRequest request = new ReceiveWorkRequest(4);
        request.id(id);
        request.setSge(region, offset, length);
        return request;
    }

    /** Gives the queue pair a packet; nothing may be left in the sink from before. */
    void receive(Packet packet) {
        queuePair.onPacket(packet.memory(), 0, packet.bytes().length, now);
    }

    /** What the queue pair sends now. */
    List<Packet> transmit() {
        List<Packet> packets = new ArrayList<>();
        boolean more = true;
        while (more) {
            more = queuePair.pollTransmit(sink, now);
            for (int i = 0; i < sink.count(); i++) {
                packets.add(new Packet(sink.packet(i)));
            }
            sink.clear();
        }
        return packets;
    }

    /** Lets time pass, and the timers with it. */
    void pass(long nanos) {
        now += nanos;
        queuePair.onTimeout(now);
    }

    /** The completions since the last call. */
    List<Completion> takeCompletions() {
        List<Completion> taken = List.copyOf(completions);
        completions.clear();
        return taken;
    }
}
