package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.pcie.CmbPeerMemory;
import org.nvmf4j.pcie.LoggedWarnings;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.PeerBlock;

/** Submission queues in a simulated drive's memory buffer of 64 KiB, which has room for two queues and as much data. */
class CmbQueuesTest {
    private static final int COMMAND_BYTES = 32 << 10;
    private static final int SQS = 1;
    private static final int DATA = 3 << 3;

    private final SimulatedNvme device = new SimulatedNvme(1);
    private final SimulatedCmb cmb = new SimulatedCmb();
    private final MemorySegment memory = Arena.ofAuto().allocate(COMMAND_BYTES, 4096);
    private final List<BackendLane> lanes = new ArrayList<>();
    private final LoggedWarnings log = new LoggedWarnings();
    private @Nullable NvmeBackend backend;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path sysfs;

    @AfterEach
    void givesEverythingBack() {
        log.close();
        lanes.forEach(BackendLane::close);
        if (backend != null) {
            backend.close();
        }
        assertThat(device.allocations()).isZero();
        assertThat(device.openings).isZero();
        assertThat(cmb.maps).isZero();
    }

    private NvmeBackend open() throws IOException {
        device.cmb = cmb;
        cmb.find(device, SimulatedDrives.ADDRESS, sysfs);
        NvmeBackend made = (NvmeBackend) SimulatedDrives.backend(device, true);
        backend = made;
        device.meanwhile = () -> lanes.forEach(lane -> lane.poll(device.nanoTime()));
        return made;
    }

    private NvmeLane openLane(NvmeBackend of) throws IOException {
        NvmeLane lane = (NvmeLane) of.openLane(() -> {});
        lanes.add(lane);
        return lane;
    }

