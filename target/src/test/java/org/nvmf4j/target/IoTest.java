package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.nvme.Cns;
import org.nvmf4j.nvme.DatasetManagementCommand;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.IdentifyController;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.LogPage;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SmartLog;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.RawQueue.Answer;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.verbs.VerbsException;

/** Commands of an I/O queue: what they do, and every reason not to do it. */
class IoTest {
    private static final int DNR = NvmeStatus.DNR;
    private static final int BLOCKS = 32768;

    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
    private final ManualBackend manual = new ManualBackend(1 << 20);

    private RawHost open() throws VerbsException {
        return open(TargetOptions.defaults());
    }

    private RawHost open(TargetOptions options) throws VerbsException {
        subsystem.addNamespace(Namespace.of(1, new MemoryBackend(BLOCKS * 512L)));
        subsystem.addNamespace(
                Namespace.builder(2, new MemoryBackend(1 << 20)).readOnly(true).build());
        subsystem.addNamespace(Namespace.of(3, new NullBackend(1L << 40)));
        subsystem.addNamespace(Namespace.of(4, manual));
        return new RawHost(options, 1, subsystem);
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static void assertStatus(Answer answer, int status) {
        assertThat(NvmeStatus.describe(answer.status() & ~NvmeStatus.MORE)).isEqualTo(NvmeStatus.describe(status));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 512, 1024, 4096, 8192, 16384})
    void writesInTheCapsuleUpToItsSizeAndByReadBeyond(int inCapsuleBytes) throws VerbsException {
        try (RawHost host =
                open(TargetOptions.builder().inCapsuleDataBytes(inCapsuleBytes).build())) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            for (int bytes = 512; bytes <= 32768; bytes *= 2) {
                byte[] data = random(bytes);
                Answer answer = bytes <= inCapsuleBytes
                        ? host.writeInCapsule(io, 1, bytes / 512, bytes / 512, data)
                        : host.write(io, 1, bytes / 512, bytes / 512, data);
                assertStatus(answer, NvmeStatus.SUCCESS);
                assertThat(host.read(io, 1, bytes / 512, bytes / 512, bytes)).isEqualTo(data);
            }
        }
    }

    private static int sendCompare(RawQueue io, int nsid, long slba, byte[] data, boolean inCapsule) {
        MemorySegment.copy(MemorySegment.ofArray(data), 0, io.data.segment(), 0, data.length);
        int id = io.nextCommandId();
        ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.COMPARE, id, nsid, slba, data.length / 512, false);
        if (inCapsule) {
            io.send(io.inCapsule(data));
        } else {
            io.keyed(0, data.length, false);
            io.send();
        }
        return id;
    }

    @Test
    void compares() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            assertStatus(host.identify(admin, 0, Cns.CONTROLLER), NvmeStatus.SUCCESS);
            assertThat(IdentifyController.parse(admin.data.segment(), 0).oncs() & IdentifyController.ONCS_COMPARE)
                    .isNotZero();
            RawQueue io = host.connectIo(1, 16);
            byte[] data = random(4096);
            assertStatus(host.write(io, 1, 8, 8, data), NvmeStatus.SUCCESS);
            for (boolean inCapsule : new boolean[] {true, false}) {
                assertStatus(io.await(sendCompare(io, 1, 8, data, inCapsule)), NvmeStatus.SUCCESS);
                assertStatus(
                        io.await(sendCompare(io, 1, 9, data, inCapsule)), NvmeStatus.COMPARE_FAILURE | NvmeStatus.DNR);
                assertStatus(io.await(sendCompare(io, 2, 0, new byte[4096], inCapsule)), NvmeStatus.SUCCESS);
                assertStatus(
                        io.await(sendCompare(io, 3, 0, data, inCapsule)), NvmeStatus.COMPARE_FAILURE | NvmeStatus.DNR);
            }
            assertStatus(
                    io.await(sendCompare(io, 1, BLOCKS, data, false)), NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
            int id = sendCompare(io, 4, 0, data, false);
            host.pumpUntil("a request", () -> manual.waiting() == 1);
            assertThat(manual.operation()).isEqualTo(BackendOperation.COMPARE);
            manual.complete(BackendStatus.MEDIA_ERROR);
            assertStatus(io.await(id), NvmeStatus.UNRECOVERED_READ_ERROR);
        }
    }

    @Test
    void writesZeroesAndReadsZeroesOfNull() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            host.write(io, 1, 0, 16, random(8192));
            int id = io.nextCommandId();
            ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.WRITE_ZEROES, id, 1, 4, 8, true);
            io.send();
            assertStatus(io.await(id), NvmeStatus.SUCCESS);
            byte[] expected = random(8192);
            Arrays.fill(expected, 4 * 512, 12 * 512, (byte) 0);
            assertThat(host.read(io, 1, 0, 16, 8192)).isEqualTo(expected);
            host.write(io, 3, 0, 16, random(8192));
            assertThat(host.read(io, 3, (1L << 31) - 16, 16, 8192)).containsOnly(0);
            assertThat(host.target.statistics().buffersInUse()).isLessThanOrEqualTo(1);
        }
    }

    @Test
    void refusesWhatIsOutOfRange() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            for (long slba : new long[] {BLOCKS, BLOCKS - 7, Long.MAX_VALUE, -1, -8, Long.MIN_VALUE, 1L << 55}) {
                assertStatus(io.await(host.sendRead(io, 1, slba, 8, 0, 4096)), NvmeStatus.LBA_OUT_OF_RANGE | DNR);
                assertStatus(io.await(host.sendWrite(io, 1, slba, 8, 0, 4096)), NvmeStatus.LBA_OUT_OF_RANGE | DNR);
            }
            assertStatus(io.await(host.sendRead(io, 1, BLOCKS - 8, 8, 0, 4096)), NvmeStatus.SUCCESS);
            assertStatus(io.await(host.sendRead(io, 1, 0, 4096, 0, 2 << 20)), NvmeStatus.INVALID_FIELD | DNR);
            assertStatus(io.await(host.sendRead(io, 1, 0, 0x10000, 0, 4096)), NvmeStatus.INVALID_FIELD | DNR);
        }
    }

    @Test
    void refusesLengthsThatDifferFromTheBlocks() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            for (int bytes : new int[] {0, 1, 4095, 4097, 8192}) {
                assertStatus(io.await(host.sendRead(io, 1, 0, 8, 0, bytes)), NvmeStatus.DATA_SGL_LENGTH_INVALID | DNR);
                assertStatus(io.await(host.sendWrite(io, 1, 0, 8, 0, bytes)), NvmeStatus.DATA_SGL_LENGTH_INVALID | DNR);
            }
            int id = io.nextCommandId();
            SubmissionQueueEntry.write(io.memory(), io.capsule(), IoOpcode.FLUSH, id, 1);
            io.keyed(0, 512, false);
            io.send();
            assertStatus(io.await(id), NvmeStatus.DATA_SGL_LENGTH_INVALID | DNR);
        }
    }

    @Test
    void refusesInCapsuleDataThatIsNotThere() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            long[][] offsetsAndLengths = {
                {0, 4096}, {1, 512}, {512, 512}, {-1, 512}, {Long.MIN_VALUE, 512}, {Long.MAX_VALUE, 512}, {-512, 512}
            };
            for (long[] sgl : offsetsAndLengths) {
                int id = io.nextCommandId();
                ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.WRITE, id, 1, 0, (int) sgl[1] / 512, false);
                SglDescriptor.writeInCapsule(
                        io.memory(), io.capsule() + SubmissionQueueEntry.DPTR_OFFSET, sgl[0], (int) sgl[1]);
                io.send(SubmissionQueueEntry.SIZE_BYTES + 512);
                assertStatus(io.await(id), NvmeStatus.SGL_OFFSET_INVALID | DNR);
            }
            int id = io.nextCommandId();
            ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.READ, id, 1, 0, 1, false);
            io.send(io.inCapsule(new byte[512]));
            assertStatus(io.await(id), NvmeStatus.INVALID_FIELD | DNR);
        }
    }

    @Test
    void takesInCapsuleDataFromItsOffset() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            byte[] data = random(1024);
            int id = io.nextCommandId();
            ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.WRITE, id, 1, 5, 1, false);
            int length = io.inCapsule(data);
            SglDescriptor.writeInCapsule(io.memory(), io.capsule() + SubmissionQueueEntry.DPTR_OFFSET, 512, 512);
            io.send(length);
            assertStatus(io.await(id), NvmeStatus.SUCCESS);
            assertThat(host.read(io, 1, 5, 1, 512)).isEqualTo(Arrays.copyOfRange(data, 512, 1024));
        }
    }

    @Test
    void refusesWritesToReadOnlyNamespacesAndUnknownOnes() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            assertStatus(host.write(io, 2, 0, 8, random(4096)), NvmeStatus.NAMESPACE_WRITE_PROTECTED | DNR);
            assertThat(host.read(io, 2, 0, 8, 4096)).containsOnly(0);
            int ranges = dataset(io, 2, DatasetManagementCommand.AD_DEALLOCATE, 0, 8);
            assertStatus(io.await(ranges), NvmeStatus.NAMESPACE_WRITE_PROTECTED | DNR);
            for (int nsid : new int[] {0, 5, 1025, -1, Integer.MIN_VALUE}) {
                assertStatus(
                        io.await(host.sendRead(io, nsid, 0, 8, 0, 4096)), NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | DNR);
                assertStatus(host.plain(io, IoOpcode.FLUSH, nsid), NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | DNR);
            }
            for (int opcode : new int[] {IoOpcode.VERIFY, IoOpcode.VERIFY, IoOpcode.COPY, 0x7f, 0x0d, 0xff}) {
                assertStatus(host.plain(io, opcode, 1), NvmeStatus.INVALID_OPCODE | DNR);
            }
        }
    }

    /** Sends a Dataset Management with pairs of first block and number of blocks. */
    private static int dataset(RawQueue io, int nsid, int attributes, long... ranges) {
        byte[] bytes = new byte[ranges.length * 8];
        MemorySegment memory = MemorySegment.ofArray(bytes);
        for (int i = 0; i < ranges.length; i += 2) {
            DatasetManagementCommand.writeRange(memory, 8L * i, ranges[i], (int) ranges[i + 1]);
        }
        int id = io.nextCommandId();
        DatasetManagementCommand.write(io.memory(), io.capsule(), id, nsid, ranges.length / 2, attributes);
        io.send(io.inCapsule(bytes));
        return id;
    }

    @Test
    void deallocatesRangeByRange() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            int id = dataset(io, 4, DatasetManagementCommand.AD_DEALLOCATE, 0, 8, 100, 0, 16, 4);
            host.pumpUntilQuiet();
            assertThat(manual.operation()).isEqualTo(BackendOperation.DEALLOCATE);
            assertThat(manual.next().lengthBytes()).isEqualTo(4096);
            manual.complete(BackendStatus.SUCCESS);
            host.pumpUntilQuiet();
            assertThat(io.isAnswered(id)).isFalse();
            assertThat(manual.next().offsetBytes()).isEqualTo(8192);
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(id), NvmeStatus.SUCCESS);

            assertStatus(io.await(dataset(io, 1, 0, 99_999_999, 8)), NvmeStatus.SUCCESS);
            assertStatus(
                    io.await(dataset(io, 1, DatasetManagementCommand.AD_DEALLOCATE, 0, 8, BLOCKS, 1)),
                    NvmeStatus.LBA_OUT_OF_RANGE | DNR);
            assertStatus(
                    io.await(dataset(io, 1, DatasetManagementCommand.AD_DEALLOCATE, -1, 2)),
                    NvmeStatus.LBA_OUT_OF_RANGE | DNR);
            assertStatus(
                    io.await(dataset(io, 1, DatasetManagementCommand.AD_DEALLOCATE, 0, 0xffff_ffffL)),
                    NvmeStatus.LBA_OUT_OF_RANGE | DNR);
        }
    }

    @Test
    void asksTheBackendForWhatIsToBeOnTheMedium() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            int id = io.nextCommandId();
            ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.WRITE, id, 4, 8, 8, true);
            io.keyed(0, 4096, false);
            io.send();
            host.pumpUntilQuiet();
            assertThat(manual.next().forceUnitAccess()).isTrue();
            assertThat(manual.next().offsetBytes()).isEqualTo(4096);
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(id), NvmeStatus.SUCCESS);

            id = host.sendWrite(io, 4, 8, 8, 0, 4096);
            host.pumpUntilQuiet();
            assertThat(manual.next().forceUnitAccess()).isFalse();
            manual.complete(BackendStatus.SUCCESS);
            io.await(id);
            host.setFeature(admin, Feature.VOLATILE_WRITE_CACHE, 0);
            id = host.sendWrite(io, 4, 8, 8, 0, 4096);
            host.pumpUntilQuiet();
            assertThat(manual.next().forceUnitAccess()).as("write cache off").isTrue();
            manual.complete(BackendStatus.SUCCESS);
            io.await(id);
        }
    }

    @Test
    void passesOnWhatABackendSays() throws VerbsException {
        try (RawHost host = open()) {
            RawQueue admin = host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            Object[][] cases = {
                {BackendStatus.MEDIA_ERROR, true, NvmeStatus.UNRECOVERED_READ_ERROR},
                {BackendStatus.MEDIA_ERROR, false, NvmeStatus.WRITE_FAULT},
                {BackendStatus.CAPACITY_EXCEEDED, false, NvmeStatus.CAPACITY_EXCEEDED | DNR},
                {BackendStatus.WRITE_PROTECTED, false, NvmeStatus.NAMESPACE_WRITE_PROTECTED | DNR},
                {BackendStatus.UNSUPPORTED, false, NvmeStatus.INVALID_OPCODE | DNR},
                {BackendStatus.INTERNAL_ERROR, true, NvmeStatus.INTERNAL_ERROR}
            };
            io.data.segment().asSlice(0, 4096).fill((byte) 7);
            for (Object[] one : cases) {
                boolean read = (boolean) one[1];
                int id = read ? host.sendRead(io, 4, 0, 8, 0, 4096) : host.sendWrite(io, 4, 0, 8, 0, 4096);
                host.pumpUntilQuiet();
                manual.complete((BackendStatus) one[0]);
                assertStatus(io.await(id), (int) one[2]);
            }
            assertThat(io.data.segment().asSlice(0, 4096).toArray(ValueLayout.JAVA_BYTE))
                    .as("no data of a failed read")
                    .containsOnly(7);
            host.logPage(admin, 0, LogPage.SMART_HEALTH_INFORMATION, false, 0, 512);
            assertThat(SmartLog.parse(admin.data.segment(), 0).mediaErrors()).isEqualTo(2);
            assertThat(SmartLog.parse(admin.data.segment(), 0).hostReadCommands())
                    .isEqualTo(2);
        }
    }

    @Test
    void keepsWithinTheReadsThatTheHostServes() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.tryConnect(32, RawHost.privateData(1, 32), 1);
            host.sendConnect(io, 1, 31, 0, RawHost.connectData(1));
            MemorySegment data = io.data.segment();
            MemorySegment.copy(MemorySegment.ofArray(random(1 << 20)), 0, data, 0, 1 << 20);
            int[] ids = new int[16];
            for (int i = 0; i < 16; i++) {
                ids[i] = host.sendWrite(io, 1, 2048L * i, 2048, 0, 1 << 20);
            }
            for (int id : ids) {
                assertStatus(io.await(id), NvmeStatus.SUCCESS);
            }
            assertThat(host.read(io, 1, 2048 * 15, 2048, 1 << 20)).isEqualTo(random(1 << 20));
        }
    }

    @Test
    void letsRequestsWaitForBuffersInTheirOrder() throws VerbsException {
        TargetOptions small = TargetOptions.builder().dataBufferBytes(8 << 20).build();
        try (RawHost host = open(small)) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 64);
            RawQueue other = host.connectIo(2, 64);
            int[] ids = new int[20];
            for (int i = 0; i < ids.length; i++) {
                ids[i] = host.sendRead(io, 4, 0, 2048, 0, 1 << 20);
            }
            host.pumpUntilQuiet();
            assertThat(manual.waiting()).isEqualTo(8);
            int late = host.sendRead(other, 1, 0, 1, 0, 512);
            host.pumpUntilQuiet();
            assertThat(other.isAnswered(late)).as("later ones do not overtake").isFalse();
            assertThat(host.target.statistics().bufferWaits()).isEqualTo(13);
            assertThat(host.target.statistics().buffersInUse()).isEqualTo(8);
            for (int i = 0; i < ids.length; i++) {
                manual.complete(BackendStatus.SUCCESS);
                assertStatus(io.await(ids[i]), NvmeStatus.SUCCESS);
                host.pumpUntilQuiet();
            }
            assertStatus(other.await(late), NvmeStatus.SUCCESS);
            host.pumpUntilQuiet();
            assertThat(host.target.statistics().buffersInUse()).isZero();
        }
    }

    @Test
    void keepsTheBackendOfARemovedNamespaceUntilItsRequestsEnd() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            int id = host.sendRead(io, 4, 0, 8, 0, 4096);
            host.pumpUntilQuiet();
            var closed = subsystem.removeNamespace(4);
            host.pumpUntilQuiet();
            assertThat(manual.isClosed()).isFalse();
            assertStatus(io.await(host.sendRead(io, 4, 0, 8, 0, 4096)), NvmeStatus.INVALID_NAMESPACE_OR_FORMAT | DNR);
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(id), NvmeStatus.SUCCESS);
            host.pumpUntil("end of the backend", closed::isDone);
            assertThat(manual.isClosed()).isTrue();
        }
    }

    @Test
    void diesOfAWrongKeyAlone() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            RawQueue other = host.connectIo(2, 16);
            for (int i = 0; i < 4; i++) {
                int id = io.nextCommandId();
                ReadWriteCommand.write(io.memory(), io.capsule(), IoOpcode.READ, id, 1, 0, 8, false);
                SglDescriptor.writeKeyed(
                        io.memory(),
                        io.capsule() + SubmissionQueueEntry.DPTR_OFFSET,
                        io.data.address(),
                        4096,
                        io.data.rkey() ^ 0x5555,
                        false);
                io.send();
            }
            host.pumpUntil("end of the queue", () -> io.ended || io.broken);
            host.pumpUntil("end of the queue", () -> host.target.statistics().queues() == 2);
            assertThat(host.target.statistics().buffersInUse()).isZero();
            assertThat(host.read(other, 1, 0, 8, 4096)).containsOnly(0);
        }
    }

    @Test
    void failsACommandWhoseBackendThrows() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 16);
            manual.throwNext();
            assertStatus(io.await(host.sendRead(io, 4, 0, 8, 0, 4096)), NvmeStatus.INTERNAL_ERROR);
            int id = host.sendRead(io, 4, 0, 8, 0, 4096);
            host.pumpUntilQuiet();
            manual.complete(BackendStatus.SUCCESS);
            assertStatus(io.await(id), NvmeStatus.SUCCESS);
        }
    }

    @Test
    void runsTheLargestQueueAtFullDepth() throws VerbsException {
        try (RawHost host = open()) {
            host.connectAdmin();
            RawQueue io = host.connectIo(1, 1024);
            for (int round = 0; round < 3; round++) {
                int[] ids = new int[1023];
                for (int i = 0; i < ids.length; i++) {
                    ids[i] = (i & 1) == 0
                            ? host.sendWrite(io, 1, i % 64 * 8L, 8, 4096L * (i % 256), 4096)
                            : host.sendRead(io, 3, i, 64, 1 << 20, 32768);
                }
                for (int id : ids) {
                    assertStatus(io.await(id), NvmeStatus.SUCCESS);
                }
            }
            assertThat(host.target.statistics().commandErrors()).isZero();
        }
    }
}
