package org.nvmf4j.ibverbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nvmf4j.ibverbs.FakeRdma.Call;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.linux.SocketAddresses;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;

/** What happens to a device, and what comes of it: on a device that is played. */
class DeviceEventsTest {
    private final FakeRdma fake = new FakeRdma();
    private final LoggedLines log = new LoggedLines();
    private FakeEndpoint endpoint;

    @BeforeEach
    void open() throws Exception {
        endpoint = new FakeEndpoint(fake);
    }

    @AfterEach
    void close() {
        endpoint.close();
        fake.close();
        log.close();
    }

    /** The ways to learn that a device is gone. */
    enum Notice {
        EVENT_OF_THE_DEVICE,
        EVENT_OF_THE_ADDRESS,
        EVENT_OF_THE_CONNECTION,
        FAILING_POST,
        FAILING_WAIT,
        FAILING_CHANGE_OF_STATE
    }

    private void remove(Notice notice) {
        switch (notice) {
            case EVENT_OF_THE_DEVICE -> fake.deviceHappens(AsyncEvents.DEVICE_FATAL, 0);
            case EVENT_OF_THE_ADDRESS -> {
                long id = fake.callsOf(Function.RDMA_BIND_ADDR).getFirst().a();
                fake.happens(CmEvent.Type.DEVICE_REMOVAL, id, 0);
            }
            case EVENT_OF_THE_CONNECTION -> {
                long id = fake.callsOf(Function.RDMA_CONNECT).getFirst().a();
                fake.happens(CmEvent.Type.DEVICE_REMOVAL, id, 0);
            }
            case FAILING_POST, FAILING_WAIT -> fake.fastResult = SystemErrors.EIO;
            case FAILING_CHANGE_OF_STATE -> fake.failures.put(Function.IBV_MODIFY_QP, SystemErrors.EIO);
        }
    }

