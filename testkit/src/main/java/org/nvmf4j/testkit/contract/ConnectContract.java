package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.net.InetSocketAddress;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.VerbsException;

/** Connection management up to the established connection, or to none. */
interface ConnectContract extends ContractSetup {
    private static byte[] data(int length, int seed) {
        byte[] data = new byte[length];
        for (int i = 0; i < length; i++) {
            data[i] = (byte) (seed + i);
        }
        return data;
    }

    /** Waits for a request that no endpoint accepts by itself. */
    private ConnectionRequest nextRequest() throws VerbsException {
        Fabric fabric = fabric();
        fabric.await("a connection request", () -> !fabric.requests.isEmpty());
        return fabric.requests.removeFirst();
    }

    private ConnectionRequest requestFrom(Endpoint host, ConnectionParameters parameters) throws VerbsException {
        fabric().connect(host, parameters);
        return nextRequest();
    }

    @Test
    default void carriesPrivateDataBothWaysZeroPadded() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        ConnectionRequest request = requestFrom(host, Fabric.parameters(data(32, 1)));
        assertThat(request.parameters().privateData()).isEqualTo(Arrays.copyOf(data(32, 1), 56));
        target.connection = request.accept(target.queuePair, Fabric.parameters(data(100, 50)), target);
        assertThat(target.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        fabric().await("established", () -> host.isEstablished() && target.isEstablished());
        assertThat(host.peer().privateData()).isEqualTo(Arrays.copyOf(data(100, 50), 196));
        assertThat(target.peer().privateData()).isEmpty();
    }

