package org.nvmf4j.verbs.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.CompletionQueue;
import org.nvmf4j.verbs.Connection;
import org.nvmf4j.verbs.ConnectionHandler;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.ConnectionRequest;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.FaultOptions;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePair;
import org.nvmf4j.verbs.QueuePairOptions;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.QuietLog;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;

/** What is peculiar to this provider; that it keeps the verbs contract is tested by the contract suite. */
class LoopbackProviderTest {
    private static final InetAddress SOMEWHERE = InetAddress.ofLiteral("127.0.0.1");

    @Test
    void isFoundByItsNameButNeverTakenByItself() throws Exception {
        try (Device device = Device.open("loopback", DeviceOptions.towards(SOMEWHERE))) {
            assertThat(device.attributes().provider()).isEqualTo("loopback");
        }
        assertThat(new LoopbackProvider().canOpen(DeviceOptions.towards(SOMEWHERE)))
                .isFalse();
    }

    @Test
    void refusesFaultsAndPcapFiles() {
        DeviceOptions options = DeviceOptions.towards(SOMEWHERE);
        assertThatThrownBy(() -> Device.open("loopback", options.withFaults(new FaultOptions(0.1, 0, 0, 0, 1))))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("faults");
        assertThatThrownBy(() -> Device.open("loopback", options.withPcapFile(Path.of("x.pcap"))))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("pcap");
    }

    @Test
    void givesEachDeviceAnAddressOfItsOwn() throws Exception {
        InetAddress address;
        try (Device one = Device.open("loopback", DeviceOptions.towards(SOMEWHERE));
                Device two = Device.open("loopback", DeviceOptions.towards(SOMEWHERE))) {
            address = one.attributes().localAddress();
            assertThat(address).isNotEqualTo(two.attributes().localAddress()).isNotEqualTo(SOMEWHERE);
            assertThatThrownBy(() -> Device.open("loopback", DeviceOptions.at(address)))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining(address.getHostAddress());
        }
        try (Device again = Device.open("loopback", DeviceOptions.at(address))) {
            assertThat(again.attributes().localAddress()).isEqualTo(address);
        }
    }

    @Test
    void grantsWhatIsAskedForInlineUpToItsMost() throws Exception {
        try (Device device = Device.open("loopback", DeviceOptions.towards(SOMEWHERE))) {
            CompletionQueue queue = device.createCompletionQueue(8, 0);
            ProtectionDomain domain = device.allocateProtectionDomain();
            for (int[] askedAndGranted : new int[][] {{0, 0}, {1, 1}, {64, 64}, {1024, 1024}, {4096, 1024}}) {
                QueuePairOptions options = new QueuePairOptions(queue, queue, 1, 1, 1, askedAndGranted[0], null);
                assertThat(device.createQueuePair(domain, options).inlineBytes())
                        .isEqualTo(askedAndGranted[1]);
            }
        }
    }

    @Test
    void carriesAMessageBetweenTwoDevices() throws Exception {
        try (Pair pair = new Pair();
                Arena arena = Arena.ofShared()) {
            pair.register(arena.allocate(4096), arena.allocate(4096).fill((byte) 7));
            pair.send();
            assertThat(pair.targetQueue.poll(8, c -> assertThat(c.lengthBytes()).isEqualTo(4096)))
                    .isEqualTo(1);
            assertThat(pair.hostQueue.poll(8, c -> assertThat(c.isSuccess()).isTrue()))
                    .isEqualTo(1);
            assertThat(pair.to().segment().get(ValueLayout.JAVA_BYTE, 4095)).isEqualTo((byte) 7);
        }
    }

