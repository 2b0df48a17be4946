package org.nvmf4j.pcie.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.testkit.Seeds;

class NvmeControllerTest {
    private static final long SECOND = 1_000_000_000;

    /** Hundreds of aborts and resets would be told. */
    private static final Logger TROUBLE = Logger.getLogger(NvmeController.class.getName());

    private final SimulatedNvme device = new SimulatedNvme(1);

    @BeforeAll
    static void silence() {
        TROUBLE.setLevel(Level.OFF);
    }

    @AfterAll
    static void speakAgain() {
        TROUBLE.setLevel(null);
    }

    private NvmeController start() throws IOException {
        return NvmeController.start(device, device, device);
    }

    /** One queue, and how its commands have ended. */
    private static final class Client implements NvmeQueue.Handler {
        final SimulatedNvme device;
        final NvmeController controller;
        final NvmeQueue queue;
        final int[] statuses = new int[64];

        Client(SimulatedNvme device, NvmeController controller) throws IOException {
            this.device = device;
            this.controller = controller;
            queue = controller.createIoQueues(16, List.of(this)).getFirst();
            Arrays.fill(statuses, -1);
        }

        @Override
        public void ended(int slot, int status, int result) {
            assertThat(statuses[slot]).as("slot %d ended twice", slot).isEqualTo(-1);
            statuses[slot] = status;
        }

        int submit(int opcode, long slba, int blocks, long address) {
            int slot = queue.take();
            assertThat(slot).isNotNegative();
            statuses[slot] = -1;
            ReadWriteCommand.write(queue.commands(), queue.commandAt(), opcode, slot, 1, slba, blocks, false);
            queue.data(slot, address, (long) blocks * SimulatedNvme.BLOCK_BYTES);
            queue.submit(slot, device.nanoTime() + 5 * SECOND);
            queue.ring();
            return slot;
        }

        int await(int slot) throws IOException {
            while (statuses[slot] < 0) {
                if (queue.poll(this) == 0) {
                    controller.lookAfter();
                    device.pause();
                }
            }
            return statuses[slot];
        }
    }

