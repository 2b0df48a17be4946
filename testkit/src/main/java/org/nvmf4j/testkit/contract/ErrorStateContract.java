package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.RETRY_EXCEEDED;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** The error state, peers that do not answer, and closed queue pairs. */
interface ErrorStateContract extends ContractSetup {
    @Test
    default void aQueuePairGoesThroughItsStates() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        assertThat(host.state()).isEqualTo(QueuePairState.INIT);
        fabric().link(host, target, Fabric.PARAMETERS);
        assertThat(host.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        assertThat(target.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        host.queuePair.toError();
        assertThat(host.state()).isEqualTo(QueuePairState.ERROR);
        host.queuePair.toError();
        host.queuePair.close();
        assertThat(host.state()).isEqualTo(QueuePairState.DESTROYED);
        host.queuePair.close();
        host.queuePair.toError();
        assertThat(host.state()).isEqualTo(QueuePairState.DESTROYED);
    }

    @Test
    default void numbersAre24BitsAndUnique() throws Exception {
        for (int i = 0; i < 100; i++) {
            assertThat(fabric().host.endpoint(1).queuePair.number()).isBetween(2, 0xff_ffff);
        }
        assertThat(fabric().host.endpoints)
                .extracting(e -> e.queuePair.number())
                .doesNotHaveDuplicates();
    }

    @Test
    default void sendsOnlyWhenConnected() throws Exception {
        Endpoint host = fabric().host.endpoint();
        RegisteredMemory from = fabric().host.memory(64);
        assertThatThrownBy(() -> host.send(from, 0, 64)).isInstanceOf(IllegalStateException.class);
        fabric().connect(host, Fabric.PARAMETERS);
        assertThatThrownBy(() -> host.send(from, 0, 64)).isInstanceOf(IllegalStateException.class);
        fabric().idle();
        assertThat(host.sent).isEmpty();
    }

    @Test
    default void theErrorStateFlushesWhatIsPostedInOrder() throws Exception {
        Link link = fabric().link();
        RegisteredMemory memory = fabric().host.memory(4096);
        long[] receives = new long[5];
        long[] sends = new long[5];
        for (int i = 0; i < 5; i++) {
            receives[i] = link.host().receive(memory, 0, 64);
            SendWorkRequest send = link.host().request(WorkOpcode.SEND, memory, 0, 64);
            send.signaled(i % 2 == 0);
            sends[i] = link.host().post(send);
        }
        link.host().queuePair.toError();
        fabric().awaitSent(link.host(), 5);
        fabric().awaitReceived(link.host(), 5);
        assertThat(link.host().sent).extracting(Completed::id).containsExactly(box(sends));
        assertThat(link.host().received).extracting(Completed::id).containsExactly(box(receives));
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(WORK_REQUEST_FLUSHED);
        assertThat(link.host().received).extracting(Completed::status).containsOnly(WORK_REQUEST_FLUSHED);
        fabric().idle();
        assertThat(link.host().sent).hasSize(5);
        assertThat(link.host().received).hasSize(5);
        assertThat(link.target().received).isEmpty();
    }

    private static Long[] box(long[] values) {
        Long[] boxed = new Long[values.length];
        for (int i = 0; i < values.length; i++) {
            boxed[i] = values[i];
        }
        return boxed;
    }

    /** Drives both devices for some half turns, so that the peer has taken in all, some or nothing of what was posted. */
    private void turn(int halfTurns) throws VerbsException {
        for (int i = 0; i < halfTurns; i++) {
            if (i % 2 == 0) {
                fabric().host.progress();
            } else {
                fabric().target.progress();
            }
        }
    }

    @Test
    default void theErrorStateEndsARequestThatIsUnderWayOnce() throws Exception {
        for (int turns = 0; turns < 24; turns++) {
            Link link = fabric().link();
            RegisteredMemory local = fabric().host.memory(100_000);
            RegisteredMemory remote = fabric().target.memory(100_000);
            RegisteredMemory room = fabric().target.memory(100_000);
            link.target().receive(room, 0, 100_000);
            link.host().write(local, 0, 100_000, remote, 0);
            link.host().read(local, 0, 100_000, remote, 0);
            link.host().send(local, 0, 100_000);
            turn(turns);
            link.host().queuePair.toError();
            fabric().awaitSent(link.host(), 3);
            local.clear();
            fabric().idle();
            local.assertFresh();
            assertThat(link.host().sent).extracting(Completed::id).containsExactly(1L, 2L, 3L);
            int done = (int)
                    link.host().sent.stream().filter(c -> c.status() == SUCCESS).count();
            assertThat(link.host().sent.subList(0, done)).allMatch(c -> c.status() == SUCCESS);
            assertThat(link.host().sent.subList(done, 3)).allMatch(c -> c.status() == WORK_REQUEST_FLUSHED);
            link.host().close();
            link.target().close();
        }
    }

    @Test
    default void postsInTheErrorStateAreFlushed() throws Exception {
        Link link = fabric().link(fabric().host.endpoint(4), fabric().target.endpoint(), Fabric.PARAMETERS);
        RegisteredMemory memory = fabric().host.memory(64);
        link.host().queuePair.toError();
        for (int i = 1; i <= 20; i++) {
            SendWorkRequest first = link.host().request(WorkOpcode.SEND, memory, 0, 64);
            first.signaled(false);
            first.next(link.host().request(WorkOpcode.RDMA_READ, memory, 0, 64));
            link.host().post(first);
            link.host().receive(memory, 0, 64);
            fabric().awaitSent(link.host(), 2 * i);
            fabric().awaitReceived(link.host(), i);
        }
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(WORK_REQUEST_FLUSHED);
        assertThat(link.host().received).extracting(Completed::status).containsOnly(WORK_REQUEST_FLUSHED);
    }

    @Test
    default void aQueuePairThatWasNeverConnectedFlushesItsReceives() throws Exception {
        Endpoint host = fabric().host.endpoint();
        RegisteredMemory memory = fabric().host.memory(64);
        long id = host.receive(memory, 0, 64);
        host.queuePair.toError();
        fabric().awaitReceived(host, 1);
        assertThat(host.received.getFirst().id()).isEqualTo(id);
        assertThat(host.received.getFirst().status()).isEqualTo(WORK_REQUEST_FLUSHED);
    }

    @Test
    default void requestsToAPeerInTheErrorStateRunOutOfRetries() throws Exception {
        Link link = fabric().link(Fabric.parameters(1, 7));
        RegisteredMemory memory = fabric().host.memory(64);
        RegisteredMemory room = fabric().target.memory(64);
        link.target().receive(room, 0, 64);
        link.target().queuePair.toError();
        link.host().send(memory, 0, 64);
        link.host().send(memory, 0, 64);
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent)
                .extracting(Completed::status)
                .containsExactly(RETRY_EXCEEDED, WORK_REQUEST_FLUSHED);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
        room.assertFresh();
    }

