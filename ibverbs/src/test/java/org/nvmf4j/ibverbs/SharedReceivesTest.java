package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SharedReceiveQueue;

/** Shared receive queues of a device that is played. What real ones do is in {@link RdmaContractTest}. */
class SharedReceivesTest {
    private static final int SUCCESS = 0;

    private final FakeRdma fake = new FakeRdma();
    private FakeEndpoint endpoint;
    private SharedReceiveQueue shared;

    @BeforeEach
    void open() throws Exception {
        endpoint = new FakeEndpoint(fake);
        shared = endpoint.device.createSharedReceiveQueue(endpoint.domain, 2, 2, 0);
    }

    @AfterEach
    void close() {
        endpoint.close();
        fake.close();
    }

    @Test
    void whatCompletesWhileAQueuePairIsDestroyedIsNotTakenForTheNextOneOfItsNumber() throws Exception {
        QueuePair closed = endpoint.sharing(shared);
        int number = closed.number();
        shared.postReceive(endpoint.receive(1));
        fake.onDestroyQueuePair = () -> fake.completes(fake.receiveIds.getFirst(), SUCCESS, number);
        closed.close();
        fake.onDestroyQueuePair = () -> {};
        fake.nextNumber = number;
        QueuePair next = endpoint.sharing(shared);
        assertThat(next.number()).isEqualTo(number);
        endpoint.progress();
        assertThat(endpoint.events).isEmpty();
        shared.postReceive(endpoint.receive(2)); // both have room: the first one's came back
        shared.postReceive(endpoint.receive(3));
        fake.completes(fake.receiveIds.getLast(), SUCCESS, number);
        endpoint.progress();
        assertThat(endpoint.events).containsExactly("RECEIVE 3 SUCCESS");
    }

    @Test
    void aSharedQueueThatTheDeviceGivesUpEndsItsQueuePairsAlone() throws Exception {
        endpoint.connected();
        QueuePair sharing = endpoint.sharing(shared);
        SharedReceiveQueue other = endpoint.device.createSharedReceiveQueue(endpoint.domain, 2, 2, 0);
        QueuePair elsewhere = endpoint.sharing(other);
        long failed = fake.created(Function.IBV_CREATE_SRQ).getFirst();
        fake.deviceHappens(AsyncEvents.SRQ_ERR, failed);
        endpoint.await(() -> sharing.state() == QueuePairState.ERROR);
        assertThat(elsewhere.state()).isEqualTo(QueuePairState.INIT);
        assertThat(endpoint.pair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }
}
