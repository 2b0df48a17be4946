package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
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
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.testkit.Seeds;

/**
 * Lanes that come, go and stall beside a control thread, on a controller that loses commands, fails, hangs and is removed: each command
 * ends once, data is right, and the controller touches no memory that is not mapped. Lanes go on wherever the control thread waits.
 */
class NvmeLanesSeedsTest {
    private static final long SECOND = 1_000_000_000;
    private static final int PIECES = 6;
    private static final int PIECE_BLOCKS = 64;
    private static final int PIECE_BYTES = PIECE_BLOCKS * SimulatedNvme.BLOCK_BYTES;

    /** Thousands of aborts and resets would be told. */
    private static final Logger TROUBLE = Logger.getLogger(NvmeController.class.getName());

    private final Map<String, Integer> seen = new HashMap<>();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path sysfs;

    @BeforeAll
    static void silence() {
        TROUBLE.setLevel(Level.OFF);
    }

    @AfterAll
    static void speakAgain() {
        TROUBLE.setLevel(null);
    }

    @Test
    void keepsEachPromiseInAnyOrderOfTrouble() {
        Seeds.each(500, seed -> new Trouble(seed).run());
        if (Long.getLong("nvmf4j.seed") == null) {
            assertThat(seen)
                    .containsKeys(
                            "right", "failed", "by a reset", "for good", "lanes", "resets", "SGLs", "in the buffer");
        }
    }

    private void count(String what, int times) {
        if (times > 0) {
            seen.merge(what, times, Integer::sum);
        }
    }

    private final class Trouble {
        private final Random random;
        private final SimulatedNvme device;
        private final SimulatedCmb cmb = new SimulatedCmb();
        private final @Nullable CmbQueues places;
        private final NvmeController controller;
        private final List<Lane> lanes = new ArrayList<>();
        private boolean inControl;
        private int regions;

        Trouble(long seed) throws IOException {
            random = new Random(seed);
            device = new SimulatedNvme(seed);
            device.mdts = 3 + random.nextInt(4);
            device.granted = 1 + random.nextInt(4);
            device.sgls = random.nextInt(3);
            device.cap = ControllerProperties.cap(1 + random.nextInt(63), 500 * random.nextInt(5))
                    | (long) random.nextInt(4) << 32;
            if (random.nextBoolean()) {
                device.cmb = cmb;
                cmb.find(device, SimulatedDrives.ADDRESS, sysfs);
                places = CmbQueues.reserve("drive", device, device.granted);
            } else {
                places = null;
            }
            controller = NvmeController.start(device, device, device, device.memoryBuffer());
            device.loses = random.nextInt(3) * 20;
            device.fails = random.nextInt(3) * 10;
            device.meanwhile = this::runLanes;
        }

        void run() throws IOException {
            for (int i = 0; i < 300; i++) {
                step();
            }
            device.ignores = -1;
            for (Lane lane : List.copyOf(lanes)) {
                lane.stalledUntil = 0;
                lane.drains = true;
                while (lane.queue.outstanding() > 0) {
                    device.pause();
                    control();
                }
            }
            if (random.nextBoolean()) {
                lanes.forEach(Lane::close);
                lanes.clear();
                control();
            }
            controller.close();
            lanes.forEach(lane -> lane.memory.close());
            count("resets", (int) controller.resets());
            count("SGLs", device.described);
            assertThat(device.allocations()).isZero();
            if (places != null) {
                places.close();
            }
            device.close();
            assertThat(cmb.maps).isZero();
        }

        private void step() throws IOException {
            switch (random.nextInt(40)) {
                case 0, 1, 2 -> control();
                case 3 -> device.pass(SECOND);
                case 4 -> {
                    if (random.nextInt(10) == 0 && !controller.isUnusable()) {
                        reset();
                    }
                }
                case 5 -> {
                    if (random.nextInt(10) == 0) {
                        device.fatal();
                    }
                }
                case 6 -> {
                    if (random.nextInt(100) == 0) {
                        device.removed = true;
                    }
                }
                case 7 -> device.ignores = random.nextInt(4) == 0 ? AdminOpcode.ABORT : -1;
                case 8 -> device.stuck = random.nextInt(20) == 0;
                case 9, 10 -> openLane();
                case 11 -> closeLane();
                case 12 -> {
                    if (!lanes.isEmpty() && random.nextInt(10) == 0) {
                        lanes.get(random.nextInt(lanes.size())).stalledUntil =
                                device.nanoTime() + random.nextLong(3 * SECOND);
                    }
                }
                case 13 -> {
                    if (random.nextInt(10) == 0) {
                        device.resetFunction();
                    }
                }
                case 14, 15, 16, 17, 18, 19, 20 -> device.pause();
                default -> runLanes();
            }
        }

        private void control() throws IOException {
            inControl = true;
            try {
                controller.lookAfter();
            } catch (NvmeDeviceException e) {
                assertThat(controller.isUnusable()).as(e.getMessage()).isTrue();
            }
            inControl = false;
        }

        private void reset() throws IOException {
            inControl = true;
            try {
                controller.reset();
            } catch (NvmeDeviceException e) {
                assertThat(controller.isUnusable()).as(e.getMessage()).isTrue();
            }
            inControl = false;
        }

