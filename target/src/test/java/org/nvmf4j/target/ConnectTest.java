package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ConnectCommand;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.target.RawQueue.Answer;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.verbs.RejectReason;
import org.nvmf4j.verbs.VerbsException;

/** Connection management and the Connect command: every refusal with its reason, and that it costs nobody else anything. */
class ConnectTest {
    private static final int DNR = NvmeStatus.DNR;

    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);

    private RawHost open() throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, new NullBackend(1 << 20)));
        return new RawHost(
                TargetOptions.builder().maxIoQueues(4).maxQueueSize(64).build(), 1, subsystem);
    }

    static Stream<Arguments> badRequests() {
        return Stream.of(
                Arguments.of("qid", request(5, 32, 31), 16, RdmaPrivateData.INVALID_QID),
                Arguments.of("hsqsize 0", request(1, 32, 0), 16, RdmaPrivateData.INVALID_HSQSIZE),
                Arguments.of("hsqsize above the queue", request(1, 65, 64), 16, RdmaPrivateData.INVALID_HSQSIZE),
                Arguments.of("hsqsize above an admin queue", request(0, 33, 32), 16, RdmaPrivateData.INVALID_HSQSIZE),
                Arguments.of("hsqsize at the edge", request(1, 1, 0xffff), 16, RdmaPrivateData.INVALID_HSQSIZE),
                Arguments.of("hrqsize 0", request(1, 0, 31), 16, RdmaPrivateData.INVALID_HRQSIZE),
                Arguments.of("no READs", request(0, 32, 31), 0, RdmaPrivateData.INVALID_IRD),
                Arguments.of("recfmt", new byte[] {1, 0, 0, 0}, 16, RdmaPrivateData.INVALID_RECFMT));
    }

    private static byte[] request(int qid, int hrqsize, int hsqsizeZeroBased) {
        return new RdmaPrivateData.Request(qid, hrqsize, hsqsizeZeroBased, 0).toBytes();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("badRequests")
    void rejectsConnectionsWithTheStatusThatNamesTheFault(String what, byte[] privateData, int reads, int status)
            throws VerbsException, NvmeFormatException {
        try (RawHost host = open()) {
            RawQueue queue = host.tryConnect(32, privateData, reads);
            assertThat(queue.rejectReason).isEqualTo(RejectReason.CONSUMER_DEFINED);
            assertThat(RdmaPrivateData.Reject.parse(queue.rejectData).status())
                    .as(what)
                    .isEqualTo(status);
            assertThat(host.target.statistics().connectionsRejected()).isEqualTo(1);
            assertThat(host.connectAdmin().established).isTrue();
        }
    }

    @Test
    void rejectsConnectionsThatTakeMoreMemoryThanAllowed() throws VerbsException, NvmeFormatException {
        subsystem.addNamespace(Namespace.of(1, new NullBackend(1 << 20)));
        try (RawHost host =
                new RawHost(TargetOptions.builder().queueMemoryBytes(100_000).build(), 1, subsystem)) {
            RawQueue first = host.connectQueuePair(0, 32);
            RawQueue second = host.tryConnect(32, RawHost.privateData(0, 32), 16);
            RawQueue third = host.tryConnect(32, RawHost.privateData(0, 32), 16);
            assertThat(second.established && third.established).isFalse();
            assertThat(RdmaPrivateData.Reject.parse(third.rejectData).status()).isEqualTo(RdmaPrivateData.NO_RESOURCES);
            first.disconnect();
            second.disconnect();
            host.pumpUntil("end of the queues", () -> host.target.statistics().queues() == 0);
            host.connectQueuePair(0, 32);
        }
    }

    @Test
    void refusesConnectsWithTheFieldToBlame() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue queue = host.connectQueuePair(0, 32);
            ConnectData good = RawHost.connectData(0xffff);
            assertInvalid(host.sendConnect(queue, 1, 31, 0, good), false, ConnectCommand.QID_OFFSET);
            assertInvalid(host.sendConnect(queue, 0, 0, 0, good), false, ConnectCommand.SQSIZE_OFFSET);
            assertInvalid(host.sendConnect(queue, 0, 32, 0, good), false, ConnectCommand.SQSIZE_OFFSET);
            assertInvalid(host.sendConnect(queue, 0, 0xffff, 0, good), false, ConnectCommand.SQSIZE_OFFSET);
            assertInvalid(host.sendConnect(queue, 0, 31, 0, RawHost.connectData(1)), true, ConnectData.CNTLID_OFFSET);
            assertInvalid(
                    host.sendConnect(
                            queue,
                            0,
                            31,
                            0,
                            new ConnectData(RawHost.HOST_ID, 0xffff, "nqn.2025-01.org.example:none", RawHost.HOST_NQN)),
                    true,
                    ConnectData.SUBNQN_OFFSET);
            assertInvalid(
                    host.sendConnect(queue, 0, 31, 0, new ConnectData(RawHost.HOST_ID, 0xffff, "", RawHost.HOST_NQN)),
                    true,
                    ConnectData.SUBNQN_OFFSET);
            assertInvalid(
                    host.sendConnect(
                            queue, 0, 31, 0, new ConnectData(RawHost.HOST_ID, 0xffff, RawHost.SUBSYSTEM_NQN, "x")),
                    true,
                    ConnectData.HOSTNQN_OFFSET);
            assertInvalid(
                    host.sendConnect(
                            queue,
                            0,
                            31,
                            0,
                            new ConnectData(new UUID(0, 0), 0xffff, RawHost.SUBSYSTEM_NQN, RawHost.HOST_NQN)),
                    true,
                    ConnectData.HOSTID_OFFSET);
            assertThat(host.sendConnect(queue, 0, 31, 0, good).status()).isZero();
            assertThat(host.sendConnect(queue, 0, 31, 0, good).status())
                    .isEqualTo(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.MORE | DNR);
        }
    }

    private static void assertInvalid(Answer answer, boolean inData, int offset) {
        assertThat(answer.status()).isEqualTo(NvmeStatus.CONNECT_INVALID_PARAMETERS | DNR);
        assertThat(answer.result()).isEqualTo(ConnectCommand.invalidParameter(inData, offset));
    }

    @Test
    void takesNothingButConnectBeforeIt() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue queue = host.connectQueuePair(0, 32);
            assertThat(host.plain(queue, AdminOpcode.IDENTIFY, 0).status()).isEqualTo(NvmeStatus.INVALID_OPCODE | DNR);
            assertThat(host.getProperty(queue, ControllerProperties.CAP, 8).status())
                    .isEqualTo(NvmeStatus.INVALID_OPCODE | DNR);
            int id = queue.nextCommandId();
            ConnectCommand.write(queue.memory(), queue.capsule(), id, 0, 31, 0, 0);
            queue.keyed(0, 1020, true);
            queue.send();
            Answer shortData = queue.await(id);
            assertThat(shortData.status()).isEqualTo(NvmeStatus.DATA_SGL_LENGTH_INVALID | DNR);
            assertThat(shortData.invalidatedRkey()).isNotZero();
        }
    }

    @Test
    void letsInHostsThatAreAllowed() throws VerbsException {
        subsystem.allowHosts(Set.of("nqn.2025-01.org.example:other"));
        try (RawHost host = open()) {
            RawQueue queue = host.connectQueuePair(0, 32);
            assertThat(host.sendConnect(queue, 0, 31, 0, RawHost.connectData(0xffff))
                            .status())
                    .isEqualTo(NvmeStatus.CONNECT_INVALID_HOST | DNR);
            subsystem.allowHosts(Set.of(RawHost.HOST_NQN));
            assertThat(host.sendConnect(queue, 0, 31, 0, RawHost.connectData(0xffff))
                            .status())
                    .isZero();
        }
    }

    @Test
    void checksWhoseControllerAnIoQueueJoins() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectQueuePair(0, 32);
            host.sendConnect(admin, 0, 31, 0, RawHost.connectData(0xffff));
            RawQueue io = host.connectQueuePair(1, 32);
            assertThat(host.sendConnect(io, 1, 31, 0, RawHost.connectData(1)).status())
                    .as("before the controller is enabled")
                    .isEqualTo(NvmeStatus.COMMAND_SEQUENCE_ERROR | DNR);
            host.enable(admin);
            assertInvalid(host.sendConnect(io, 1, 31, 0, RawHost.connectData(2)), true, ConnectData.CNTLID_OFFSET);
            assertInvalid(
                    host.sendConnect(
                            io,
                            1,
                            31,
                            0,
                            new ConnectData(
                                    RawHost.HOST_ID, 1, RawHost.SUBSYSTEM_NQN, "nqn.2025-01.org.example:thief")),
                    true,
                    ConnectData.HOSTNQN_OFFSET);
            assertInvalid(
                    host.sendConnect(
                            io, 1, 31, 0, new ConnectData(new UUID(1, 1), 1, RawHost.SUBSYSTEM_NQN, RawHost.HOST_NQN)),
                    true,
                    ConnectData.HOSTID_OFFSET);
            assertThat(host.sendConnect(io, 1, 31, 0, RawHost.connectData(1)).status())
                    .isZero();
            RawQueue again = host.connectQueuePair(1, 32);
            assertThat(host.sendConnect(again, 1, 31, 0, RawHost.connectData(1)).status())
                    .as("a queue ID that is in use")
                    .isEqualTo(NvmeStatus.COMMAND_SEQUENCE_ERROR | DNR);
            io.disconnect();
            host.pumpUntilQuiet();
            assertThat(host.sendConnect(again, 1, 31, 0, RawHost.connectData(1)).status())
                    .as("a queue ID that is free again")
                    .isZero();
        }
    }

    @Test
    void takesConnectDataInTheCapsuleOfAnIoQueue() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectQueuePair(1, 32);
            byte[] data = new byte[ConnectData.SIZE_BYTES];
            RawHost.connectData(1).write(MemorySegment.ofArray(data), 0);
            int id = io.nextCommandId();
            ConnectCommand.write(io.memory(), io.capsule(), id, 1, 31, ConnectCommand.CATTR_DISABLE_SQ_FLOW_CONTROL, 0);
            io.send(io.inCapsule(data));
            Answer answer = io.await(id);
            assertThat(answer.status()).isZero();
            assertThat(answer.sqHead()).as("without flow control").isEqualTo(0xffff);
            assertThat(answer.sqId()).isEqualTo(1);
        }
    }

    @Test
    void countsTheQueueHeadAroundTheQueue() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectQueuePair(1, 8);
            // A queue of 5 entries on a queue pair that could hold 8.
            assertThat(host.sendConnect(io, 1, 4, 0, RawHost.connectData(1)).sqHead())
                    .isEqualTo(1);
            for (int i = 2; i < 20; i++) {
                assertThat(host.plain(io, 0, 1).sqHead()).isEqualTo(i % 5);
            }
        }
    }

    @Test
    void endsAQueueWhoseCapsuleIsTooShortOrTooLong() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue healthy = host.connectAdmin();
            RawQueue cut = host.connectQueuePair(0, 32);
            cut.send(63);
            host.pumpUntil("end of the connection", () -> cut.ended);
            RawQueue fat = host.connectQueuePair(0, 32);
            fat.send(65);
            host.pumpUntil("end of the connection", () -> fat.ended || fat.broken);
            host.pumpUntil("end of the queues", () -> host.target.statistics().queues() == 1);
            assertThat(host.getProperty(healthy, ControllerProperties.CSTS, 4).result())
                    .isEqualTo(1);
            assertThat(host.target.statistics().connectionsFailed()).isEqualTo(2);
        }
    }

    @Test
    void endsTheIoQueuesWithTheAdminQueue() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            RawQueue io = host.connectIo(1, 32);
            RawQueue otherAdmin = host.connectAdmin();
            admin.disconnect();
            host.pumpUntil("end of the I/O queue", () -> io.ended);
            host.pumpUntil("end of the queues", () -> host.target.statistics().queues() == 1);
            assertThat(host.plain(otherAdmin, AdminOpcode.KEEP_ALIVE, 0).status())
                    .isNotZero();
        }
    }

    @Test
    void endsAQueueThatDoesNotConnect() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue queue = host.connectQueuePair(0, 32);
            host.runTimers(2_000_000_000L);
            assertThat(queue.ended).isFalse();
            host.runTimers(20_000_000_000L);
            host.pumpUntil("end of the connection", () -> queue.ended);
        }
    }

    @Test
    void hasNoIoQueuesInADiscoveryController() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin(Nqn.DISCOVERY, 0);
            RawQueue io = host.connectQueuePair(1, 32);
            assertInvalid(
                    host.sendConnect(
                            io, 1, 31, 0, new ConnectData(RawHost.HOST_ID, 1, Nqn.DISCOVERY, RawHost.HOST_NQN)),
                    false,
                    ConnectCommand.QID_OFFSET);
        }
    }

    @Test
    void forgetsAConnectionThatIsWithdrawn() throws VerbsException {
        try (RawHost host = open()) {
            for (int cycles = 0; cycles < 4; cycles++) {
                RawQueue queue = new RawQueue(host, host.address, 32, RawHost.privateData(0, 32), 16);
                for (int i = 0; i < cycles; i++) {
                    host.targetLanes.getFirst().doWork();
                }
                queue.connection.close();
                host.pumpUntil(
                        "end of the queue", () -> host.target.statistics().queues() == 0);
                host.pumpUntilQuiet();
                assertThat(host.target.statistics().queueMemoryBytes()).isZero();
            }
        }
    }
}