    @ParameterizedTest
    @EnumSource(Notice.class)
    void aDeviceThatIsRemovedEndsEveryConnectionAndEachRequestOnce(Notice notice) throws Exception {
        endpoint.connected();
        endpoint.pair.postReceive(endpoint.receive(1));
        endpoint.pair.postReceive(endpoint.receive(2));
        SendWorkRequest unsignaled = endpoint.send(3);
        unsignaled.signaled(false);
        endpoint.pair.postSend(unsignaled);
        remove(notice);
        if (notice == Notice.FAILING_POST) {
            endpoint.pair.postSend(endpoint.send(4));
        } else if (notice == Notice.FAILING_CHANGE_OF_STATE) {
            endpoint.pair.toError();
        } else {
            fake.fastResult = notice == Notice.FAILING_WAIT ? SystemErrors.EIO : 0;
            endpoint.device.vector(0).awaitWork(60_000_000_000L);
        }
        endpoint.await(() -> endpoint.events.contains("disconnected"));
        endpoint.progress();
        List<String> expected = new ArrayList<>(List.of(
                "RECEIVE 1 WORK_REQUEST_FLUSHED",
                "RECEIVE 2 WORK_REQUEST_FLUSHED",
                "SEND 3 WORK_REQUEST_FLUSHED",
                "established",
                "disconnected"));
        if (notice == Notice.FAILING_POST) {
            expected.add("SEND 4 WORK_REQUEST_FLUSHED");
        }
        assertThat(endpoint.events).containsExactlyInAnyOrderElementsOf(expected);
        assertThat(endpoint.pair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(log.lines())
                .containsOnlyOnce("WARNING: RDMA device fake0 was removed or has failed: its connections"
                        + " end; start again when it is back");

        endpoint.events.clear();
        endpoint.pair.postSend(endpoint.send(5));
        endpoint.pair.postReceive(endpoint.receive(6));
        endpoint.progress();
        assertThat(endpoint.events)
                .containsExactlyInAnyOrder("SEND 5 WORK_REQUEST_FLUSHED", "RECEIVE 6 WORK_REQUEST_FLUSHED");
    }

    @Test
    void whatIsAskedOfADeviceThatIsGoneIsRefusedInOneLine() throws Exception {
        fake.deviceHappens(AsyncEvents.DEVICE_FATAL, 0);
        endpoint.await(() -> endpoint.pair.state() == QueuePairState.ERROR);
        assertRemoved(() -> endpoint.device.allocateProtectionDomain());
        assertRemoved(() -> endpoint.device.createCompletionQueue(4, 0));
        assertRemoved(() -> endpoint.device.createQueuePair(
                endpoint.domain, new QueuePairOptions(endpoint.queue, endpoint.queue, 1, 1, 1, 0, null)));
        assertRemoved(
                () -> endpoint.device.connect(endpoint.pair, FakeEndpoint.PEER, FakeEndpoint.PARAMETERS, endpoint));
        assertRemoved(() -> endpoint.device.listen(4420, request -> {}));
        assertRemoved(() -> endpoint.domain.register(Arena.ofAuto().allocate(8), Set.of()));
    }

    private static void assertRemoved(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll("the device was removed", "fake0")
                .hasMessageNotContaining("\n");
    }

    @Test
    void aConnectionThatIsNotEstablishedYetFails() throws Exception {
        fake.answers = false;
        endpoint.device.connect(endpoint.pair, FakeEndpoint.PEER, FakeEndpoint.PARAMETERS, endpoint);
        fake.deviceHappens(AsyncEvents.DEVICE_FATAL, 0);
        endpoint.await(() -> !endpoint.events.isEmpty());
        assertThat(endpoint.events).containsExactly("failed: the device was removed");
    }

    @Test
    void aPortThatGoesDownAndUpIsTold() {
        fake.deviceHappens(AsyncEvents.PORT_ACTIVE, 1);
        fake.deviceHappens(AsyncEvents.PORT_ERR, 1);
        fake.deviceHappens(AsyncEvents.PORT_ERR, 1);
        fake.deviceHappens(AsyncEvents.PORT_ACTIVE, 1);
        endpoint.await(() -> log.lines().size() == 2);
        assertThat(log.lines())
                .containsExactly(
                        "WARNING: port 1 of RDMA device fake0 is down: connections on it end unless it comes up soon;"
                                + " look at its link (rdma link, ip link)",
                        "INFO: port 1 of RDMA device fake0 is up again");
    }

    @Test
    void anotherHardwareAddressIsToldAndTheConnectionGoesOn() throws Exception {
        endpoint.connected();
        long id = fake.callsOf(Function.RDMA_CONNECT).getFirst().a();
        fake.happens(CmEvent.Type.ADDR_CHANGE, id, 0);
        endpoint.await(() -> !log.lines().isEmpty());
        assertThat(log.lines().getFirst()).contains("WARNING", "fake0", "192.0.2.2 port 4420", "connect again");
        assertThat(endpoint.pair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
    }

    @Test
    void aListenerWhoseInterfaceHasAnotherHardwareAddressListensAgain() throws Exception {
        try (Listener listener = endpoint.device.listen(4420, request -> {})) {
            long first = listening();
            fake.failures.put(Function.RDMA_LISTEN, SystemErrors.EADDRNOTAVAIL);
            fake.happens(CmEvent.Type.ADDR_CHANGE, first, 0);
            endpoint.await(() -> !log.lines().isEmpty());
            fake.failures.clear();
            endpoint.await(() -> log.lines().size() == 2);
            assertThat(log.lines().getFirst()).contains("WARNING", "192.0.2.1 port 4420", "EADDRNOTAVAIL");
            assertThat(log.lines().getLast()).contains("INFO", "listening on 192.0.2.1 port 4420 again");
            long again = listening();
            assertThat(again).isNotEqualTo(first);
            assertThat(address(again)).isEqualTo(listener.localAddress());
            assertThat(destroyed()).contains(first).doesNotContain(again);
        }
        assertThat(destroyed()).contains(listening());
    }

    @Test
    void whoIsAskedForWhileTheListenerClosesIsNotKept() throws Exception {
        Listener listener = endpoint.device.listen(4420, request -> {});
        long listening = listening();
        fake.onAcknowledge = listener::close;
        long asking = fake.isAskedFor(listening);
        endpoint.await(() -> destroyed().contains(asking));
        assertThat(destroyed()).contains(listening);
    }

    @Test
    void anEventThatIsNotKnownIsAcknowledgedAndLeftAlone() throws Exception {
        endpoint.connected();
        int before = fake.callsOf(Function.RDMA_ACK_CM_EVENT).size();
        long id = fake.callsOf(Function.RDMA_CONNECT).getFirst().a();
        fake.happens(CmEvent.Type.OTHER, id, 0);
        endpoint.await(() -> fake.callsOf(Function.RDMA_ACK_CM_EVENT).size() > before);
        endpoint.progress();
        assertThat(endpoint.events).containsExactly("established");
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void aCompletionQueueThatTheDeviceGivesUpEndsItsRequests() throws Exception {
        endpoint.connected();
        endpoint.pair.postReceive(endpoint.receive(1));
        endpoint.pair.postSend(endpoint.send(2));
        fake.deviceHappens(
                AsyncEvents.CQ_ERR, fake.created(Function.IBV_CREATE_CQ).getFirst());
        endpoint.await(() -> endpoint.events.size() == 3);
        assertThat(endpoint.events)
                .containsExactlyInAnyOrder(
                        "established", "RECEIVE 1 WORK_REQUEST_FLUSHED", "SEND 2 WORK_REQUEST_FLUSHED");
        fake.completes(fake.sendIds.getFirst(), 0, endpoint.pair.number()); // late, and not told twice
        endpoint.progress();
        assertThat(endpoint.events).hasSize(3);
    }

    /** The kernel's file of events is in error from then on: a thread that went on waiting would never sleep. */
    @Test
    void theThreadOfDeviceEventsEndsWithTheDevice() {
        fake.failures.put(Function.IBV_GET_ASYNC_EVENT, SystemErrors.EIO);
        fake.deviceHappens(AsyncEvents.PORT_ACTIVE, 1);
        endpoint.await(() -> endpoint.pair.state() == QueuePairState.ERROR);
        endpoint.await(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals("nvmf4j device events")));
        assertThat(fake.callsOf(Function.IBV_GET_ASYNC_EVENT)).hasSize(1);
    }

    private long listening() {
        return fake.callsOf(Function.RDMA_LISTEN).getLast().a();
    }

    private List<Long> destroyed() {
        return fake.callsOf(Function.RDMA_DESTROY_ID).stream().map(Call::a).toList();
    }

    private static InetSocketAddress address(long id) {
        return SocketAddresses.read(RdmaCore.MEMORY, id + Abi.RdmaCmId.ROUTE__ADDR__SRC_ADDR)
                .socketAddress();
    }
}
