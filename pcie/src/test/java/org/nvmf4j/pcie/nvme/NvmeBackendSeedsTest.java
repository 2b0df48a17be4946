package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.BackendLane;
import org.nvmf4j.target.spi.BackendMapping;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.testkit.Seeds;

/**
 * Requests of all kinds on lanes that come and go, to a drive that loses and fails commands, is reset and removed: each ends once, with
 * the data right or with a status that says whether to try again, and memory is unmapped when nothing lies there any more.
 */
class NvmeBackendSeedsTest {
    private static final long SECOND = 1_000_000_000;
    private static final int REGIONS = 12;
    private static final int PIECES = 4;
    private static final int PIECE_BYTES = 24 << 10;
    private static final int REGION_BYTES = PIECES * PIECE_BYTES;

    /** Thousands of troubles would be told. */
    private static final List<Logger> TROUBLES = List.of(
            Logger.getLogger(NvmeController.class.getName()),
            Logger.getLogger(NvmeDrive.class.getName()),
            Logger.getLogger(NvmeBackend.class.getName()),
            Logger.getLogger(NvmeLane.class.getName()));

    private final Map<String, Integer> seen = new HashMap<>();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path sysfs;

    @BeforeAll
    static void silence() {
        TROUBLES.forEach(log -> log.setLevel(Level.OFF));
    }

    @AfterAll
    static void speakAgain() {
        TROUBLES.forEach(log -> log.setLevel(null));
    }

    @Test
    void keepsEachPromiseInAnyOrderOfTrouble() {
        Seeds.each(500, seed -> new Scenario(seed).run());
        if (Long.getLong("nvmf4j.seed") == null) {
            assertThat(seen)
                    .containsKeys(
                            "READ",
                            "WRITE",
                            "COMPARE",
                            "WRITE_ZEROES",
                            "DEALLOCATE",
                            "FLUSH",
                            "SGLs",
                            "failed",
                            "to try again",
                            "for good",
                            "in the buffer",
                            "in host memory");
        }
    }

    private final class Scenario {
        private final Random random;
        private final SimulatedNvme device;
        private final SimulatedCmb cmb = new SimulatedCmb();
        private final NvmeBackend backend;
        private final List<LaneUser> users = new ArrayList<>();
        private int regions;

        Scenario(long seed) throws IOException {
            random = new Random(seed);
            device = new SimulatedNvme(seed);
            device.mdts = random.nextInt(6);
            device.granted = 1 + random.nextInt(4);
            device.sgls = random.nextInt(3);
            device.cap = ControllerProperties.cap(1 + random.nextInt(63), 500 * random.nextInt(5))
                    | (long) random.nextInt(4) << 32;
            device.namespace.noiob(random.nextInt(3) * 40);
            if (random.nextBoolean()) {
                device.oncs = 0;
            }
            device.version = ControllerProperties.version(1 + random.nextInt(2), random.nextInt(5), 0);
            if (device.version >= ControllerProperties.version(1, 2, 0) && random.nextBoolean()) {
                device.limits =
                        new IdentifyControllerNvm().wzsl(random.nextInt(4)).dmrsl(random.nextInt(60));
            }
            boolean useCmbSqs = random.nextBoolean();
            if (useCmbSqs) {
                device.cmb = cmb;
                cmb.find(device, SimulatedDrives.ADDRESS, sysfs);
            }
            backend = (NvmeBackend) SimulatedDrives.backend(device, useCmbSqs);
            device.loses = random.nextInt(3) * 50;
            device.fails = random.nextInt(3) * 30;
            device.meanwhile = this::runLanes;
        }

        void run() throws IOException {
            for (int i = 0; i < 150; i++) {
                step();
            }
            device.loses = 0;
            device.ignores = -1;
            while (!users.isEmpty()) {
                LaneUser user = users.getLast();
                while (user.lane.hasOutstanding()) {
                    device.pass(SECOND / 20); // what was lost takes half a minute to be missed
                    device.pause();
                    backend.drive().lookAfter();
                    user.drains = true;
                }
                closeLane();
            }
            backend.close();
            if (device.described > 0) {
                seen.merge("SGLs", device.described, Integer::sum);
            }
            assertThat(device.allocations()).isZero();
            assertThat(device.openings).isZero();
            assertThat(cmb.maps).isZero();
        }

        private void step() throws IOException {
            switch (random.nextInt(30)) {
                case 0, 1, 2 -> backend.drive().lookAfter();
                case 3 -> device.pass(8 * SECOND);
                case 4 -> {
                    if (random.nextInt(10) == 0) {
                        device.fatal();
                    }
                }
                case 5 -> {
                    if (random.nextInt(100) == 0) {
                        device.removed = true;
                    }
                }
                case 6 -> device.ignores = random.nextInt(4) == 0 ? AdminOpcode.ABORT : -1;
                case 7 -> device.stuck = random.nextInt(40) == 0;
                case 8, 9 -> openLane();
                case 10 -> closeLane();
                case 11, 12, 13, 14, 15, 16, 17, 18 -> device.pause();
                default -> runLanes();
            }
        }

        private void openLane() throws IOException {
            if (regions < REGIONS && users.size() < device.granted) {
                try {
                    users.add(new LaneUser(regions));
                    regions++;
                } catch (NvmeDeviceException e) {
                    // A queue that was closed is not deleted yet.
                    assertThat(e).hasMessageContaining("all are in use");
                }
            }
        }