    @Test
    void memoryThatIsGoneEndsOnlyItsConnection() throws Exception {
        try (Pair pair = new Pair();
                QuietLog quiet = new QuietLog(Responder.class)) {
            try (Arena arena = Arena.ofShared()) {
                pair.register(arena.allocate(4096), arena.allocate(4096));
            }
            pair.send();
            assertThat(pair.hosts.state()).isEqualTo(QueuePairState.ERROR);
            assertThat(pair.targets.state()).isEqualTo(QueuePairState.ERROR);
            List<WorkCompletionStatus> statuses = new ArrayList<>();
            pair.targetQueue.poll(8, c -> statuses.add(c.status()));
            pair.hostQueue.poll(8, c -> statuses.add(c.status()));
            assertThat(statuses)
                    .containsExactly(
                            WorkCompletionStatus.LOCAL_PROTECTION_ERROR, WorkCompletionStatus.REMOTE_OPERATION_ERROR);
            assertThat(quiet.messages()).hasSize(1);
        }
    }

    /** Two connected queue pairs on two devices, driven by the test. */
    private static final class Pair implements AutoCloseable {
        private final Device target = Device.open("loopback", DeviceOptions.towards(SOMEWHERE));
        private final Device host = Device.open(
                "loopback", DeviceOptions.towards(target.attributes().localAddress()));
        private final CompletionQueue targetQueue = target.createCompletionQueue(8, 0);
        private final CompletionQueue hostQueue = host.createCompletionQueue(8, 0);
        private final ProtectionDomain targetDomain = target.allocateProtectionDomain();
        private final ProtectionDomain hostDomain = host.allocateProtectionDomain();
        private final QueuePair targets =
                target.createQueuePair(targetDomain, new QueuePairOptions(targetQueue, targetQueue, 4, 4, 1, 0, null));
        private final QueuePair hosts =
                host.createQueuePair(hostDomain, new QueuePairOptions(hostQueue, hostQueue, 4, 4, 1, 0, null));
        private final List<MemoryRegion> regions = new ArrayList<>();

        Pair() throws VerbsException {
            ConnectionParameters parameters = new ConnectionParameters(new byte[0], 1, 1, 7, 7);
            Events events = new Events();
            InetSocketAddress address = target.listen(0, request -> accept(request, targets, parameters, events))
                    .localAddress();
            host.connect(hosts, address, parameters, events);
            drive();
            assertThat(events.names).containsExactly("established", "established");
        }

        void drive() {
            while (host.vector(0).progress() + target.vector(0).progress() > 0) {
                Thread.onSpinWait();
            }
        }

        void register(MemorySegment to, MemorySegment from) throws VerbsException {
            regions.add(targetDomain.register(to, EnumSet.of(AccessFlag.LOCAL_WRITE)));
            regions.add(hostDomain.register(from, EnumSet.noneOf(AccessFlag.class)));
        }

        MemoryRegion to() {
            return regions.getFirst();
        }

        /** Sends one message from region to region. */
        void send() {
            ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
            receive.setSge(to(), 0, 4096);
            targets.postReceive(receive);
            SendWorkRequest send = new SendWorkRequest(1);
            send.setSge(regions.getLast(), 0, 4096);
            hosts.postSend(send);
            drive();
        }

        @Override
        public void close() {
            host.close();
            target.close();
        }
    }

    private static void accept(
            ConnectionRequest request,
            QueuePair queuePair,
            ConnectionParameters parameters,
            ConnectionHandler handler) {
        try {
            request.accept(queuePair, parameters, handler);
        } catch (VerbsException e) {
            throw new AssertionError(e);
        }
    }

    private static final class Events implements ConnectionHandler {
        private final List<String> names = new ArrayList<>();

        @Override
        public void onEstablished(Connection connection, ConnectionParameters peer) {
            names.add("established");
        }

        @Override
        public void onRejected(Connection connection, int reason, byte[] privateData) {
            names.add("rejected");
        }

        @Override
        public void onFailed(Connection connection, VerbsException cause) {
            names.add("failed: " + cause.getMessage());
        }

        @Override
        public void onDisconnected(Connection connection) {
            names.add("disconnected");
        }
    }
}
