package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.LbaFormat;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.target.spi.OptimalSizes;
import org.nvmf4j.target.spi.PeerClient;

class NvmeBackendTest {
    private static final int MEMORY_BYTES = 2 << 20;
    private static final int MAX_BYTES = 1 << 20;

    private final SimulatedNvme device = new SimulatedNvme(1);
    private final MemorySegment memory = Arena.ofAuto().allocate(MEMORY_BYTES, 4096);
    private @Nullable Backend backend;
    private @Nullable BackendLane lane;
    private @Nullable BackendMapping mapping;

    @BeforeEach
    void start() {
        device.meanwhile = () -> {
            if (lane != null) {
                lane.poll(device.nanoTime());
            }
        };
    }

    @AfterEach
    void givesEverythingBack() throws IOException {
        if (mapping != null) {
            mapping.close();
        }
        if (lane != null) {
            lane.close();
            lane = null;
        }
        if (backend != null) {
            backend.close();
        }
        assertThat(device.allocations()).isZero();
        assertThat(device.openings).isZero();
    }

    private BackendLane open() throws IOException {
        Backend made = SimulatedDrives.backend(device);
        backend = made;
        BackendLane part = made.openLane(() -> {});
        lane = part;
        mapping = part.map(memory, null);
        return part;
    }

    private void pass() {
        device.pause();
        if (backend instanceof NvmeBackend made) {
            made.drive().lookAfter();
        }
    }

    private BackendStatus await(LaneRequest request) {
        for (int i = 0; request.isUnderWay(); i++) {
            assertThat(i).as("pauses").isLessThan(100_000);
            pass();
        }
        return request.status();
    }

    private BackendStatus run(BackendOperation operation, long at, long offset, long length, boolean fua) {
        LaneRequest request = new LaneRequest(memory, at);
        if (lane == null) {
            throw new AssertionError("no lane");
        }
        request.start(lane, mapping, operation, offset, length, fua);
        return await(request);
    }