    private void write(NvmeBackend of, NvmeLane lane, byte[] data) {
        MemorySegment.copy(MemorySegment.ofArray(data), 0, memory, 0, COMMAND_BYTES);
        LaneRequest request = new LaneRequest(memory, 0);
        try (BackendMapping mapping = lane.map(memory, null)) {
            request.start(lane, mapping, BackendOperation.WRITE, 0, COMMAND_BYTES, false);
            while (request.isUnderWay()) {
                device.pause();
                of.drive().lookAfter();
            }
        }
        assertThat(request.status()).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().at(0, COMMAND_BYTES)).isEqualTo(data);
    }

    private long freeBytes() {
        return cmb.peerMemory().freeBytes();
    }

    /** The entries of the buffer that are writes of all of the memory. */
    private long writesInBuffer() {
        long found = 0;
        for (long at = 0; at < SimulatedCmb.BYTES; at += SubmissionQueueEntry.SIZE_BYTES) {
            if (SubmissionQueueEntry.opcode(cmb.memory(), at) == IoOpcode.WRITE
                    && SubmissionQueueEntry.nsid(cmb.memory(), at) == 1
                    && ReadWriteCommand.blocks(cmb.memory(), at) == COMMAND_BYTES / SimulatedNvme.BLOCK_BYTES) {
                found++;
            }
        }
        return found;
    }

    /** Its block is at an address where the drive has its own buffer. */
    @Test
    void theBufferOfADriveThatWasThereBeforeIsNotItsOwn() throws IOException {
        SimulatedCmb before = new SimulatedCmb();
        device.cmb = before;
        before.find(device, SimulatedDrives.ADDRESS, sysfs);
        CmbPeerMemory left = before.peerMemory();
        NvmeLane lane = openLane(open());
        int allocations = device.allocations();
        try (PeerBlock own = Objects.requireNonNull(cmb.peerMemory().allocate(4096));
                PeerBlock anothers = Objects.requireNonNull(left.allocate(4096))) {
            left.close();
            try (BackendMapping _ = lane.map(own.segment(), own)) {
                assertThat(device.allocations()).isEqualTo(allocations);
            }
            try (BackendMapping _ = lane.map(anothers.segment(), anothers)) {
                assertThat(device.allocations())
                        .as("it is mapped as any memory")
                        .isEqualTo(allocations + 1);
            }
        }
        assertThat(before.maps).isZero();
    }

    @Test
    void commandsAreInTheBufferRoundAndRound() throws IOException {
        NvmeBackend of = open();
        NvmeLane lane = openLane(of);
        assertThat(lane.queue().isInBuffer()).isTrue();
        assertThat(log.take())
                .containsExactly("drive 0000:04:00.0, namespace 1: submission queue 1 is in the drive's memory buffer");
        Random random = new Random(7);
        byte[] data = new byte[COMMAND_BYTES];
        for (int i = 1; i <= 3 * lane.queue().entries(); i++) {
            random.nextBytes(data);
            write(of, lane, data);
            if (i == 20) {
                assertThat(writesInBuffer()).isEqualTo(20);
            }
        }
        assertThat(writesInBuffer()).isEqualTo(lane.queue().entries());
    }

    @Test
    void theQueueIsInItsPlaceAgainAfterAReset() throws IOException {
        NvmeBackend of = open();
        NvmeLane lane = openLane(of);
        byte[] data = new byte[COMMAND_BYTES];
        write(of, lane, data);
        device.fatal();
        of.drive().lookAfter();
        assertThat(writesInBuffer()).as("a reset clears the buffer").isZero();
        data[5] = 5;
        write(of, lane, data);
        assertThat(cmb.queues()).isOne();
        assertThat(writesInBuffer()).isOne();
    }

    @Test
    void queuesWithoutRoomAreInHostMemoryAndOneLineSaysSo() throws IOException {
        NvmeBackend of = open();
        assertThat(freeBytes()).isEqualTo(SimulatedCmb.BYTES / 2);
        for (int i = 0; i < 4; i++) {
            NvmeLane lane = openLane(of);
            assertThat(lane.queue().isInBuffer()).as("queue %d", i).isEqualTo(i < 2);
            write(of, lane, new byte[COMMAND_BYTES]);
        }
        assertThat(cmb.queues()).isEqualTo(2);
        assertThat(log.take())
                .filteredOn(line -> line.contains("no room"))
                .containsExactly("drive 0000:04:00.0, namespace 1: the drive's memory buffer has no room for submission"
                        + " queue 3: it is in host memory, as are later ones without room");
        assertThat(freeBytes()).isEqualTo(SimulatedCmb.BYTES / 2);
    }

    /** What is taken of the buffer, whether it takes data, its queues, and what they leave. */
    @ParameterizedTest
    @CsvSource({"0,true,2,32768", "0,false,4,0", "40960,true,1,8192", "53248,true,0,12288"})
    void takesWhatIsFree(int takenBytes, boolean takesData, int places, long leftBytes) throws IOException {
        cmb.cmbsz = takesData ? cmb.cmbsz : cmb.cmbsz & ~DATA;
        device.cmb = cmb;
        cmb.find(device, SimulatedDrives.ADDRESS, sysfs);
        PeerBlock taken = takenBytes == 0 ? null : device.allocateInBuffer(takenBytes);
        try (CmbQueues queues = CmbQueues.reserve("drive", device, 4)) {
            for (int qid = 1; qid <= 5; qid++) {
                assertThat(queues.place(qid, 256) != null).as("queue %d", qid).isEqualTo(qid <= places);
            }
            assertThat(queues.place(1, 257)).as("a queue that is larger").isNull();
            assertThat(freeBytes()).isEqualTo(leftBytes);
        }
        assertThat(freeBytes()).isEqualTo(SimulatedCmb.BYTES - takenBytes);
        if (taken != null) {
            taken.close();
        }
        cmb.peerMemory().close();
    }

    @Test
    void aDriveWithoutABufferIsRefused() {
        assertThatThrownBy(() -> SimulatedDrives.backend(device, true))
                .isInstanceOf(IOException.class)
                .hasMessage("drive 0000:04:00.0 has no memory buffer that can be used; leave use_cmb_sqs=1 away");
    }

    @Test
    void aBufferThatTakesNoQueuesIsRefused() {
        cmb.cmbsz &= ~SQS;
        assertThatThrownBy(this::open)
                .isInstanceOf(IOException.class)
                .hasMessage("drive 0000:04:00.0 takes no submission queues in its memory buffer (CMBSZ.SQS is 0);"
                        + " leave use_cmb_sqs=1 away");
    }
}