    @Test
    default void requestsToAClosedPeerRunOutOfRetries() throws Exception {
        for (WorkOpcode opcode : new WorkOpcode[] {WorkOpcode.SEND, WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ}) {
            Link link = fabric().link(Fabric.parameters(1, 7));
            RegisteredMemory memory = fabric().host.memory(64);
            RegisteredMemory remote = fabric().target.memory(64);
            link.target().queuePair.close();
            SendWorkRequest request = link.host().request(opcode, memory, 0, 64);
            request.remote(remote.address(), remote.region().rkey());
            link.host().post(request);
            fabric().awaitSent(link.host(), 1);
            assertThat(link.host().sent.getFirst().status()).as("%s", opcode).isEqualTo(RETRY_EXCEEDED);
            remote.assertFresh();
            memory.assertFresh();
        }
    }

    @Test
    default void aClosedQueuePairCompletesNothingAndFreesItsBuffers() throws Exception {
        for (int turns = 0; turns < 24; turns++) {
            Link link = fabric().link();
            RegisteredMemory local = fabric().host.memory(300_000);
            RegisteredMemory remote = fabric().target.memory(300_000);
            remote.fill(0, 300_000, 1);
            link.host().receive(local, 200_000, 100_000);
            link.host().read(local, 0, 100_000, remote, 0);
            link.host().read(local, 100_000, 100_000, remote, 0);
            link.target().send(remote, 0, 100_000);
            turn(turns);
            int sent = link.host().sent.size();
            int received = link.host().received.size();
            link.host().queuePair.close();
            local.clear();
            fabric().idle();
            local.assertFresh();
            assertThat(link.host().sent).hasSize(sent);
            assertThat(link.host().received).hasSize(received);
        }
    }

    @Test
    default void completionsNotPolledYetVanishWithTheirQueuePairOnly() throws Exception {
        CompletionQueue shared = fabric().host.device.createCompletionQueue(64, 0);
        Endpoint one = fabric().host.endpoint(shared, shared, 8);
        Endpoint two = fabric().host.endpoint(shared, shared, 8);
        RegisteredMemory memory = fabric().host.memory(64);
        for (int i = 0; i < 3; i++) {
            one.receive(memory, 0, 64);
            two.receive(memory, 0, 64);
        }
        one.queuePair.toError();
        two.queuePair.toError();
        one.queuePair.close();
        fabric().awaitSent(two, 3); // a shared queue counts as the send queue here
        assertThat(one.sent).isEmpty();
        two.queuePair.close();
        fabric().host.endpoints.clear();
        shared.close();
    }
}
