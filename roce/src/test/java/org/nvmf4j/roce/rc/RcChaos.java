package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.nvmf4j.roce.wire.Aeth;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Ieth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.testkit.GuardedMemory;
import org.nvmf4j.testkit.WorkLedger;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * Two connected queue pairs between which somebody drops, repeats, changes and makes up packets as he likes, with right ICRCs. Whatever
 * he does: no exception, no byte outside what was registered for it, each work request completes once and in order.
 */
final class RcChaos implements AutoCloseable {
    private static final int MTU = 256;
    private static final int MEMORY_BYTES = 4 * MTU;
    private static final int HISTORY = 16;
    private static final int MAX_STEPS = 400;
    private static final int STEPS_AFTER_DEATH = 20;

    private final Choices choices;
    private final Arena arena = Arena.ofConfined();
    private final Side a = new Side("a", 0xA);
    private final Side b = new Side("b", 0xB);
    private final List<Packet> history = new ArrayList<>();
    private long now;

    /** Where the somebody's decisions come from. */
    interface Choices {
        boolean more();

        /** 0 to {@code bound} - 1. */
        int below(int bound);

        int anything();
    }

    /** One queue pair and what belongs to it. */
    private final class Side {
        final RcEnd end;
        final WorkLedger sends;
        final WorkLedger receives;
        final GuardedMemory open = new GuardedMemory(arena, MEMORY_BYTES);
        final GuardedMemory secret = new GuardedMemory(arena, MEMORY_BYTES);
        final MemoryRegion region;
        final MemoryRegion secretRegion;
        long nextId;

        Side(String name, int number) {
            end = new RcEnd(
                    number,
                    new RcSizes(8, 8, 4, 32),
                    new RcTuning(16, 4, 4, 10_000, 50_000, 20_000),
                    new SplittableRandom(number),
                    arena,
                    16);
            sends = new WorkLedger(name + " sends");
            receives = new WorkLedger(name + " receives");
            region = end.register(open.segment(), RcEnd.ALL_RIGHTS);
            secretRegion = end.register(secret.segment(), Set.of());
        }

        boolean dead() {
            return end.queuePair.state() == QueuePairState.ERROR;
        }

        void check() {
            for (RcEnd.Completion completion : end.takeCompletions()) {
                boolean success = completion.status() == WorkCompletionStatus.SUCCESS;
                (completion.opcode() == WorkOpcode.RECEIVE ? receives : sends).completed(completion.id(), success);
                if (!success) {
                    assertThat(end.queuePair.state()).isEqualTo(QueuePairState.ERROR);
                }
            }
            if (region.rkey() == 0) { // the peer took it back
                region.renewRkey();
            }
            open.check();
            secret.check();
            assertThat(secret.segment().get(ValueLayout.JAVA_LONG, 0)).isZero();
        }
    }

    RcChaos(Choices choices) {
        this.choices = choices;
        int psnA = choices.below(1 << 24);
        int psnB = choices.below(1 << 24);
        a.end.queuePair.connect(new RcParameters(0xB, psnA, psnB, MTU, 2, 2, 3, choices.below(8), 200_000, 1));
        b.end.queuePair.connect(new RcParameters(0xA, psnB, psnA, MTU, 2, 2, 3, choices.below(8), 200_000, 1));
    }

    void run() {
        int left = MAX_STEPS;
        while (left-- > 0 && choices.more()) {
            Side side = choices.below(2) == 0 ? a : b;
            step(side, side == a ? b : a);
            a.check();
            b.check();
            if (a.dead() && b.dead()) {
                left = Math.min(left, STEPS_AFTER_DEATH);
            }
        }
        a.end.queuePair.toError();
        b.end.queuePair.toError();
        transmit(a);
        transmit(b);
        a.check();
        b.check();
        a.sends.checkDrained();
        b.sends.checkDrained();
        a.receives.checkDrained();
        b.receives.checkDrained();
    }

    private void step(Side side, Side other) {
        int choice = choices.below(32);
        if (choice < 14) {
            transmit(side).forEach(packet -> deliver(other, packet));
        } else if (choice < 18) {
            postSend(side, other);
        } else if (choice < 21) {
            postReceive(side);
        } else if (choice < 24) {
            pass(side);
        } else if (choice < 27) {
            old(side);
        } else if (choice < 29) {
            deliver(side, madeUp(side));
        } else if (choice == 29) {
            transmit(side); // all lost
        } else if (choice == 30) {
            transmit(side).reversed().forEach(packet -> deliver(other, packet));
        } else {
            keys(side);
        }
    }