    @Test
    default void carriesAsMuchPrivateDataAsFits() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        assertThatThrownBy(() -> fabric().connect(host, Fabric.parameters(data(57, 1))))
                .isInstanceOf(IllegalArgumentException.class);
        ConnectionRequest request = requestFrom(host, Fabric.parameters(data(56, 1)));
        assertThat(request.parameters().privateData()).isEqualTo(data(56, 1));
        assertThatThrownBy(() -> request.accept(target.queuePair, Fabric.parameters(data(197, 1)), target))
                .isInstanceOf(IllegalArgumentException.class);
        target.connection = request.accept(target.queuePair, Fabric.parameters(data(196, 2)), target);
        fabric().await("established", host::isEstablished);
        assertThat(host.peer().privateData()).isEqualTo(data(196, 2));
    }

    @Test
    default void saysBothAddresses() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        ConnectionRequest request = requestFrom(host, Fabric.PARAMETERS);
        assertThat(request.localAddress()).isEqualTo(fabric().address());
        assertThat(request.remoteAddress().getAddress())
                .isEqualTo(fabric().host.device.attributes().localAddress());
        target.connection = request.accept(target.queuePair, Fabric.PARAMETERS, target);
        fabric().await("established", host::isEstablished);
        assertThat(host.connection().remoteAddress()).isEqualTo(fabric().address());
        assertThat(target.connection().localAddress()).isEqualTo(fabric().address());
        assertThat(target.connection().remoteAddress())
                .isEqualTo(host.connection().localAddress());
        assertThat(host.connection().localAddress()).isEqualTo(request.remoteAddress());
    }

    @Test
    default void bothSidesLearnTheBoundedReadLimits() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        // arguments: responder resources, initiator depth, retries, RNR retries
        ConnectionRequest request = requestFrom(host, new ConnectionParameters(new byte[0], 3, 8, 5, 6));
        assertThat(request.parameters().responderResources()).isEqualTo(3);
        assertThat(request.parameters().initiatorDepth()).isEqualTo(8);
        assertThat(request.parameters().retryCount()).isEqualTo(5);
        assertThat(request.parameters().rnrRetryCount()).isEqualTo(6);
        target.connection = request.accept(target.queuePair, new ConnectionParameters(new byte[0], 4, 5, 7, 7), target);
        fabric().await("established", () -> host.isEstablished() && target.isEstablished());
        assertThat(host.peer().responderResources()).isEqualTo(4);
        assertThat(host.peer().initiatorDepth()).isEqualTo(3);
        assertThat(target.peer().responderResources()).isEqualTo(3);
        assertThat(target.peer().initiatorDepth()).isEqualTo(4);
    }

    @Test
    default void aRejectSaysWhyAndLeavesTheQueuePairUsable() throws Exception {
        Endpoint host = fabric().host.endpoint();
        requestFrom(host, Fabric.PARAMETERS).reject(data(148, 3));
        fabric().await("the reject", () -> !host.events.isEmpty());
        assertThat(host.events).containsExactly("rejected");
        assertThat(host.rejectReason).isEqualTo(RejectReason.CONSUMER_DEFINED);
        assertThat(host.rejectData).isEqualTo(data(148, 3));
        assertThat(host.state()).isEqualTo(QueuePairState.INIT);
        host.connection().close();
        host.connection = null;
        host.events.clear();

        fabric().connect(host, Fabric.PARAMETERS);
        nextRequest().reject(data(2, 7));
        fabric().await("the second reject", () -> !host.events.isEmpty());
        assertThat(Arrays.copyOf(host.rejectData, 2)).isEqualTo(data(2, 7));
        assertThat(Arrays.copyOfRange(host.rejectData, 2, host.rejectData.length))
                .containsOnly(0);
        host.connection().close();
        host.connection = null;
        host.events.clear();

        fabric().link(host, fabric().target.endpoint(), Fabric.PARAMETERS);
        assertThat(host.events).containsExactly("established");
    }

    @Test
    default void aPortWhereNobodyListensRefuses() throws Exception {
        Endpoint host = fabric().host.endpoint();
        fabric().listener.close();
        fabric().connect(host, Fabric.PARAMETERS);
        fabric().await("the refusal", () -> !host.events.isEmpty());
        assertThat(host.events).containsExactly("rejected");
        assertThat(host.rejectReason).isEqualTo(RejectReason.INVALID_SERVICE_ID);
        assertThat(host.state()).isEqualTo(QueuePairState.INIT);
    }

    @Test
    default void anAddressWithoutADeviceFailsInTime() throws Exception {
        Endpoint host = fabric().host.endpoint();
        host.connection = fabric().host
                .device
                .connect(host.queuePair, new InetSocketAddress(nobodysAddress(), 4420), Fabric.PARAMETERS, host);
        fabric().await("the failure", () -> !host.events.isEmpty());
        assertThat(host.events).containsExactly("failed");
        assertThat(host.failure).isNotBlank().doesNotContain("\n");
        fabric().idle();
        assertThat(host.events).hasSize(1);
    }

    @Test
    default void aRequestThatIsNeverAnsweredFailsInTime() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        ConnectionRequest request = requestFrom(host, Fabric.PARAMETERS);
        fabric().await("the failure", () -> !host.events.isEmpty());
        assertThat(host.events).containsExactly("failed");
        assertThat(host.failure).isNotBlank().doesNotContain("\n");
        try {
            target.connection = request.accept(target.queuePair, Fabric.PARAMETERS, target);
            fabric().await("the end of what came too late", () -> !target.events.isEmpty());
            assertThat(target.events).containsExactly("failed");
        } catch (VerbsException e) {
            assertThat(e).hasMessageNotContaining("\n"); // the target knew already
        }
        assertThat(host.events).containsExactly("failed");
    }

    @Test
    default void aRequestIsAnsweredOnce() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        Endpoint other = fabric().target.endpoint();
        ConnectionRequest request = requestFrom(host, Fabric.PARAMETERS);
        target.connection = request.accept(target.queuePair, Fabric.PARAMETERS, target);
        assertThatThrownBy(() -> request.accept(other.queuePair, Fabric.PARAMETERS, other))
                .isInstanceOf(VerbsException.class);
        assertThat(other.state()).isEqualTo(QueuePairState.INIT);
        fabric().await("established", () -> host.isEstablished() && target.isEstablished());

        Endpoint second = fabric().host.endpoint();
        ConnectionRequest rejected = requestFrom(second, Fabric.PARAMETERS);
        rejected.reject(new byte[0]);
        assertThatThrownBy(() -> rejected.accept(other.queuePair, Fabric.PARAMETERS, other))
                .isInstanceOf(VerbsException.class);
    }

    @Test
    default void aRequestMayBeAnsweredLaterAndInAnyOrder() throws Exception {
        Endpoint[] hosts = new Endpoint[5];
        Endpoint[] targets = new Endpoint[5];
        ConnectionRequest[] requests = new ConnectionRequest[5];
        for (int i = 0; i < 5; i++) {
            hosts[i] = fabric().host.endpoint();
            targets[i] = fabric().target.endpoint();
            requests[i] = requestFrom(hosts[i], Fabric.parameters(data(1, i)));
        }
        for (int i = 4; i >= 0; i--) {
            assertThat(requests[i].parameters().privateData()[0]).isEqualTo((byte) i);
            targets[i].connection =
                    requests[i].accept(targets[i].queuePair, Fabric.parameters(data(1, 10 + i)), targets[i]);
        }
        for (int i = 0; i < 5; i++) {
            fabric().await("established", hosts[i]::isEstablished);
            assertThat(hosts[i].peer().privateData()[0]).isEqualTo((byte) (10 + i));
        }
    }

    @Test
    default void theAcceptingSideMaySendAtOnce() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        RegisteredMemory from = fabric().target.memory(5000);
        RegisteredMemory room = fabric().host.memory(5000);
        from.fill(0, 5000, 1);
        host.receive(room, 0, 5000);
        ConnectionRequest request = requestFrom(host, Fabric.PARAMETERS);
        target.connection = request.accept(target.queuePair, Fabric.PARAMETERS, target);
        target.send(from, 0, 5000);
        fabric().awaitSent(target, 1);
        fabric().awaitReceived(host, 1);
        assertThat(target.sent.getFirst().status()).isEqualTo(SUCCESS);
        assertThat(host.events).containsExactly("established");
        room.assertFilled(0, 5000, 1);
    }

    @Test
    default void theAcceptingSideIsEstablishedBeforeItsFirstMessage() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory room = fabric().target.memory(64);
        target.receive(room, 0, 64);
        fabric().acceptWith(target, Fabric.PARAMETERS);
        fabric().connect(host, Fabric.PARAMETERS);
        fabric().await("established", host::isEstablished);
        host.send(from, 0, 64);
        fabric().awaitReceived(target, 1);
        assertThat(target.events).containsExactly("established");
    }

    @Test
    default void aQueuePairConnectsOnce() throws Exception {
        Link link = fabric().link();
        assertThatThrownBy(() -> fabric().host
                        .device
                        .connect(link.host().queuePair, fabric().address(), Fabric.PARAMETERS, link.host()))
                .isInstanceOf(IllegalStateException.class);
        Endpoint connecting = fabric().host.endpoint();
        ConnectionRequest request = requestFrom(connecting, Fabric.PARAMETERS);
        assertThatThrownBy(() -> fabric().host
                        .device
                        .connect(connecting.queuePair, fabric().address(), Fabric.PARAMETERS, connecting))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> request.accept(link.target().queuePair, Fabric.PARAMETERS, link.target()))
                .isInstanceOf(IllegalStateException.class);
        request.reject(new byte[0]);
        fabric().await("the reject", () -> !connecting.events.isEmpty());
    }

    @Test
    default void aPortIsTakenUntilItsListenerIsClosed() throws Exception {
        Device device = fabric().target.device;
        int port;
        try (Listener first = device.listen(0, request -> {})) {
            port = first.localAddress().getPort();
            assertThat(port).isBetween(1, 65_535);
            assertThat(first.localAddress().getAddress())
                    .isEqualTo(device.attributes().localAddress());
            assertThatThrownBy(() -> device.listen(port, request -> {}))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining(Integer.toString(port));
            try (Listener other = device.listen(0, request -> {})) {
                assertThat(other.localAddress().getPort()).isNotEqualTo(port);
            }
        }
        try (Listener again = device.listen(port, request -> {})) {
            assertThat(again.localAddress().getPort()).isEqualTo(port);
        }
    }

    @Test
    default void closingAListenerLeavesItsConnectionsAlone() throws Exception {
        Link link = fabric().link();
        fabric().listener.close();
        fabric().listener.close();
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory to = fabric().target.memory(64);
        Completed done = fabric().awaitSentId(link.host(), link.host().write(from, 0, 64, to, 0));
        assertThat(done.status()).isEqualTo(SUCCESS);
    }

    @Test
    default void aConnectionGivenUpBeforeTheAnswerEndsOnBothSides() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        ConnectionRequest request = requestFrom(host, Fabric.PARAMETERS);
        host.connection().close();
        try {
            target.connection = request.accept(target.queuePair, Fabric.PARAMETERS, target);
            fabric().await("the end", () -> !target.events.isEmpty());
            assertThat(target.events.getLast()).isIn("failed", "disconnected");
            assertThat(target.state()).isEqualTo(QueuePairState.ERROR);
        } catch (VerbsException e) {
            assertThat(e).hasMessageNotContaining("\n"); // the target knew already
        }
        fabric().idle();
        assertThat(host.events).isEmpty();
    }

    @Test
    default void aConnectionClosedWhileTheAnswerIsUnderWayEndsOnBothSides() throws Exception {
        Endpoint host = fabric().host.endpoint();
        Endpoint target = fabric().target.endpoint();
        ConnectionRequest request = requestFrom(host, Fabric.PARAMETERS);
        target.connection = request.accept(target.queuePair, Fabric.PARAMETERS, target);
        host.connection().close();
        host.queuePair.close();
        fabric().await(
                        "the end",
                        () -> !target.events.isEmpty()
                                && !target.events.getLast().equals("established"));
        assertThat(target.events.getLast()).isIn("failed", "disconnected");
        assertThat(target.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(host.events).isEmpty();
    }
}
