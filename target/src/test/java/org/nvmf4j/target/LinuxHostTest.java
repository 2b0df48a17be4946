package org.nvmf4j.target;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.CommandText;
import org.nvmf4j.nvme.ConnectData;
import org.nvmf4j.nvme.FabricsType;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.GetLogPageCommand;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.RawQueue.Answer;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.verbs.VerbsException;

/** Capsules as a Linux host sent them, byte for byte but for the addresses and keys of its memory. */
class LinuxHostTest {
    private static final int SQE_BYTES = SubmissionQueueEntry.SIZE_BYTES;

    @SuppressWarnings("ArrayRecordComponent") // read once
    private record Capsule(int qid, byte[] bytes) {}

    private static List<Capsule> session(String name) throws IOException {
        InputStream resource =
                Objects.requireNonNull(LinuxHostTest.class.getResourceAsStream("linux-host-capsules.txt"));
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(resource, US_ASCII))) {
            return reader.lines()
                    .map(line -> line.split(" "))
                    .filter(fields -> fields[0].equals(name))
                    .map(fields -> new Capsule(Integer.parseInt(fields[1]), bytes(fields)))
                    .toList();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static byte[] bytes(String[] fields) {
        byte[] given = HexFormat.of().parseHex(fields[2]);
        return fields.length == 3
                ? given
                : Arrays.copyOf(given, given.length + Integer.parseInt(fields[3].substring(1)));
    }

    @Test
    void servesADiscovery() throws IOException {
        replay("discovery", Nqn.DISCOVERY);
    }

    @Test
    void servesAConnectionWithRegisteredMemoryThatReadsAndWritesAndEnds() throws IOException {
        replay("registered", RawHost.SUBSYSTEM_NQN);
    }

    @Test
    void servesAConnectionWithoutMemoryRegistration() throws IOException {
        replay("unregistered", RawHost.SUBSYSTEM_NQN);
    }

    private static void replay(String session, String subsystemNqn) throws IOException {
        List<Capsule> capsules = session(session);
        assertThat(capsules).isNotEmpty();
        try (RawHost host = RawHost.withNamespace(Namespace.of(1, new MemoryBackend(64 << 20)))) {
            Map<Integer, RawQueue> queues = new HashMap<>();
            for (Capsule capsule : capsules) {
                RawQueue queue = queues.get(capsule.qid);
                if (queue == null) {
                    queue = connect(host, capsule.qid);
                    queues.put(capsule.qid, queue);
                }
                send(host, queue, capsule, subsystemNqn);
            }
        }
    }

    private static RawQueue connect(RawHost host, int qid) throws VerbsException {
        return host.connectQueuePair(qid, qid == 0 ? 32 : 128);
    }

    private static void send(RawHost host, RawQueue queue, Capsule capsule, String subsystemNqn) {
        MemorySegment memory = queue.memory();
        long at = queue.capsule();
        MemorySegment.copy(capsule.bytes, 0, memory, ValueLayout.JAVA_BYTE, at, capsule.bytes.length);
        long sgl = at + SubmissionQueueEntry.DPTR_OFFSET;
        if (SglDescriptor.isKeyed(memory, sgl) && SglDescriptor.lengthBytes(memory, sgl) > 0) {
            queue.keyed(0, (int) SglDescriptor.lengthBytes(memory, sgl), SglDescriptor.isInvalidate(memory, sgl));
        }
        if (isConnect(memory, at)) {
            ConnectData data = new ConnectData(
                    RawHost.HOST_ID, capsule.qid == 0 ? ConnectData.CNTLID_DYNAMIC : 1, subsystemNqn, RawHost.HOST_NQN);
            if (capsule.bytes.length > SQE_BYTES) {
                data.write(memory, at + SQE_BYTES);
            } else {
                data.write(queue.data.segment(), 0);
            }
        }
        if (isPropertySet(memory, at)) {
            // CC.CSS as the host takes it from this target's CAP.
            memory.set(ValueLayout.JAVA_BYTE, at + 48, (byte) (capsule.bytes[48] & 0x8f));
        }
        String command = CommandText.describe(memory, at, capsule.qid == 0);
        int expected = expectedStatus(memory, at, capsule.qid == 0);
        boolean invalidates = SglDescriptor.isInvalidate(memory, sgl);
        int id = SubmissionQueueEntry.commandId(memory, at);
        boolean held = capsule.qid == 0 && capsule.bytes[0] == AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST;
        queue.send(capsule.bytes.length);
        if (held) {
            host.pumpUntilQuiet();
            assertThat(queue.isAnswered(id)).isFalse();
            return;
        }
        Answer answer = queue.await(id);
        assertThat(NvmeStatus.describe(answer.status() & ~NvmeStatus.MORE))
                .as(command)
                .isEqualTo(NvmeStatus.describe(expected));
        assertThat(answer.invalidatedRkey() != 0).as("invalidate: " + command).isEqualTo(invalidates);
    }

    private static boolean isConnect(MemorySegment memory, long at) {
        return SubmissionQueueEntry.opcode(memory, at) == AdminOpcode.FABRICS
                && FabricsType.fctype(memory, at) == FabricsType.CONNECT;
    }

    private static boolean isPropertySet(MemorySegment memory, long at) {
        return SubmissionQueueEntry.opcode(memory, at) == AdminOpcode.FABRICS
                && FabricsType.fctype(memory, at) == FabricsType.PROPERTY_SET;
    }

    /** Success, except for what this target does not say that it has (ANA), and a read behind the end. */
    private static int expectedStatus(MemorySegment memory, long at, boolean admin) {
        int opcode = SubmissionQueueEntry.opcode(memory, at);
        if (admin
                && opcode == AdminOpcode.GET_LOG_PAGE
                && GetLogPageCommand.lid(memory, at) == LogPage.ASYMMETRIC_NAMESPACE_ACCESS) {
            return NvmeStatus.INVALID_LOG_PAGE | NvmeStatus.DNR;
        }
        if (admin
                && opcode == AdminOpcode.SET_FEATURES
                && FeaturesCommand.fid(memory, at) == Feature.ASYNCHRONOUS_EVENT_CONFIGURATION
                && FeaturesCommand.value(memory, at) == 0x900) {
            return NvmeStatus.INVALID_FIELD | NvmeStatus.DNR;
        }
        if (!admin && opcode == IoOpcode.READ && ReadWriteCommand.slba(memory, at) == 0x7fff_ffff) {
            return NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR;
        }
        return NvmeStatus.SUCCESS;
    }
}
