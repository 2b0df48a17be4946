package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_ACCESS_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** Send, receive and completion queues: their room, signalling, sharing and polling. */
interface QueueContract extends ContractSetup {
    @Test
    default void aQueuePairBeyondTheDeviceIsRefused() throws Exception {
        Device device = fabric().host.device;
        int requests = device.attributes().maxWorkRequests() + 1;
        int sge = device.attributes().maxSge() + 1;
        CompletionQueue queue = device.createCompletionQueue(8, 0);
        for (QueuePairOptions options : List.of(
                new QueuePairOptions(queue, queue, requests, 1, 1, 0, null),
                new QueuePairOptions(queue, queue, 1, requests, 1, 0, null),
                new QueuePairOptions(queue, queue, 1, 1, sge, 0, null))) {
            assertThatThrownBy(() -> device.createQueuePair(fabric().host.domain, options))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining("at most " + (options.maxSge() == sge ? sge - 1 : requests - 1));
        }
        queue.close();
    }

    @Test
    default void aQueuePairIsMadeOfWhatItsDeviceHas() throws Exception {
        Node host = fabric().host;
        CompletionQueue own = host.device.createCompletionQueue(8, 0);
        CompletionQueue foreign = fabric().target.device.createCompletionQueue(8, 0);
        assertThatThrownBy(() -> host.device.createQueuePair(
                        fabric().target.domain, new QueuePairOptions(own, own, 1, 1, 1, 0, null)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("protection domain");
        assertThatThrownBy(() -> host.device.createQueuePair(
                        host.domain, new QueuePairOptions(foreign, foreign, 1, 1, 1, 0, null)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("completion queues");
        own.close();
        foreign.close();
    }

    @Test
    default void aClosedCompletionQueueIsRefusedAndTheOtherStaysFree() throws Exception {
        Node host = fabric().host;
        CompletionQueue open = host.device.createCompletionQueue(8, 0);
        CompletionQueue closed = host.device.createCompletionQueue(8, 0);
        closed.close();
        for (QueuePairOptions options : List.of(
                new QueuePairOptions(open, closed, 1, 1, 1, 0, null),
                new QueuePairOptions(closed, open, 1, 1, 1, 0, null))) {
            assertThatThrownBy(() -> host.device.createQueuePair(host.domain, options))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("completion queue is closed");
        }
        open.close();
    }

    @Test
    default void onlySignaledRequestsComplete() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(4096);
        RegisteredMemory to = fabric().target.memory(4096);
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 7; i++) {
                SendWorkRequest write = link.host().request(WorkOpcode.RDMA_WRITE, from, 0, 4096);
                write.remote(to.address(), to.region().rkey());
                write.signaled(i == 6);
                link.host().post(write);
            }
            fabric().awaitSent(link.host(), round + 1);
        }
        fabric().idle();
        assertThat(link.host().sent).hasSize(10).extracting(Completed::status).containsOnly(SUCCESS);
        assertThat(link.host().sent).extracting(c -> c.id() % 7).containsOnly(0L);
    }

    @Test
    default void aFailureCompletesEvenIfNotSignaled() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(64);
        SendWorkRequest write = link.host().request(WorkOpcode.RDMA_WRITE, from, 0, 64);
        write.remote(0x1000, 0x1234);
        write.signaled(false);
        long id = link.host().post(write);
        assertThat(fabric().awaitSentId(link.host(), id).status()).isEqualTo(REMOTE_ACCESS_ERROR);
    }

    @Test
    default void aFullSendQueueTakesNothingOfAChain() throws Exception {
        Link link = fabric().link(fabric().host.endpoint(4), fabric().target.endpoint(), Fabric.PARAMETERS);
        RegisteredMemory from = fabric().host.memory(4096);
        RegisteredMemory to = fabric().target.memory(4096);
        for (int round = 1; round <= 3; round++) {
            for (int i = 0; i < 3; i++) {
                link.host().write(from, 0, 64, to, 0);
            }
            SendWorkRequest first = link.host().request(WorkOpcode.RDMA_WRITE, from, 0, 64);
            first.remote(to.address(), to.region().rkey());
            SendWorkRequest second = link.host().request(WorkOpcode.RDMA_WRITE, from, 0, 64);
            second.remote(to.address(), to.region().rkey());
            first.next(second);
            assertThatThrownBy(() -> link.host().post(first)).isInstanceOf(IllegalStateException.class);
            first.next(null);
            link.host().post(first);
            assertThatThrownBy(() -> link.host().post(second)).isInstanceOf(IllegalStateException.class);
            fabric().awaitSent(link.host(), round * 4);
        }
        fabric().idle();
        assertThat(link.host().sent).hasSize(12).extracting(Completed::status).containsOnly(SUCCESS);
    }