        private void openLane() throws IOException {
            if (lanes.size() < device.granted && regions < SimulatedNvme.BLOCKS / (PIECES * PIECE_BLOCKS)) {
                try {
                    lanes.add(new Lane(regions++));
                    count("lanes", 1);
                } catch (NvmeDeviceException e) {
                    // A queue that was closed is not deleted yet.
                    assertThat(e).hasMessageContaining("all are in use");
                }
            }
        }

        private void closeLane() {
            if (!lanes.isEmpty() && lanes.getLast().queue.outstanding() == 0) {
                lanes.removeLast().close();
            }
        }

        private void runLanes() {
            for (Lane lane : List.copyOf(lanes)) {
                if (random.nextInt(3) != 0) {
                    lane.cycle();
                }
            }
            if (inControl && random.nextInt(10) == 0) {
                closeLane();
            }
        }

        /** A lane with blocks and memory of its own. */
        private final class Lane implements NvmeQueue.Handler {
            final NvmeIoQueue io;
            final NvmeQueue queue;
            final DmaMemory memory;
            private final int region;
            /** By slot: the piece that it works on, or -1. */
            private final int[] pieceOfSlot = new int[64];

            private final boolean[] busy = new boolean[PIECES];
            private final boolean[] writes = new boolean[PIECES];
            /** What a piece must hold; null if a write of it failed. */
            private final byte[][] expected = new byte[PIECES][];

            long stalledUntil;
            boolean drains;

            Lane(int region) throws IOException {
                this.region = region;
                io = controller.openQueue(2 + random.nextInt(15), places, () -> {});
                queue = io.queue();
                count("in the buffer", queue.isInBuffer() ? 1 : 0);
                memory = device.allocate((long) PIECES * PIECE_BYTES);
                Arrays.fill(pieceOfSlot, -1);
                for (int i = 0; i < PIECES; i++) {
                    expected[i] = new byte[PIECE_BYTES];
                }
            }

            void cycle() {
                if (device.nanoTime() < stalledUntil) {
                    return;
                }
                io.poll(device.nanoTime(), this);
                assertThat(io.isUnusable() && !io.isRunning() && queue.outstanding() > 0)
                        .isFalse();
                for (int i = random.nextInt(3); i > 0 && !drains && io.isRunning(); i--) {
                    submit();
                }
                if (io.isRunning() && (drains || random.nextInt(4) != 0)) {
                    queue.ring();
                }
            }

            /** Nothing is outstanding, so that the controller is through with the memory. */
            void close() {
                io.close();
                memory.close();
            }

            private void submit() {
                int piece = random.nextInt(PIECES);
                int slot = busy[piece] ? -1 : queue.take();
                if (slot < 0) {
                    return;
                }
                boolean write = expected[piece] == null || random.nextBoolean();
                MemorySegment data = memory.segment().asSlice((long) piece * PIECE_BYTES, PIECE_BYTES);
                if (write) {
                    byte[] bytes = new byte[PIECE_BYTES];
                    random.nextBytes(bytes);
                    data.copyFrom(MemorySegment.ofArray(bytes));
                    expected[piece] = bytes;
                } else {
                    data.fill((byte) 0x5a);
                }
                busy[piece] = true;
                writes[piece] = write;
                pieceOfSlot[slot] = piece;
                ReadWriteCommand.write(
                        queue.commands(),
                        queue.commandAt(),
                        write ? IoOpcode.WRITE : IoOpcode.READ,
                        slot,
                        1,
                        (long) (region * PIECES + piece) * PIECE_BLOCKS,
                        PIECE_BLOCKS,
                        false);
                queue.data(slot, memory.busAddress() + (long) piece * PIECE_BYTES, PIECE_BYTES);
                queue.submit(slot, device.nanoTime() + 3 * SECOND);
            }

            @Override
            public void ended(int slot, int status, int result) {
                int piece = pieceOfSlot[slot];
                assertThat(piece).as("piece of slot %d", slot).isNotNegative();
                pieceOfSlot[slot] = -1;
                busy[piece] = false;
                if (NvmeStatus.isSuccess(status)) {
                    byte[] found = memory.segment()
                            .asSlice((long) piece * PIECE_BYTES, PIECE_BYTES)
                            .toArray(ValueLayout.JAVA_BYTE);
                    assertThat(found).isEqualTo(expected[piece]);
                    count("right", 1);
                    return;
                }
                // What the device itself has ended can be found at the end, too.
                assertThat(status)
                        .isIn(
                                device.failure,
                                NvmeStatus.ABORT_REQUESTED,
                                io.isUnusable() ? NvmeController.ENDED_FOR_GOOD : NvmeController.ENDED_BY_RESET);
                count(
                        switch (status) {
                            case NvmeController.ENDED_BY_RESET -> "by a reset";
                            case NvmeController.ENDED_FOR_GOOD -> "for good";
                            default -> "failed";
                        },
                        1);
                if (writes[piece]) {
                    expected[piece] = null;
                }
            }
        }
    }
}
