package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.VerbsException;

/** How connections end. */
interface DisconnectContract extends ContractSetup {
    private void assertBothDisconnected(Link link) throws VerbsException {
        fabric().await(
                        "both ends' disconnect",
                        () -> link.host().events.size() >= 2
                                && link.target().events.size() >= 2);
        fabric().idle();
        assertThat(link.host().events).containsExactly("established", "disconnected");
        assertThat(link.target().events).containsExactly("established", "disconnected");
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
        assertThat(link.target().state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void theConnectingSideDisconnects() throws Exception {
        Link link = fabric().link();
        link.host().connection().disconnect();
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
        assertBothDisconnected(link);
    }

    @Test
    default void theAcceptingSideDisconnects() throws Exception {
        Link link = fabric().link();
        link.target().connection().disconnect();
        assertThat(link.target().state()).isEqualTo(QueuePairState.ERROR);
        assertBothDisconnected(link);
    }

    @Test
    default void bothSidesDisconnectAtOnce() throws Exception {
        Link link = fabric().link();
        link.target().connection().disconnect();
        link.host().connection().disconnect();
        assertBothDisconnected(link);
    }

    @Test
    default void disconnectingAgainChangesNothing() throws Exception {
        Link link = fabric().link();
        link.host().connection().disconnect();
        link.host().connection().disconnect();
        assertBothDisconnected(link);
        link.host().connection().disconnect();
        link.target().connection().disconnect();
        fabric().idle();
        assertBothDisconnected(link);
    }

    @Test
    default void disconnectingFlushesWhatIsPostedOnBothSides() throws Exception {
        Link link = fabric().link();
        RegisteredMemory hostMemory = fabric().host.memory(64);
        RegisteredMemory targetMemory = fabric().target.memory(64);
        for (int i = 0; i < 3; i++) {
            link.host().receive(hostMemory, 0, 64);
            link.target().receive(targetMemory, 0, 64);
        }
        link.host().connection().disconnect();
        assertBothDisconnected(link);
        fabric().awaitReceived(link.host(), 3);
        fabric().awaitReceived(link.target(), 3);
        assertThat(link.host().received).extracting(Completed::status).containsOnly(WORK_REQUEST_FLUSHED);
        assertThat(link.target().received).extracting(Completed::status).containsOnly(WORK_REQUEST_FLUSHED);
        assertThat(link.target().received).hasSize(3);
    }

    @Test
    default void whatHasCompletedBeforeADisconnectStays() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        link.target().receive(to, 0, 64);
        link.host().send(from, 0, 64);
        fabric().awaitSent(link.host(), 1);
        link.host().connection().disconnect();
        assertBothDisconnected(link);
        fabric().awaitReceived(link.target(), 1);
        assertThat(link.target().received.getFirst().status()).isEqualTo(SUCCESS);
    }

    @Test
    default void closingAConnectionTellsThePeerAndNobodyElse() throws Exception {
        Link link = fabric().link();
        link.host().connection().close();
        link.host().connection().close();
        fabric().await("the peer's disconnect", () -> link.target().events.contains("disconnected"));
        fabric().idle();
        assertThat(link.host().events).containsExactly("established");
        assertThat(link.target().events).containsExactly("established", "disconnected");
        assertThat(link.target().state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void aConnectionMayOutliveItsQueuePair() throws Exception {
        Link link = fabric().link();
        link.host().queuePair.close();
        link.host().connection().close();
        fabric().await("the peer's disconnect", () -> link.target().events.contains("disconnected"));
        assertThat(link.host().events).containsExactly("established");
        assertThat(link.host().state()).isEqualTo(QueuePairState.DESTROYED);
    }

    @Test
    default void noEventFollowsACloseInTheMidstOfDisconnecting() throws Exception {
        Link link = fabric().link();
        link.host().connection().disconnect();
        link.host().connection().close();
        fabric().await("the peer's disconnect", () -> link.target().events.contains("disconnected"));
        fabric().idle();
        assertThat(link.host().events).containsExactly("established");
        assertThat(link.target().events).containsExactly("established", "disconnected");
    }

    @Test
    default void disconnectingBeforeTheAnswerFailsTheConnection() throws Exception {
        Fabric fabric = fabric();
        Endpoint host = fabric.host.endpoint();
        fabric.connect(host, Fabric.PARAMETERS);
        fabric.await("the request", () -> !fabric.requests.isEmpty());
        host.connection().disconnect();
        fabric().await("the failure", () -> !host.events.isEmpty());
        fabric().idle();
        assertThat(host.events).containsExactly("failed");
        assertThat(host.state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void aPeerWhoseDeviceIsClosedIsNoticed() throws Exception {
        Link link = fabric().link(Fabric.parameters(1, 7));
        RegisteredMemory from = fabric().host.memory(64);
        fabric().target.close();
        link.host().send(from, 0, 64);
        fabric().awaitSent(link.host(), 1);
        assertThat(link.host().sent.getFirst().status()).isNotEqualTo(SUCCESS);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void disconnectingFromADeviceThatIsGoneEndsInTime() throws Exception {
        Link link = fabric().link();
        fabric().target.closeDevice();
        link.host().connection().disconnect();
        fabric().await("the disconnect", () -> link.host().events.contains("disconnected"));
        fabric().idle();
        assertThat(link.host().events).containsExactly("established", "disconnected");
    }

    @Test
    default void connectsAgainAndAgain() throws Exception {
        for (int i = 0; i < 50; i++) {
            Link link = fabric().link();
            RegisteredMemory from = fabric().host.memory(64);
            RegisteredMemory to = fabric().target.memory(64);
            Completed done = fabric().awaitSentId(link.host(), link.host().write(from, 0, 64, to, 0));
            assertThat(done.status()).isEqualTo(SUCCESS);
            if (i % 2 == 0) {
                link.host().connection().disconnect();
                assertBothDisconnected(link);
            }
            link.host().close();
            link.target().close();
        }
    }
}