        private void closeLane() {
            if (!users.isEmpty() && !users.getLast().lane.hasOutstanding()) {
                LaneUser user = users.removeLast();
                user.takeEnds();
                user.close();
            }
        }

        private void runLanes() {
            for (LaneUser user : List.copyOf(users)) {
                if (random.nextInt(3) != 0) {
                    user.cycle();
                }
            }
        }

        /** A lane with a region of the drive to itself; each piece of it has at most one request. */
        private final class LaneUser {
            final BackendLane lane;
            private final int region;
            private final Arena arena = Arena.ofConfined();
            private final MemorySegment memory = arena.allocate(REGION_BYTES + 4096, 4096);
            /** Where the first piece begins: not every drive takes odd addresses. */
            private final int shift = Math.max(0, random.nextInt(9) - 5);

            private final BackendMapping mapping;
            private final LaneRequest[] requests = new LaneRequest[PIECES];
            private final @Nullable BackendOperation[] under = new BackendOperation[PIECES];
            private final byte[][] written = new byte[PIECES][];
            /** What each piece must hold; null if nobody knows. */
            private final byte[][] expected = new byte[PIECES][];

            boolean drains;

            LaneUser(int region) throws IOException {
                this.region = region;
                lane = backend.openLane(() -> {});
                if (lane instanceof NvmeLane made) {
                    seen.merge(made.queue().isInBuffer() ? "in the buffer" : "in host memory", 1, Integer::sum);
                }
                device.refusesToMap = random.nextInt(8) == 0;
                mapping = lane.map(memory, null);
                device.refusesToMap = false;
                for (int i = 0; i < PIECES; i++) {
                    requests[i] = new LaneRequest(memory, shift + (long) i * PIECE_BYTES);
                }
            }

            void cycle() {
                lane.poll(device.nanoTime());
                takeEnds();
                int piece = random.nextInt(PIECES);
                if (!drains && under[piece] == null) {
                    start(piece);
                }
            }

            void close() {
                mapping.close();
                arena.close(); // the simulation would copy from or to memory that is not there any more
                lane.close();
            }

            private MemorySegment data(int piece) {
                return memory.asSlice(shift + (long) piece * PIECE_BYTES, PIECE_BYTES);
            }

            private void start(int piece) {
                byte[] known = expected[piece];
                BackendOperation operation = switch (random.nextInt(known == null ? 3 : 6)) {
                    case 0, 1 -> BackendOperation.WRITE;
                    case 2 ->
                        switch (random.nextInt(3)) {
                            case 0 -> BackendOperation.WRITE_ZEROES;
                            case 1 -> BackendOperation.DEALLOCATE;
                            default -> BackendOperation.FLUSH;
                        };
                    case 3 -> BackendOperation.COMPARE;
                    default -> BackendOperation.READ;
                };
                MemorySegment data = data(piece);
                byte[] bytes = new byte[PIECE_BYTES];
                switch (operation) {
                    case WRITE -> random.nextBytes(bytes);
                    case COMPARE -> bytes = Arrays.copyOf(known, PIECE_BYTES);
                    case READ -> Arrays.fill(bytes, (byte) 0x5a);
                    default -> {}
                }
                data.copyFrom(MemorySegment.ofArray(bytes));
                written[piece] = bytes;
                under[piece] = operation;
                boolean writes = operation == BackendOperation.WRITE || operation == BackendOperation.WRITE_ZEROES;
                if (writes || operation == BackendOperation.DEALLOCATE) {
                    expected[piece] = null;
                }
                requests[piece].start(
                        lane,
                        random.nextInt(4) == 0 ? null : mapping,
                        operation,
                        (long) region * REGION_BYTES + (long) piece * PIECE_BYTES,
                        operation == BackendOperation.FLUSH ? 0 : PIECE_BYTES,
                        writes && random.nextBoolean());
            }

            void takeEnds() {
                for (int piece = 0; piece < PIECES; piece++) {
                    BackendOperation operation = under[piece];
                    if (operation == null || requests[piece].isUnderWay()) {
                        continue;
                    }
                    under[piece] = null;
                    if (requests[piece].status() != BackendStatus.SUCCESS) {
                        failed(requests[piece]);
                        continue;
                    }
                    seen.merge(operation.toString(), 1, Integer::sum);
                    switch (operation) {
                        case WRITE, WRITE_ZEROES -> expected[piece] = written[piece];
                        case READ ->
                            assertThat(data(piece).toArray(ValueLayout.JAVA_BYTE))
                                    .isEqualTo(expected[piece]);
                        default -> {}
                    }
                }
            }

            private void failed(LaneRequest request) {
                assertThat(request.status()).isEqualTo(BackendStatus.DEVICE_STATUS);
                int status = request.deviceStatus();
                String what = switch (NvmeStatus.code(status)) {
                    case NvmeStatus.COMMAND_INTERRUPTED -> "to try again";
                    case NvmeStatus.UNRECOVERED_READ_ERROR -> "failed";
                    case NvmeStatus.INTERNAL_ERROR -> "for good";
                    default -> throw new AssertionError(NvmeStatus.describe(status));
                };
                assertThat(NvmeStatus.doNotRetry(status)).isEqualTo(what.equals("for good"));
                seen.merge(what, 1, Integer::sum);
            }
        }
    }
}