    /** Writes and reads back from another place. */
    private void checkData(long at, int offset, int length) {
        byte[] data = new byte[length];
        new Random(offset + length).nextBytes(data);
        MemorySegment.copy(MemorySegment.ofArray(data), 0, memory, at, length);
        assertThat(run(BackendOperation.WRITE, at, offset, length, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().at(offset, length)).isEqualTo(data);
        memory.fill((byte) 0x5a);
        assertThat(run(BackendOperation.READ, at, offset, length, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(memory.asSlice(at, length).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(data);
        assertThat(memory.get(ValueLayout.JAVA_BYTE, at + length)).isEqualTo((byte) 0x5a);
        if (at > 0) {
            assertThat(memory.get(ValueLayout.JAVA_BYTE, at - 1)).isEqualTo((byte) 0x5a);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0,0,512",
        "4096,512,4096",
        "8192,1024,65536",
        "0,0,131072",
        "0,512,131072",
        "0,512,1048576",
        "4,512,1048576",
        "4096,1048576,1048576"
    })
    void movesDataOfAnySize(long at, int offset, int length) throws IOException {
        open();
        checkData(at, offset, length);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 5})
    void splitsAtTheLargestTransfer(int mdts) throws IOException {
        device.mdts = mdts;
        open();
        checkData(0, 512, 300 << 10);
        int pieces = mdts == 0 ? 1 : ((300 << 10) + (4096 << mdts) - 1) / (4096 << mdts);
        assertThat(device.medium().commands()).isEqualTo(2 * pieces);
    }

    @Test
    void splitsAtTheDrivesBoundary() throws IOException {
        device.namespace.noiob(24);
        open();
        checkData(4096, 512 * 20, 512 * 64); // the simulation asserts that nothing crosses it
        assertThat(device.medium().commands()).isEqualTo(2 * 4);
    }

    @ParameterizedTest
    @CsvSource({"0,0,512", "1,512,4096", "64,1024,16384", "3,512,1048576"})
    void copiesWhatIsNotMapped(long at, int offset, int length) throws IOException {
        open();
        BackendMapping mapped = mapping;
        mapping = null;
        checkData(at, offset, length);
        mapping = mapped;
    }

    /** SGLS, where the data begins, and the commands that move it in one direction: in pieces of 16 KiB if it is copied. */
    @ParameterizedTest
    @CsvSource({"0,1,8", "0,2,8", "2,1,8", "2,4,1", "1,1,1", "1,4095,1"})
    void copiesWhatHasAnAddressThatTheDriveDoesNotTake(int sgls, long at, int commands) throws IOException {
        device.sgls = sgls;
        open();
        checkData(at, 512, 128 << 10);
        assertThat(device.medium().commands()).isEqualTo(2 * commands);
    }

    @Test
    void copiesWhatCannotBeMapped() throws IOException {
        BackendLane part = open();
        BackendMapping mapped = mapping;
        device.refusesToMap = true;
        mapping = part.map(memory, null);
        checkData(4096, 512, 100 << 10);
        mapping.close();
        mapping = mapped;
    }

    @Test
    void servesMoreRequestsThanTheQueueHasRoomFor() throws IOException {
        BackendLane part = open();
        LaneRequest[] requests = new LaneRequest[200]; // the controller's queue has 64 entries
        for (int i = 0; i < requests.length; i++) {
            memory.set(ValueLayout.JAVA_INT, i * 4096L, i);
            requests[i] = new LaneRequest(memory, i * 4096L);
            requests[i].start(part, mapping, BackendOperation.WRITE, i * 4096L, 4096, false);
        }
        assertThat(part.hasOutstanding()).isTrue();
        for (int i = 0; i < requests.length; i++) {
            assertThat(await(requests[i])).isEqualTo(BackendStatus.SUCCESS);
            assertThat(MemorySegment.ofArray(device.medium().at(i * 4096L, 4096))
                            .get(ValueLayout.JAVA_INT_UNALIGNED, 0))
                    .isEqualTo(i);
        }
        assertThat(part.hasOutstanding()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"true,0", "false,0", "false,1"})
    void writesZeroes(boolean supported, int sgls) throws IOException {
        device.sgls = sgls;
        if (!supported) {
            device.oncs = 0;
        }
        open();
        memory.fill((byte) 0x5a);
        assertThat(run(BackendOperation.WRITE, 0, 0, MAX_BYTES, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(run(BackendOperation.WRITE_ZEROES, 0, 512, 300 << 10, true)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().at(0, 512)).containsOnly(0x5a);
        assertThat(device.medium().at(512, 300 << 10)).containsOnly(0);
        assertThat(device.medium().at(512 + (300 << 10), 512)).containsOnly(0x5a);
        assertThat(device.medium().forced()).isEqualTo(3);
    }

    /** ONCS, WZSL, the version, and the commands for 300 KiB, which MDTS would cut into 3. */
    @ParameterizedTest
    @CsvSource({
        "8,1,0x10400,38",
        "8,6,0x10400,2",
        "0,6,0x20000,2",
        "8,64,0x20000,1",
        "8,0,0x10200,3",
        "8,,0x10400,3",
        "8,,0x10100,3"
    })
    void keepsTheLimitOfWriteZeroes(int oncs, Integer wzsl, String version, int commands) throws IOException {
        device.oncs = oncs;
        device.limits = wzsl == null ? null : new IdentifyControllerNvm().wzsl(wzsl);
        device.version = Integer.decode(version);
        device.namespace.noiob(128); // concerns commands with data
        open();
        Arrays.fill(device.medium().bytes(), (byte) 0x5a);
        assertThat(run(BackendOperation.WRITE_ZEROES, 0, 512, 300 << 10, true)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().at(512, 300 << 10)).containsOnly(0);
        assertThat(device.medium().at(512 + (300 << 10), 512)).containsOnly(0x5a);
        assertThat(device.medium().commands()).isEqualTo(commands);
    }

    @ParameterizedTest
    @CsvSource({"true,true", "true,false", "false,true", "false,false"})
    void compares(boolean supported, boolean mapped) throws IOException {
        if (!supported) {
            device.oncs = 0;
        }
        open();
        byte[] data = new byte[300 << 10];
        new Random(1).nextBytes(data);
        MemorySegment.copy(MemorySegment.ofArray(data), 0, memory, 4096, data.length);
        assertThat(run(BackendOperation.WRITE, 4096, 512, data.length, false)).isEqualTo(BackendStatus.SUCCESS);
        BackendMapping own = mapping;
        mapping = mapped ? own : null;
        assertThat(run(BackendOperation.COMPARE, 4096, 512, data.length, false)).isEqualTo(BackendStatus.SUCCESS);
        memory.set(ValueLayout.JAVA_BYTE, 4096 + data.length - 1, (byte) ~data[data.length - 1]);
        LaneRequest request = new LaneRequest(memory, 4096);
        if (lane == null) {
            throw new AssertionError("no lane");
        }
        request.start(lane, mapping, BackendOperation.COMPARE, 512, data.length, false);
        assertThat(await(request)).isEqualTo(BackendStatus.DEVICE_STATUS);
        assertThat(NvmeStatus.code(request.deviceStatus())).isEqualTo(NvmeStatus.COMPARE_FAILURE);
        assertThat(memory.asSlice(4096, 4096).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(Arrays.copyOf(data, 4096));
        mapping = own;
    }

    @Test
    void forcesOnlyWhatIsAskedFor() throws IOException {
        open();
        assertThat(run(BackendOperation.WRITE, 0, 0, 4096, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().forced()).isZero();
        assertThat(run(BackendOperation.WRITE, 0, 0, 4096, true)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().forced()).isOne();
    }

    @ParameterizedTest
    @CsvSource({"1,1", "0,0"})
    void flushesWhereThereIsACache(int vwc, int flushes) throws IOException {
        device.vwc = vwc;
        open();
        assertThat(run(BackendOperation.FLUSH, 0, 0, 0, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().flushes()).isEqualTo(flushes);
        assertThat(backend).isNotNull();
        assertThat(backend.volatileWriteCache()).isEqualTo(vwc == 1);
    }

    /** ONCS, DMRSL, DMSL, and the commands for 100 blocks. */
    @ParameterizedTest
    @CsvSource({"4,0,0,1", "4,30,-1,4", "4,60,40,3", "4,-1,-1,1", "0,-1,50,2", "0,99,100,2"})
    void deallocates(int oncs, int dmrsl, long dmsl, int commands) throws IOException {
        device.oncs = oncs;
        device.limits = new IdentifyControllerNvm().dmrl(1).dmrsl(dmrsl).dmsl(dmsl);
        open();
        Arrays.fill(device.medium().bytes(), (byte) 0x5a);
        assertThat(run(BackendOperation.DEALLOCATE, 0, 512, 512 * 100, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().deallocatedBlocks()).isEqualTo(100);
        assertThat(device.medium().at(512, 512 * 100)).containsOnly(0);
        assertThat(device.medium().commands()).isEqualTo(commands);
    }

    @Test
    void takesDeallocationForAdviceWhereTheDriveHasNone() throws IOException {
        device.oncs = 0;
        open();
        assertThat(run(BackendOperation.DEALLOCATE, 0, 512, 512 * 100, false)).isEqualTo(BackendStatus.SUCCESS);
        assertThat(device.medium().commands()).isZero();
    }

    // Statuses.

    @ParameterizedTest
    @CsvSource({
        "0x281,0,0x281", // media errors, as they are
        "0x280,1,0x280",
        "0x287,0,0x287",
        "0x080,1,0x080", // LBA out of range
        "0x081,1,0x081", // capacity
        "0x020,1,0x020", // write protected
        "0x021,0,0x021", // interrupted
        "0x00b,1,0x00b", // the namespace has gone
        "0x007,0,0x021", // aborted by us: interrupted
        "0x002,1,0x006", // our fault
        "0x013,1,0x006",
        "0x00f,1,0x006", // SGLs, and the memory that they name
        "0x011,1,0x006",
        "0x012,1,0x006",
        "0x016,1,0x006",
        "0x7c1,0,0x006" // the vendor's
    })
    void tellsTheHostWhatConcernsIt(String status, int dnr, String expected) throws IOException {
        open();
        device.fails = 1;
        device.failure = Integer.decode(status) | (dnr == 1 ? NvmeStatus.DNR : 0);
        LaneRequest request = new LaneRequest(memory, 0);
        if (lane == null) {
            throw new AssertionError("no lane");
        }
        request.start(lane, mapping, BackendOperation.READ, 0, 512 << 10, false);
        assertThat(await(request)).isEqualTo(BackendStatus.DEVICE_STATUS);
        assertThat(NvmeStatus.describe(request.deviceStatus()))
                .isEqualTo(NvmeStatus.describe(Integer.decode(expected) | (dnr == 1 ? NvmeStatus.DNR : 0)));
    }

    @Test
    void endsRequestsForGoodOnceTheDriveHasGone() throws IOException {
        BackendLane part = open();
        assertThat(run(BackendOperation.READ, 0, 0, 4096, false)).isEqualTo(BackendStatus.SUCCESS);
        LaneRequest[] requests = new LaneRequest[100];
        for (int i = 0; i < requests.length; i++) {
            requests[i] = new LaneRequest(memory, 0);
            requests[i].start(part, mapping, BackendOperation.READ, 0, 4096, false);
        }
        device.removed = true;
        for (LaneRequest request : requests) {
            assertThat(await(request)).isEqualTo(BackendStatus.DEVICE_STATUS);
            assertThat(request.deviceStatus()).isEqualTo(NvmeStatus.INTERNAL_ERROR | NvmeStatus.DNR);
        }
        LaneRequest late = new LaneRequest(memory, 0);
        late.start(part, mapping, BackendOperation.READ, 0, 4096, false);
        assertThat(late.status()).isEqualTo(BackendStatus.DEVICE_STATUS);
    }

    @Test
    void aDriveInThePlaceOfOneThatHasGoneIsAnother() throws IOException {
        SimulatedNvme second = new SimulatedNvme(2);
        Iterator<SimulatedNvme> there = List.of(device, second).iterator();
        NvmeDrives drives = new NvmeDrives(address -> there.next(), false);
        NvmeBackend first = (NvmeBackend) drives.open(SimulatedDrives.ADDRESS, 1, false);
        backend = first;
        device.removed = true;
        while (!first.drive().isGivenBack()) {
            pass();
        }
        device.refusesToMap = true;
        lane = first.openLane(() -> {});
        mapping = lane.map(memory, null);
        assertThat(run(BackendOperation.READ, 0, 0, 4096, false)).isEqualTo(BackendStatus.DEVICE_STATUS);
        NvmeBackend other = (NvmeBackend) drives.open(SimulatedDrives.ADDRESS, 1, false);
        assertThat(other.drive()).isNotSameAs(first.drive());
        assertThatThrownBy(() -> drives.open(SimulatedDrives.ADDRESS, 1, false))
                .hasMessageContaining("is exported already");
        other.close();
        assertThat(second.openings).isZero();
        assertThat(second.allocations()).isZero();
    }

    @Test
    void aDriveIsNotTakenAgainBeforeNothingOfItIsLeft() throws IOException {
        NvmeDrives drives = SimulatedDrives.of(device, false);
        backend = drives.open(SimulatedDrives.ADDRESS, 1, false);
        device.shutdownNanos = 3_000_000;
        List<String> refusals = new ArrayList<>();
        device.meanwhile = () -> {
            device.meanwhile = () -> {};
            assertThatThrownBy(() -> drives.open(SimulatedDrives.ADDRESS, 1, false))
                    .satisfies(refusal -> refusals.add(refusal.getMessage()));
        };
        backend.close();
        backend = null;
        assertThat(refusals).containsExactly("drive 0000:04:00.0 is about to be let go; try again");
        drives.open(SimulatedDrives.ADDRESS, 1, false).close();
    }

    @Test
    void saysThatADriveCannotBeUsedAnyMoreWhileLanesHaveIt() throws IOException {
        NvmeDrives drives = SimulatedDrives.of(device, false);
        NvmeBackend made = (NvmeBackend) drives.open(SimulatedDrives.ADDRESS, 1, false);
        backend = made;
        lane = made.openLane(() -> {});
        assertThat(run(BackendOperation.READ, 0, 0, 4096, false)).isEqualTo(BackendStatus.SUCCESS);
        device.meanwhile = () -> {};
        device.fatal();
        device.stuck = true;
        made.drive().lookAfter();
        assertThatThrownBy(() -> drives.open(SimulatedDrives.ADDRESS, 1, false))
                .hasMessage("drive 0000:04:00.0 cannot be used any more, and its last requests have yet to end;"
                        + " try again");
    }

    // What it says of itself.

    @Test
    void describesTheNamespace() throws IOException {
        device.namespace
                .nsfeat(IdentifyNamespace.NSFEAT_OPTIMAL_PERFORMANCE)
                .npwg(7)
                .npwa(15)
                .npdg(31)
                .npda(63)
                .nows(127)
                .noiob(256);
        open();
        assertThat(backend).isNotNull();
        assertThat(backend.sizeBytes()).isEqualTo(SimulatedNvme.BLOCKS * 512L);
        assertThat(backend.preferredBlockSizeBytes()).isEqualTo(512);
        assertThat(backend.readOnly()).isFalse();
        assertThat(backend.peerClient()).isEqualTo(new PeerClient.PciFunction("0000:04:00.0", "the drive"));
        assertThat(backend.description()).isEqualTo("drive 0000:04:00.0, namespace 1");
        assertThat(backend.laneLimit()).isEqualTo(8);
        assertThat(backend.identity()).isPresent();
        assertThat(backend.optimalSizes())
                .isEqualTo(new OptimalSizes(256 * 512, 8 * 512, 16 * 512, 32 * 512, 64 * 512, 128 * 512));
    }

    @Test
    void knowsADriveWithBlocksOf4096() throws IOException {
        device.namespace.lbaFormat(0, new LbaFormat(0, 12, 0)).nsze(SimulatedNvme.BLOCKS / 8);
        open();
        assertThat(backend).isNotNull();
        assertThat(backend.minBlockSizeBytes()).isEqualTo(4096);
        checkData(4096, 8192, 200 << 12);
    }

    @ParameterizedTest
    @CsvSource({"8,9,0,8 bytes of metadata", "0,9,1,protection information", "0,13,0,blocks of 8192 bytes"})
    void refusesFormatsThatCannotBeExported(int ms, int lbads, int dps, String message) {
        device.namespace.lbaFormat(0, new LbaFormat(ms, lbads, 0)).dps(dps);
        assertThatThrownBy(() -> SimulatedDrives.backend(device))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("namespace 1 of drive 0000:04:00.0 has ")
                .hasMessageContaining(message)
                .hasMessageContaining("nvme format");
    }

    @Test
    void refusesANamespaceThatIsNotThereOrTaken() throws IOException {
        NvmeDrives drives = SimulatedDrives.of(device, false);
        assertThatThrownBy(() -> drives.open("0000:04:00.0", 7, false))
                .hasMessage("namespace 7 of drive 0000:04:00.0 is not there; it has 1");
        assertThatThrownBy(() -> drives.open("0000:05:00.0", 0, false)).hasMessage("0000:05:00.0 is not there");
        try (Backend _ = drives.open("04:00.0", 1, false)) {
            assertThatThrownBy(() -> drives.open("0000:04:00.0", 0, false))
                    .hasMessage("namespace 1 of drive 0000:04:00.0 is exported already");
        }
        drives.open("0000:04:00.0", 1, false).close();
    }

    /** As that of a namespace that was detached since it was listed, and of one that there cannot be. */
    @ParameterizedTest
    @CsvSource({
        "0,is not there any more: it was detached or deleted just now",
        "-1,has 18446744073709551615 blocks of 512 bytes; a size of 8 EiB or more cannot be exported",
        "0x40000000000000,has 18014398509481984 blocks of 512 bytes; a size of 8 EiB or more cannot be exported"
    })
    void refusesSizesThatCannotBe(String blocks, String message) throws IOException {
        device.namespace.nsze(Long.decode(blocks));
        assertThatThrownBy(() -> SimulatedDrives.backend(device))
                .hasMessage("namespace 1 of drive 0000:04:00.0 " + message);
        device.namespace.nsze((1L << 54) - 1);
        backend = SimulatedDrives.backend(device);
        assertThat(backend.sizeBytes()).isEqualTo(Long.MAX_VALUE - 511);
    }

    @Test
    void saysWhatKeepsADriveFromStarting() {
        device.removed = true;
        assertThatThrownBy(() -> SimulatedDrives.backend(device))
                .hasMessage("0000:04:00.0: the controller has gone: its registers do not answer");
        device.removed = false;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void allocatesNothingPerRequest(int sgls) throws IOException {
        device.sgls = sgls;
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        BackendLane part = open();
        LaneRequest[] requests = new LaneRequest[32];
        for (int i = 0; i < requests.length; i++) {
            requests[i] = new LaneRequest(memory, i * 16384L);
        }
        long allocated = 0;
        device.meanwhile = () -> {};
        for (int round = 0; round < 300; round++) {
            if (round == 150) {
                allocated = 0;
            }
            BackendOperation operation = (round & 1) == 0 ? BackendOperation.WRITE : BackendOperation.READ;
            BackendMapping used = round % 3 == 0 ? null : mapping;
            long start = threads.getCurrentThreadAllocatedBytes();
            for (LaneRequest request : requests) {
                request.start(part, used, operation, 4096, 16384, false);
            }
            allocated += threads.getCurrentThreadAllocatedBytes() - start;
            while (part.hasOutstanding()) {
                pass();
                start = threads.getCurrentThreadAllocatedBytes();
                part.poll(device.nanoTime());
                allocated += threads.getCurrentThreadAllocatedBytes() - start;
            }
        }
        assertThat((double) allocated / (150 * requests.length)).isLessThan(1.0);
    }
}