    @Test
    default void aFullReceiveQueueTakesNothingOfAChain() throws Exception {
        Link link = fabric().link(fabric().host.endpoint(), fabric().target.endpoint(4), Fabric.PARAMETERS);
        RegisteredMemory from = fabric().host.memory(4096);
        RegisteredMemory to = fabric().target.memory(4096);
        for (int i = 0; i < 3; i++) {
            link.target().receive(to, 0, 64);
        }
        ReceiveWorkRequest first = link.target().receiveRequest(to, 0, 64);
        first.next(link.target().receiveRequest(to, 0, 64));
        assertThatThrownBy(() -> link.target().queuePair.postReceive(first)).isInstanceOf(IllegalStateException.class);
        first.next(null);
        link.target().queuePair.postReceive(first);
        assertThatThrownBy(() -> link.target().receive(to, 0, 64)).isInstanceOf(IllegalStateException.class);
        for (int i = 0; i < 4; i++) {
            link.host().send(from, 0, 64);
        }
        fabric().awaitReceived(link.target(), 4);
        link.target().receive(to, 0, 64);
        link.host().send(from, 0, 64);
        fabric().awaitReceived(link.target(), 5);
        assertThat(link.target().received).extracting(Completed::status).containsOnly(SUCCESS);
    }

    @Test
    default void postsChainsOfReceives() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(3 * 64);
        ReceiveWorkRequest third = link.target().receiveRequest(to, 128, 64);
        ReceiveWorkRequest second = link.target().receiveRequest(to, 64, 64);
        second.next(third);
        ReceiveWorkRequest first = link.target().receiveRequest(to, 0, 64);
        first.next(second);
        link.target().queuePair.postReceive(first);
        for (int i = 0; i < 3; i++) {
            link.host().send(from, 0, i);
        }
        fabric().awaitReceived(link.target(), 3);
        assertThat(link.target().received)
                .extracting(Completed::id)
                .containsExactly(first.id(), second.id(), third.id());
    }

    @Test
    default void queuePairsMayShareOneCompletionQueue() throws Exception {
        CompletionQueue shared = fabric().target.device.createCompletionQueue(64, 0);
        Link one =
                fabric().link(fabric().host.endpoint(), fabric().target.endpoint(shared, shared, 8), Fabric.PARAMETERS);
        Link two =
                fabric().link(fabric().host.endpoint(), fabric().target.endpoint(shared, shared, 8), Fabric.PARAMETERS);
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        one.target().receive(to, 0, 64);
        two.target().receive(to, 0, 64);
        two.host().send(from, 0, 2);
        one.host().send(from, 0, 1);
        // Both complete in one queue, so one endpoint's poll takes them all; "sent" is where this test kit keeps them.
        fabric().awaitSent(one.target(), 1);
        fabric().awaitSent(two.target(), 1);
        assertThat(one.target().sent.getFirst().queuePairNumber())
                .isEqualTo(one.target().queuePair.number());
        assertThat(one.target().sent.getFirst().lengthBytes()).isEqualTo(1);
        assertThat(two.target().sent.getFirst().queuePairNumber())
                .isEqualTo(two.target().queuePair.number());
        assertThat(two.target().sent.getFirst().lengthBytes()).isEqualTo(2);
        one.target().queuePair.close();
        two.target().queuePair.close();
        fabric().target.endpoints.clear();
        shared.close();
    }

    @Test
    default void pollHandsOverNoMoreThanAskedFor() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        fabric().host.endpoints.remove(link.host());
        for (int i = 0; i < 10; i++) {
            link.host().write(from, 0, 64, to, 0);
        }
        List<Long> ids = new ArrayList<>();
        fabric().await("ten completions, three at a time", () -> {
            int before = ids.size();
            int handed = link.host().sendQueue.poll(3, c -> ids.add(c.id()));
            assertThat(handed).isBetween(0, 3).isEqualTo(ids.size() - before);
            return ids.size() == 10;
        });
        assertThat(ids).isSorted();
        fabric().host.endpoints.add(link.host());
    }

    @Test
    default void aHandlerMayPostAndClose() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        fabric().host.endpoints.remove(link.host());
        List<Long> ids = new ArrayList<>();
        link.host().write(from, 0, 64, to, 0);
        link.host().write(from, 0, 64, to, 0);
        fabric().await("posts from the handler", () -> {
            link.host().sendQueue.poll(100, c -> {
                ids.add(c.id());
                if (ids.size() == 5) {
                    link.host().queuePair.close();
                } else {
                    link.host().write(from, 0, 64, to, 0);
                }
            });
            return ids.size() >= 5;
        });
        for (int i = 0; i < 100; i++) {
            fabric().progress();
            link.host().sendQueue.poll(100, c -> ids.add(c.id()));
        }
        assertThat(ids).containsExactly(1L, 2L, 3L, 4L, 5L);
        assertThat(link.host().state()).isEqualTo(QueuePairState.DESTROYED);
        fabric().host.endpoints.add(link.host());
    }

    @Test
    default void anOverflowingCompletionQueueFailsItsQueuePairs() throws Exception {
        CompletionQueue small = fabric().host.device.createCompletionQueue(4, 0);
        Endpoint host = fabric().host.endpoint(small, small, 2 * small.capacity() + 1);
        fabric().link(host, fabric().target.endpoint(), Fabric.PARAMETERS);
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        fabric().host.endpoints.remove(host); // nobody polls
        for (int i = 0; i <= small.capacity(); i++) {
            host.write(from, 0, 64, to, 0);
        }
        fabric().await("the overflow", () -> host.state() == QueuePairState.ERROR);
        List<Completed> seen = new ArrayList<>();
        small.poll(100, c -> seen.add(Completed.of(c)));
        assertThat(seen).hasSize(small.capacity()).extracting(Completed::status).containsOnly(SUCCESS);
        host.queuePair.close();
        small.close();
    }
}
