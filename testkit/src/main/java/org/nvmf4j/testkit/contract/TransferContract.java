package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** Messages, RDMA WRITE and RDMA READ of every size, in order, with the right completions. */
interface TransferContract extends ContractSetup {
    int LARGEST = 1 << 20;

    /** What a random request does. */
    List<WorkOpcode> KINDS = List.of(WorkOpcode.SEND, WorkOpcode.SEND, WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ);

    /** Sizes around every boundary: empty, inline, path MTU, and large ones. */
    private static List<Integer> sizes(Link link) {
        int inline = link.host().inlineBytes();
        int mtu = link.host().node.device.attributes().pathMtuBytes();
        TreeSet<Integer> sizes = new TreeSet<>(List.of(
                0, 1, 3, 64, inline, inline + 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 7, 16 * mtu, 65_536));
        sizes.add(Math.max(0, inline - 1));
        sizes.add(LARGEST);
        return List.copyOf(sizes);
    }

    @Test
    default void sendsMessagesOfEverySize() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(LARGEST);
        RegisteredMemory to = fabric().target.memory(LARGEST);
        for (int size : sizes(link)) {
            from.fill(0, size, size);
            to.clear();
            long receive = link.target().receive(to, 0, LARGEST);
            long send = link.host().send(from, 0, size);
            int n = link.target().received.size() + 1;
            fabric().awaitReceived(link.target(), n);
            fabric().awaitSent(link.host(), n);
            Completed received = link.target().received.getLast();
            assertThat(received)
                    .as("receive of %d bytes", size)
                    .isEqualTo(new Completed(
                            receive,
                            SUCCESS,
                            WorkOpcode.RECEIVE,
                            size,
                            link.target().queuePair.number(),
                            0,
                            link.target()));
            Completed sent = link.host().sent.getLast();
            assertThat(sent.id()).isEqualTo(send);
            assertThat(sent.status()).as("send of %d bytes", size).isEqualTo(SUCCESS);
            assertThat(sent.opcode()).isEqualTo(WorkOpcode.SEND);
            assertThat(sent.queuePairNumber()).isEqualTo(link.host().queuePair.number());
            assertThat(sent.context()).isSameAs(link.host());
            to.assertFilled(0, size, size);
            to.assertFresh(size, LARGEST - size);
        }
    }

    @Test
    default void writesEverySizeAndNothingBeside() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(LARGEST);
        RegisteredMemory to = fabric().target.memory(LARGEST + 64);
        for (int size : sizes(link)) {
            from.fill(0, size, size);
            to.clear();
            long id = link.host().write(from, 0, size, to, 32);
            Completed done = fabric().awaitSentId(link.host(), id);
            assertThat(done.status()).as("write of %d bytes", size).isEqualTo(SUCCESS);
            assertThat(done.opcode()).isEqualTo(WorkOpcode.RDMA_WRITE);
            to.assertFilled(32, size, size);
            to.assertFresh(0, 32);
            to.assertFresh(32 + size, LARGEST + 32 - size);
        }
        assertThat(link.target().received).isEmpty();
    }

    @Test
    default void readsEverySizeAndNothingBeside() throws Exception {
        Link link = fabric().link();
        RegisteredMemory to = fabric().host.memory(LARGEST + 64);
        RegisteredMemory from = fabric().target.memory(LARGEST);
        for (int size : sizes(link)) {
            from.fill(0, size, size);
            to.clear();
            long id = link.host().read(to, 32, size, from, 0);
            Completed done = fabric().awaitSentId(link.host(), id);
            assertThat(done.status()).as("read of %d bytes", size).isEqualTo(SUCCESS);
            assertThat(done.opcode()).isEqualTo(WorkOpcode.RDMA_READ);
            assertThat(done.lengthBytes()).isEqualTo(size);
            to.assertFilled(32, size, size);
            to.assertFresh(0, 32);
            to.assertFresh(32 + size, LARGEST + 32 - size);
        }
        assertThat(link.target().received).isEmpty();
    }

    @Test
    default void carriesDataFromTheAcceptingSideToo() throws Exception {
        Link link = fabric().link();
        RegisteredMemory own = fabric().target.memory(8192);
        RegisteredMemory remote = fabric().host.memory(8192);
        own.fill(0, 4096, 1);
        remote.fill(4096, 4096, 2);
        link.target().write(own, 0, 4096, remote, 0);
        link.target().read(own, 4096, 4096, remote, 4096);
        fabric().awaitSent(link.target(), 2);
        assertThat(link.target().sent).extracting(Completed::status).containsOnly(SUCCESS);
        remote.assertFilled(0, 4096, 1);
        own.assertFilled(4096, 4096, 2);
    }

    @Test
    default void movesDataAtOffsetsThatAreNotAligned() throws Exception {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(20_000);
        RegisteredMemory remote = fabric().target.memory(20_000);
        for (int shift = 1; shift < 8; shift++) {
            local.clear();
            remote.clear();
            local.fill(shift, 5001, shift);
            fabric().awaitSentId(link.host(), link.host().write(local, shift, 5001, remote, 3L * shift));
            remote.assertFilled(3L * shift, 5001, shift);
            fabric().awaitSentId(link.host(), link.host().read(local, 10_000 + shift, 5001, remote, 3L * shift));
            local.assertFilled(10_000 + shift, 5001, shift);
            remote.assertFresh(0, 3L * shift);
        }
    }

    @Test
    default void aMessageArrivesAfterTheWritesThatWerePostedBeforeIt() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().target.memory(1 << 17);
        RegisteredMemory to = fabric().host.memory(1 << 17);
        RegisteredMemory message = fabric().target.memory(64);
        RegisteredMemory room = fabric().host.memory(64);
        for (int round = 0; round < 20; round++) {
            int size = 1 + round * 6000;
            from.fill(0, size, round);
            message.fill(0, 16, round);
            link.host().receive(room, 0, 64);
            SendWorkRequest write = link.target().request(WorkOpcode.RDMA_WRITE, from, 0, size);
            write.remote(to.address(), to.region().rkey());
            write.signaled(false);
            SendWorkRequest send = link.target().request(WorkOpcode.SEND, message, 0, 16);
            write.next(send);
            link.target().post(write);
            fabric().awaitReceived(link.host(), round + 1);
            to.assertFilled(0, size, round);
            room.assertFilled(0, 16, round);
            fabric().awaitSent(link.target(), round + 1);
        }
        assertThat(link.target().sent).extracting(Completed::opcode).containsOnly(WorkOpcode.SEND);
    }

    @Test
    default void keepsTheOrderOfManyRequestsOfAllKinds() throws Exception {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        Link link = fabric().link();
        int depth = Endpoint.DEFAULT_DEPTH;
        int slot = 20_000;
        RegisteredMemory local = fabric().host.memory((long) depth * slot);
        RegisteredMemory remote = fabric().target.memory((long) depth * slot);
        RegisteredMemory room = fabric().target.memory((long) depth * slot);
        for (int round = 0; round < 4; round++) {
            int sends = 0;
            link.host().sent.clear();
            link.target().received.clear();
            for (int i = 0; i < depth; i++) {
                link.target().receive(room, (long) i * slot, slot);
            }
            int[] sizes = new int[depth];
            WorkOpcode[] opcodes = new WorkOpcode[depth];
            for (int i = 0; i < depth; i++) {
                int at = i * slot;
                sizes[i] = random.nextInt(random.nextBoolean() ? 100 : slot);
                opcodes[i] = KINDS.get(random.nextInt(KINDS.size()));
                local.fill(at, sizes[i], i);
                switch (opcodes[i]) {
                    case RDMA_READ -> {
                        remote.fill(at, sizes[i], i + 1000);
                        link.host().read(local, at, sizes[i], remote, at);
                    }
                    case RDMA_WRITE -> link.host().write(local, at, sizes[i], remote, at);
                    default -> {
                        link.host().send(local, at, sizes[i]);
                        sends++;
                    }
                }
                if (random.nextInt(4) == 0) {
                    fabric().progress();
                }
            }
            fabric().awaitSent(link.host(), depth);
            fabric().awaitReceived(link.target(), sends);
            String which = "seed " + seed + " round " + round;
            assertThat(link.host().sent).as(which).isSortedAccordingTo((a, b) -> Long.compare(a.id(), b.id()));
            int message = 0;
            for (int i = 0; i < depth; i++) {
                int at = i * slot;
                assertThat(link.host().sent.get(i).opcode()).as(which).isEqualTo(opcodes[i]);
                assertThat(link.host().sent.get(i).status()).as(which).isEqualTo(SUCCESS);
                switch (opcodes[i]) {
                    case RDMA_READ -> local.assertFilled(at, sizes[i], i + 1000);
                    case RDMA_WRITE -> remote.assertFilled(at, sizes[i], i);
                    default -> {
                        assertThat(link.target().received.get(message).lengthBytes())
                                .as(which)
                                .isEqualTo(sizes[i]);
                        room.assertFilled((long) message * slot, sizes[i], i);
                        message++;
                    }
                }
            }
            drainReceives(link, local, depth - sends);
        }
    }

    /** Uses up receives that are still posted. */
    private void drainReceives(Link link, RegisteredMemory from, int count) throws VerbsException {
        int before = link.target().received.size();
        int sentBefore = link.host().sent.size();
        for (int i = 0; i < count; i++) {
            link.host().send(from, 0, 1);
        }
        fabric().awaitReceived(link.target(), before + count);
        fabric().awaitSent(link.host(), sentBefore + count);
    }

    @Test
    default void bothSidesSendAtTheSameTimeAtFullDepth() throws Exception {
        Link link = fabric().link();
        int depth = Endpoint.DEFAULT_DEPTH;
        int size = 5000;
        RegisteredMemory hostOut = fabric().host.memory((long) depth * size);
        RegisteredMemory hostIn = fabric().host.memory((long) depth * size);
        RegisteredMemory targetOut = fabric().target.memory((long) depth * size);
        RegisteredMemory targetIn = fabric().target.memory((long) depth * size);
        for (int round = 1; round <= 5; round++) {
            for (int i = 0; i < depth; i++) {
                link.host().receive(hostIn, (long) i * size, size);
                link.target().receive(targetIn, (long) i * size, size);
                hostOut.fill((long) i * size, size, round * 100 + i);
                targetOut.fill((long) i * size, size, -round * 100 - i);
            }
            for (int i = 0; i < depth; i++) {
                link.host().send(hostOut, (long) i * size, size);
                link.target().send(targetOut, (long) i * size, size);
            }
            fabric().awaitSent(link.host(), round * depth);
            fabric().awaitSent(link.target(), round * depth);
            fabric().awaitReceived(link.host(), round * depth);
            fabric().awaitReceived(link.target(), round * depth);
            for (int i = 0; i < depth; i++) {
                targetIn.assertFilled((long) i * size, size, round * 100 + i);
                hostIn.assertFilled((long) i * size, size, -round * 100 - i);
            }
        }
    }

    @Test
    default void aDeepQueuePostedAtOnceIsWorkedOff() throws Exception {
        int depth = 1000;
        Link link = fabric().link(fabric().host.endpoint(depth), fabric().target.endpoint(depth), Fabric.PARAMETERS);
        RegisteredMemory from = fabric().host.memory(depth * 64L);
        RegisteredMemory to = fabric().target.memory(depth * 64L);
        RegisteredMemory room = fabric().target.memory(depth * 64L);
        for (int i = 0; i < depth; i++) {
            from.fill(i * 64L, 64, i);
            if (i % 2 == 0) {
                link.target().receive(room, i * 64L, 64);
                link.host().send(from, i * 64L, 64);
            } else {
                link.host().write(from, i * 64L, 64, to, i * 64L);
            }
        }
        fabric().awaitSent(link.host(), depth);
        fabric().awaitReceived(link.target(), depth / 2);
        assertThat(link.host().sent).allMatch(c -> c.status() == SUCCESS);
        for (int i = 0; i < depth; i++) {
            (i % 2 == 0 ? room : to).assertFilled(i * 64L, 64, i);
        }
    }

    @Test
    default void readsBeyondTheInitiatorDepthWaitForTheirTurn() throws Exception {
        Link link = fabric().link();
        int count = Endpoint.DEFAULT_DEPTH;
        int size = 9000;
        RegisteredMemory to = fabric().host.memory((long) count * size);
        RegisteredMemory from = fabric().target.memory((long) count * size);
        for (int i = 0; i < count; i++) {
            from.fill((long) i * size, size, i);
            link.host().read(to, (long) i * size, size, from, (long) i * size);
        }
        fabric().awaitSent(link.host(), count);
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
        assertThat(link.host().sent).isSortedAccordingTo((a, b) -> Long.compare(a.id(), b.id()));
        for (int i = 0; i < count; i++) {
            to.assertFilled((long) i * size, size, i);
        }
    }

    @Test
    default void aReadWithoutInitiatorDepthFails() throws Exception {
        Link link = fabric().link(new ConnectionParameters(new byte[0], Fabric.READS, 0, 7, 7));
        RegisteredMemory local = fabric().host.memory(64);
        RegisteredMemory remote = fabric().target.memory(64);
        long write = link.host().write(local, 0, 64, remote, 0);
        long read = link.host().read(local, 0, 64, remote, 0);
        assertThat(fabric().awaitSentId(link.host(), write).status()).isEqualTo(SUCCESS);
        assertThat(fabric().awaitSentId(link.host(), read).status()).isEqualTo(LOCAL_QP_OPERATION_ERROR);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void manyConnectionsCarryTheirOwnData() throws Exception {
        int count = 100;
        RegisteredMemory out = fabric().host.memory(count * 4096L);
        RegisteredMemory in = fabric().target.memory(count * 4096L);
        Link[] links = new Link[count];
        for (int i = 0; i < count; i++) {
            links[i] = fabric().link(fabric().host.endpoint(4), fabric().target.endpoint(4), Fabric.PARAMETERS);
            links[i].target().receive(in, i * 4096L, 4096);
            out.fill(i * 4096L, 4096, i);
        }
        assertThat(links).extracting(l -> l.host().queuePair.number()).doesNotHaveDuplicates();
        for (int i = count - 1; i >= 0; i--) {
            links[i].host().send(out, i * 4096L, 4096);
        }
        for (int i = 0; i < count; i++) {
            fabric().awaitReceived(links[i].target(), 1);
            fabric().awaitSent(links[i].host(), 1);
            in.assertFilled(i * 4096L, 4096, i);
        }
    }
}
