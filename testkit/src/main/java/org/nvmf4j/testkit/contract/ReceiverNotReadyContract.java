package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.RNR_RETRY_EXCEEDED;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.QueuePairState;

/** What becomes of messages that find no receive. */
interface ReceiverNotReadyContract extends ContractSetup {
    @Test
    default void aMessageWaitsForALateReceive() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(10_000);
        RegisteredMemory to = fabric().target.memory(10_000);
        from.fill(0, 10_000, 1);
        link.host().send(from, 0, 10_000);
        fabric().idle();
        assertThat(link.host().sent).isEmpty();
        to.assertFresh();
        link.target().receive(to, 0, 10_000);
        fabric().awaitReceived(link.target(), 1);
        fabric().awaitSent(link.host(), 1);
        assertThat(link.host().sent.getFirst().status()).isEqualTo(SUCCESS);
        to.assertFilled(0, 10_000, 1);
    }

    @Test
    default void waitingMessagesTakeTheirReceivesInOrder() throws Exception {
        Link link = fabric().link();
        int count = 8;
        RegisteredMemory from = fabric().host.memory(count * 5000L);
        RegisteredMemory to = fabric().target.memory(count * 5000L);
        for (int i = 0; i < count; i++) {
            from.fill(i * 5000L, 5000 - i, i);
            link.host().send(from, i * 5000L, 5000 - i);
        }
        fabric().idle();
        link.target().receive(to, 0, 5000);
        fabric().awaitReceived(link.target(), 1);
        for (int i = 1; i < count; i++) {
            link.target().receive(to, i * 5000L, 5000);
        }
        fabric().awaitReceived(link.target(), count);
        fabric().awaitSent(link.host(), count);
        for (int i = 0; i < count; i++) {
            assertThat(link.target().received.get(i).lengthBytes()).isEqualTo(5000 - i);
            to.assertFilled(i * 5000L, 5000 - i, i);
        }
    }

    @Test
    default void writesAndReadsNeedNoReceive() throws Exception {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(4096);
        RegisteredMemory remote = fabric().target.memory(4096);
        local.fill(0, 4096, 1);
        link.host().write(local, 0, 4096, remote, 0);
        link.host().read(local, 0, 4096, remote, 0);
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
        remote.assertFilled(0, 4096, 1);
    }

    @Test
    default void withoutRetriesAMessageFailsAndTheRestIsFlushed() throws Exception {
        Link link = fabric().link(Fabric.parameters(7, 0));
        RegisteredMemory from = fabric().host.memory(4096);
        link.host().send(from, 0, 4096);
        link.host().send(from, 0, 10);
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent)
                .extracting(Completed::status)
                .containsExactly(RNR_RETRY_EXCEEDED, WORK_REQUEST_FLUSHED);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void afterFiniteRetriesAMessageFails() throws Exception {
        Link link = fabric().link(Fabric.parameters(7, 1));
        RegisteredMemory from = fabric().host.memory(4096);
        link.host().send(from, 0, 64);
        fabric().awaitSent(link.host(), 1);
        assertThat(link.host().sent.getFirst().status()).isEqualTo(RNR_RETRY_EXCEEDED);
    }

    /** The count that one side states is for the messages that the other side sends to it. */
    @Test
    default void eachSideStatesTheRetriesOfTheOther() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        fabric().acceptWith(target, Fabric.parameters(7, 7));
        fabric().connect(host, Fabric.parameters(7, 0));
        fabric().await("the connection", () -> host.isEstablished() && target.isEstablished());
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        host.send(from, 0, 64);
        fabric().idle();
        assertThat(host.sent).isEmpty();
        target.receive(to, 0, 64);
        fabric().awaitSent(host, 1);
        assertThat(host.sent.getFirst().status()).isEqualTo(SUCCESS);
        target.send(to, 0, 64);
        fabric().awaitSent(target, 1);
        assertThat(target.sent.getFirst().status()).isEqualTo(RNR_RETRY_EXCEEDED);
    }
}