    private List<Packet> transmit(Side side) {
        List<Packet> packets = new ArrayList<>();
        boolean more = true;
        while (more) {
            side.end.sink.room(1 + choices.below(16));
            more = side.end.queuePair.pollTransmit(side.end.sink, now);
            for (int i = 0; i < side.end.sink.count(); i++) {
                packets.add(new Packet(side.end.sink.packet(i)));
            }
            side.end.sink.clear();
            assertThat(packets).as("packets at once").hasSizeLessThan(100);
        }
        assertThat(side.end.queuePair.wantsTransmit()).isFalse();
        for (Packet packet : packets) {
            history.add(packet);
        }
        while (history.size() > HISTORY) {
            history.removeFirst();
        }
        return packets;
    }

    private void deliver(Side side, Packet packet) {
        side.end.queuePair.onPacket(packet.memory(), 0, packet.bytes().length, now);
    }

    private void pass(Side side) {
        now += choices.below(300_000);
        side.end.queuePair.onTimeout(now);
        assertThat(side.end.queuePair.nextDeadlineNanos()).isGreaterThan(now);
    }

    private void postSend(Side side, Side other) {
        if (side.sends.outstanding() == 8) {
            return;
        }
        SendWorkRequest request = new SendWorkRequest(4);
        request.id(side.nextId++);
        request.opcode(
                switch (choices.below(4)) {
                    case 0 -> WorkOpcode.SEND;
                    case 1 -> WorkOpcode.SEND_WITH_INVALIDATE;
                    case 2 -> WorkOpcode.RDMA_WRITE;
                    default -> WorkOpcode.RDMA_READ;
                });
        int pieces = choices.below(4);
        for (int i = 0; i < pieces; i++) {
            int length = choices.below(MTU + 2);
            request.addSge(side.open.segment(), choices.below(MEMORY_BYTES - length), length, side.region.lkey());
        }
        request.remote(other.region.address() + choices.below(MTU), other.region.rkey());
        request.invalidateRkey(other.region.rkey());
        side.sends.posted(request.id(), true);
        side.end.queuePair.postSend(request);
    }

    private void postReceive(Side side) {
        if (side.receives.outstanding() < 8) {
            long id = side.nextId++;
            side.receives.posted(id, true);
            int length = choices.below(8) == 0 ? choices.below(3 * MTU) : 3 * MTU + 4;
            side.end.postReceive(id, side.region, choices.below(MEMORY_BYTES - length), length);
        }
    }

    /** An old packet again, perhaps changed. */
    private void old(Side side) {
        if (history.isEmpty()) {
            return;
        }
        Packet packet =
                new Packet(history.get(choices.below(history.size())).bytes().clone());
        int changes = choices.below(3);
        for (int i = 0; i < changes; i++) {
            packet.bytes()[choices.below(Math.min(28, packet.bytes().length))] = (byte) choices.anything();
        }
        deliver(side, packet);
    }

    /** A packet that makes sense in all but a few respects. */
    private Packet madeUp(Side side) {
        int opcode = choices.below(8) == 0 ? choices.below(256) : choices.below(0x18);
        int psn = history.isEmpty() ? choices.anything() : history.getLast().psn() + choices.below(8) - 4;
        int flags = Opcode.flags(opcode);
        int payload = (flags & Opcode.HAS_PAYLOAD) == 0
                ? 0
                : (flags & (Opcode.FIRST | Opcode.MIDDLE)) != 0 ? MTU : choices.below(MTU + 2);
        if (flags == 0) {
            byte[] bytes = new byte[choices.below(64)];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) choices.anything();
            }
            return new Packet(bytes);
        }
        Packet packet = Packet.of(opcode, side.end.queuePair.number(), psn, choices.below(2) == 0, payload);
        MemorySegment memory = packet.memory();
        if ((flags & Opcode.HAS_RETH) != 0) {
            MemoryRegion region = choices.below(16) == 0 ? side.secretRegion : side.region;
            int rkey = choices.below(8) == 0 ? choices.anything() : region.rkey();
            long address = region.address() + (choices.below(8) == 0 ? choices.anything() : choices.below(MTU));
            packet.reth(address, rkey, choices.below(8) == 0 ? choices.anything() : payload);
        } else if ((flags & Opcode.HAS_AETH) != 0) {
            Aeth.write(memory, Bth.LENGTH, choices.below(2) == 0 ? 0x1F : choices.below(256), choices.anything());
        } else if ((flags & Opcode.HAS_IETH) != 0) {
            Ieth.write(memory, Bth.LENGTH, choices.below(2) == 0 ? side.region.rkey() : choices.anything());
        }
        return packet;
    }

    private void keys(Side side) {
        switch (choices.below(16)) {
            case 0 -> side.region.close();
            case 1 -> side.end.queuePair.toError();
            case 2, 3, 4 -> side.region.renewRkey();
            default -> {}
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