    @Test
    void startsIdentifiesAndGivesEverythingBack() throws IOException {
        try (NvmeController controller = start()) {
            assertThat(controller.identify().sn().strip()).isEqualTo("SIMULATED");
            assertThat(controller.namespaceIds()).containsExactly(1);
            assertThat(controller.namespace(1).nsze()).isEqualTo(SimulatedNvme.BLOCKS);
            assertThat(controller.maxTransferBytes()).isEqualTo(128 << 10);
        }
        assertThat(device.allocations()).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "0,1",
        "0,8",
        "0,9",
        "0,16",
        "0,17",
        "0,256",
        "512,7",
        "512,8",
        "512,15",
        "512,16",
        "512,255",
        "3584,1",
        "3584,250"
    })
    void movesDataWhereverItLies(int offset, int blocks) throws IOException {
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(256 << 10)) {
            Client client = new Client(device, controller);
            int bytes = blocks * SimulatedNvme.BLOCK_BYTES;
            byte[] data = new byte[bytes];
            new Random(offset + blocks).nextBytes(data);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, memory.segment(), offset, bytes);
            int write = client.submit(IoOpcode.WRITE, 7, blocks, memory.busAddress() + offset);
            assertThat(client.await(write)).isZero();
            assertThat(Arrays.copyOfRange(device.medium(), 7 * 512, 7 * 512 + bytes))
                    .isEqualTo(data);
            memory.segment().fill((byte) 0x5a);
            int read = client.submit(IoOpcode.READ, 7, blocks, memory.busAddress() + offset);
            assertThat(client.await(read)).isZero();
            assertThat(memory.segment().asSlice(offset, bytes).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(data);
        }
        assertThat(device.allocations()).isZero();
    }

    @Test
    void passesStatusesOn() throws IOException {
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, SimulatedNvme.BLOCKS, 1, memory.busAddress());
            assertThat(client.await(slot)).isEqualTo(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
        }
    }

    @Test
    void takesFewerQueuesThanItAskedFor() throws IOException {
        device.granted = 2;
        NvmeQueue.Handler none = (slot, status, result) -> {};
        try (NvmeController controller = start()) {
            assertThat(controller.createIoQueues(1024, List.of(none, none, none, none)))
                    .hasSize(2)
                    .allMatch(queue -> queue.entries() == 64);
        }
        assertThat(device.allocations()).isZero();
    }

    @Test
    void abortsACommandThatIsOverdue() throws IOException {
        device.loses = 1;
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            assertThat(client.await(slot)).isEqualTo(NvmeStatus.ABORT_REQUESTED);
            assertThat(controller.resets()).isZero();
        }
    }

    @Test
    void resetsAControllerThatDoesNotAbortAndGoesOn() throws IOException {
        device.loses = 1;
        device.deaf = true;
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            assertThat(client.await(slot)).isEqualTo(NvmeController.ENDED_BY_RESET);
            assertThat(controller.resets()).isOne();
            device.loses = 0;
            assertThat(client.await(client.submit(IoOpcode.READ, 0, 1, memory.busAddress())))
                    .isZero();
        }
        assertThat(device.allocations()).isZero();
    }

    @Test
    void resetsAControllerThatReportsAFatalError() throws IOException {
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            device.fatal();
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            assertThat(client.await(slot)).isEqualTo(NvmeController.ENDED_BY_RESET);
            assertThat(client.await(client.submit(IoOpcode.READ, 0, 1, memory.busAddress())))
                    .isZero();
        }
    }

    @Test
    void cutsOffAControllerThatDoesNotStop() throws IOException {
        device.loses = 1;
        device.deaf = true;
        NvmeController controller = start();
        try (DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            device.stuck = true;
            assertThatThrownBy(() -> client.await(slot)).hasMessageContaining("does not stop within 2000 ms");
            assertThat(client.statuses[slot]).isEqualTo(NvmeController.ENDED_BY_RESET);
            controller.close();
        }
        assertThat(device.allocations()).isZero();
    }

    @Test
    void endsEverythingOnceWhenTheControllerGoes() throws IOException {
        NvmeController controller = start();
        try (DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int one = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            int two = client.submit(IoOpcode.WRITE, 0, 1, memory.busAddress());
            device.removed = true;
            assertThatThrownBy(controller::lookAfter)
                    .isInstanceOf(NvmeDeviceException.class)
                    .hasMessageContaining("has gone");
            assertThat(client.statuses[one]).isEqualTo(NvmeController.ENDED_BY_REMOVAL);
            assertThat(client.statuses[two]).isEqualTo(NvmeController.ENDED_BY_REMOVAL);
            assertThat(controller.isRemoved()).isTrue();
            controller.close();
        }
        assertThat(device.allocations()).isZero();
        assertThatThrownBy(this::start).hasMessageContaining("all ones");
        assertThat(device.allocations()).isZero();
    }

    @Test
    void hearsOfEventsAgainAndAgain() throws IOException {
        List<Integer> heard = new ArrayList<>();
        try (NvmeController controller = start()) {
            controller.onEvent(heard::add);
            for (int event = 1; event <= 3; event++) {
                while (!device.raise(event)) {
                    device.pause();
                }
                controller.lookAfter();
            }
        }
        assertThat(heard).containsExactly(1, 2, 3);
    }

    @Test
    void keepsEachPromiseInAnyOrderOfTrouble() {
        Seeds.each(500, seed -> new Trouble(seed).run());
    }

    /** Reads and writes of pieces that do not overlap, under losses, resets, fatal errors and, at the end, perhaps a removal. */
    private static final class Trouble implements NvmeQueue.Handler {
        private static final int PIECES = 12;
        private static final int PIECE_BLOCKS = 64;
        private static final int PIECE_BYTES = PIECE_BLOCKS * SimulatedNvme.BLOCK_BYTES;

        private final Random random;
        private final SimulatedNvme device;
        private final NvmeController controller;
        private final NvmeQueue queue;
        private final DmaMemory memory;
        /** By slot: the piece that it works on, or -1. */
        private final int[] pieceOfSlot = new int[64];

        private final boolean[] busy = new boolean[PIECES];
        private final boolean[] writes = new boolean[PIECES];
        /** What a piece must hold; null if a write of it failed. */
        private final byte[][] expected = new byte[PIECES][];

        private long submitted;
        private long ended;

        Trouble(long seed) throws IOException {
            random = new Random(seed);
            device = new SimulatedNvme(seed);
            device.mdts = 3 + random.nextInt(4);
            controller = NvmeController.start(device, device, device);
            queue = controller
                    .createIoQueues(2 + random.nextInt(15), List.of(this))
                    .getFirst();
            memory = device.allocate((long) PIECES * PIECE_BYTES);
            Arrays.fill(pieceOfSlot, -1);
            for (int i = 0; i < PIECES; i++) {
                expected[i] = new byte[PIECE_BYTES];
            }
            device.loses = random.nextInt(3) * 20;
        }

        void run() throws IOException {
            boolean gone = false;
            try {
                for (int i = 0; i < 300; i++) {
                    step();
                }
                while (queue.outstanding() > 0) {
                    device.pause();
                    queue.poll(this);
                    controller.lookAfter();
                }
            } catch (NvmeDeviceException e) {
                gone = controller.isRemoved();
                assertThat(gone).as(e.getMessage()).isTrue();
            }
            assertThat(queue.outstanding()).isZero();
            assertThat(ended).isEqualTo(submitted);
            memory.close();
            controller.close();
            assertThat(device.allocations()).isZero();
        }

        private void step() throws IOException {
            switch (random.nextInt(40)) {
                case 0 -> controller.lookAfter();
                case 1 -> device.pass(SECOND);
                case 2 -> {
                    if (random.nextInt(10) == 0) {
                        controller.reset();
                    }
                }
                case 3 -> {
                    if (random.nextInt(10) == 0) {
                        device.fatal();
                    }
                }
                case 4 -> {
                    if (random.nextInt(60) == 0) {
                        device.removed = true;
                    }
                }
                case 5 -> device.deaf = random.nextInt(4) == 0;
                case 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 -> device.pause();
                case 16, 17, 18, 19, 20, 21 -> queue.poll(this);
                default -> submit();
            }
        }

        private void submit() {
            int piece = random.nextInt(PIECES);
            if (busy[piece]) {
                return;
            }
            int slot = queue.take();
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
                    (long) piece * PIECE_BLOCKS,
                    PIECE_BLOCKS,
                    false);
            queue.data(slot, memory.busAddress() + (long) piece * PIECE_BYTES, PIECE_BYTES);
            queue.submit(slot, device.nanoTime() + 3 * SECOND);
            if (random.nextBoolean()) {
                queue.ring();
            }
            submitted++;
        }

        @Override
        public void ended(int slot, int status, int result) {
            int piece = pieceOfSlot[slot];
            assertThat(piece).as("piece of slot %d", slot).isNotNegative();
            pieceOfSlot[slot] = -1;
            busy[piece] = false;
            ended++;
            if (NvmeStatus.isSuccess(status)) {
                byte[] found = memory.segment()
                        .asSlice((long) piece * PIECE_BYTES, PIECE_BYTES)
                        .toArray(ValueLayout.JAVA_BYTE);
                assertThat(found).isEqualTo(expected[piece]);
            } else {
                assertThat(status & NvmeStatus.DNR).isZero();
                if (writes[piece]) {
                    expected[piece] = null;
                }
            }
        }
    }
}
