package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SharedReceiveQueue;
import org.nvmf4j.verbs.VerbsException;

/** Receives that queue pairs share. */
interface SharedReceiveContract extends ContractSetup {
    /** A receive whose id says where in the memory it is. */
    private static void post(SharedReceiveQueue queue, RegisteredMemory to, long offset, int bytes) {
        ReceiveWorkRequest request = new ReceiveWorkRequest(1);
        request.id(offset);
        request.setSge(to.region(), offset, bytes);
        queue.postReceive(request);
    }

    private Link linkTo(SharedReceiveQueue queue) throws VerbsException {
        return fabric().link(fabric().host.endpoint(), fabric().target.sharing(queue), Fabric.PARAMETERS);
    }

    @Test
    default void messagesToAllQueuePairsTakeSharedReceives() throws Exception {
        int links = 3;
        int rounds = 20;
        int bytes = 5000;
        int slots = 4;
        SharedReceiveQueue queue = fabric().target.device.createSharedReceiveQueue(fabric().target.domain, slots, 1, 0);
        List<Link> all = new ArrayList<>();
        for (int i = 0; i < links; i++) {
            all.add(linkTo(queue));
        }
        RegisteredMemory from = fabric().host.memory((long) links * bytes);
        RegisteredMemory to = fabric().target.memory((long) slots * bytes);
        for (int slot = 0; slot < slots; slot++) {
            post(queue, to, (long) slot * bytes, bytes);
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < links; i++) {
                from.fill((long) i * bytes, bytes, round * links + i);
                all.get(i).host().send(from, (long) i * bytes, bytes - i);
            }
            for (int i = 0; i < links; i++) {
                Endpoint end = all.get(i).target();
                fabric().awaitReceived(end, round + 1);
                Completed received = end.received.get(round);
                assertThat(received.status()).isEqualTo(SUCCESS);
                assertThat(received.lengthBytes()).isEqualTo(bytes - i);
                to.assertFilled(received.id(), bytes - i, round * links + i);
                post(queue, to, received.id(), bytes);
            }
            for (Link link : all) {
                fabric().awaitSent(link.host(), round + 1);
            }
        }
        for (Link link : all) {
            assertThat(link.target().received).hasSize(rounds);
        }
    }

    @Test
    default void aMessageWaitsForASharedReceive() throws Exception {
        SharedReceiveQueue queue = fabric().target.device.createSharedReceiveQueue(fabric().target.domain, 4, 1, 0);
        Link link = linkTo(queue);
        RegisteredMemory from = fabric().host.memory(4096);
        RegisteredMemory to = fabric().target.memory(4096);
        from.fill(0, 4096, 1);
        link.host().send(from, 0, 4096);
        fabric().idle();
        assertThat(link.host().sent).isEmpty();
        post(queue, to, 0, 4096);
        fabric().awaitReceived(link.target(), 1);
        to.assertFilled(0, 4096, 1);
        fabric().awaitSent(link.host(), 1);
    }

    @Test
    default void aQueuePairInErrorLeavesSharedReceivesToTheOthers() throws Exception {
        SharedReceiveQueue queue = fabric().target.device.createSharedReceiveQueue(fabric().target.domain, 4, 1, 0);
        Link first = linkTo(queue);
        Link second = linkTo(queue);
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(256);
        for (int i = 0; i < 4; i++) {
            post(queue, to, i * 64L, 64);
        }
        first.target().queuePair.toError();
        fabric().idle();
        assertThat(first.target().received).isEmpty();
        first.target().close();
        for (int i = 0; i < 4; i++) {
            second.host().send(from, 0, 64);
        }
        fabric().awaitReceived(second.target(), 4);
        assertThat(second.target().received).extracting(Completed::id).containsExactly(0L, 64L, 128L, 192L);
        assertThat(second.target().received).extracting(Completed::status).containsOnly(SUCCESS);
        assertThat(second.target().state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }

    @Test
    default void aMessageLongerThanItsSharedReceiveEndsItsQueuePairAlone() throws Exception {
        SharedReceiveQueue queue = fabric().target.device.createSharedReceiveQueue(fabric().target.domain, 2, 1, 0);
        Link first = linkTo(queue);
        Link second = linkTo(queue);
        RegisteredMemory from = fabric().host.memory(128);
        RegisteredMemory to = fabric().target.memory(128);
        post(queue, to, 0, 64);
        post(queue, to, 64, 64);
        first.host().send(from, 0, 128);
        fabric().awaitReceived(first.target(), 1);
        fabric().awaitSent(first.host(), 1);
        assertThat(first.target().received.getFirst().id()).isZero();
        assertThat(first.target().received.getFirst().status()).isNotEqualTo(SUCCESS);
        second.host().send(from, 0, 64);
        fabric().awaitReceived(second.target(), 1);
        assertThat(second.target().received.getFirst().id()).isEqualTo(64);
        assertThat(second.target().received.getFirst().status()).isEqualTo(SUCCESS);
    }

    @Test
    default void sharedReceivesAreCountedAndHaveOwners() throws Exception {
        Node target = fabric().target;
        SharedReceiveQueue queue = target.device.createSharedReceiveQueue(target.domain, 3, 1, 0);
        RegisteredMemory to = target.memory(64);
        Endpoint end = target.sharing(queue);
        assertThat(queue.capacity()).isEqualTo(3);
        for (int i = 0; i < 3; i++) {
            post(queue, to, 0, 64);
        }
        assertThatThrownBy(() -> post(queue, to, 0, 64))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("room for 0 more");
        assertThatThrownBy(() -> end.receive(to, 0, 64))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("post them there");
        assertThatThrownBy(queue::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("1 queue pairs still use");
        end.close();
        queue.close();
        queue.close();
        assertThatThrownBy(() -> post(queue, to, 0, 64)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> target.sharing(queue)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    default void sharedReceivesOfAnotherOwnerAreRefused() throws Exception {
        Node target = fabric(2).target;
        int otherVector = target.device.attributes().vectors() - 1;
        if (otherVector > 0) {
            SharedReceiveQueue queue = target.device.createSharedReceiveQueue(target.domain, 3, 1, otherVector);
            assertThatThrownBy(() -> target.sharing(queue))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("one protection domain and vector");
        }
        SharedReceiveQueue foreign = fabric().host.device.createSharedReceiveQueue(fabric().host.domain, 3, 1, 0);
        assertThatThrownBy(() -> target.sharing(foreign)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> target.device.createSharedReceiveQueue(fabric().host.domain, 3, 1, 0))
                .isInstanceOf(IllegalArgumentException.class);
        int tooMany = target.device.attributes().maxWorkRequests() + 1;
        assertThatThrownBy(() -> target.device.createSharedReceiveQueue(target.domain, tooMany, 1, 0))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("at most " + (tooMany - 1));
        assertThatThrownBy(() -> target.device.createSharedReceiveQueue(target.domain, 0, 1, 0))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
