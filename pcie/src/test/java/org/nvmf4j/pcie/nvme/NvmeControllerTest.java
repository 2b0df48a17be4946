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
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IdentifyControllerNvm;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;

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
        return NvmeController.start(device, device, device, null);
    }

    /** One queue, and how its commands have ended. */
    private static final class Client implements NvmeQueue.Handler {
        final SimulatedNvme device;
        final NvmeController controller;
        final NvmeIoQueue io;
        final NvmeQueue queue;
        final int[] statuses = new int[64];

        Client(SimulatedNvme device, NvmeController controller) throws IOException {
            this.device = device;
            this.controller = controller;
            io = controller.openQueue(16, () -> {});
            queue = io.queue();
            Arrays.fill(statuses, -1);
            device.meanwhile = this::poll;
            awaitRunning();
        }

        void poll() {
            io.poll(device.nanoTime(), this);
        }

        void awaitRunning() throws IOException {
            while (!io.isRunning()) {
                controller.lookAfter();
                device.pause();
            }
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
                device.pause();
                controller.lookAfter();
            }
            return statuses[slot];
        }

        /** After a failure for good. */
        void follow() {
            poll();
            assertThat(io.isUnusable()).isTrue();
            assertThat(queue.outstanding()).isZero();
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

    /** CAP.TO, CRTO if the controller has it, how long it takes, and whether that is in time; all in milliseconds. */
    @ParameterizedTest
    @CsvSource({
        "0,,400,true",
        "0,,700,false",
        "2000,,2400,true",
        "127500,200000,190000,true",
        "127500,200000,201000,false"
    })
    void waitsUntilItIsReady(int timeout, Integer crto, long takes, boolean inTime) throws IOException {
        device.cap = ControllerProperties.cap(63, timeout) | (crto == null ? 0 : ControllerProperties.CAP_CRWMS);
        device.crto = crto == null ? 0 : crto / 500;
        device.readyNanos = takes * 1_000_000;
        if (inTime) {
            start().close();
        } else {
            assertThatThrownBy(this::start)
                    .isInstanceOf(NvmeDeviceException.class)
                    .hasMessage("the controller does not become ready within "
                            + (Math.max(timeout, crto == null ? 0 : crto) + 500) + " ms");
        }
        assertThat(device.allocations()).isZero();
    }

    /** RTD3E, how long the controller takes, and whether it is waited for; all in milliseconds. */
    @ParameterizedTest
    @CsvSource({
        "0,4500,true",
        "1000,4500,true",
        "8000,7500,true",
        "8000,9000,false",
        "4000000,59000,true",
        "4000000,61000,false"
    })
    void waitsForTheShutdown(long rtd3e, long takes, boolean waitedFor) throws IOException {
        device.rtd3e = (int) (rtd3e * 1000);
        device.shutdownNanos = takes * 1_000_000;
        start().close();
        assertThat(device.shutDown).isEqualTo(waitedFor);
        assertThat(device.allocations()).isZero();
    }

    /** In 1.0 CNS is one bit, in 1.1 two. */
    @ParameterizedTest
    @ValueSource(strings = {"0x10000", "0x10100", "0x10201", "0x20000"})
    void asksOldControllersOnlyForWhatTheyKnow(String version) throws IOException {
        device.version = Integer.decode(version);
        device.limits = new IdentifyControllerNvm().wzsl(3);
        try (NvmeController controller = start()) {
            assertThat(controller.namespaceIds()).containsExactly(1);
            assertThat(controller.limits().wzsl()).isEqualTo(device.version > 0x10100 ? 3 : 0);
        }
    }

    /** SGLS, where the data begins in a page, its blocks, and whether two PRPs do not describe it, so that an SGL does. */
    @ParameterizedTest
    @CsvSource({
        "0,0,1,false",
        "0,0,8,false",
        "0,0,9,false",
        "0,0,16,false",
        "0,0,17,false",
        "0,0,256,false",
        "0,512,7,false",
        "0,512,8,false",
        "0,512,15,false",
        "0,512,16,false",
        "0,512,255,false",
        "0,3584,1,false",
        "0,3584,250,false",
        "1,0,1,false",
        "1,0,16,false",
        "1,0,17,true",
        "1,512,15,false",
        "1,512,16,true",
        "1,3584,250,true",
        "1,1,1,true",
        "1,4095,256,true",
        "2,0,16,false",
        "2,0,17,true",
        "2,4,16,true",
        "2,3584,250,true",
        "3,0,256,false"
    })
    void movesDataWhereverItLies(int sgls, int offset, int blocks, boolean described) throws IOException {
        device.sgls = sgls;
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(256 << 10)) {
            Client client = new Client(device, controller);
            int bytes = blocks * SimulatedNvme.BLOCK_BYTES;
            byte[] data = new byte[bytes];
            new Random(offset + blocks).nextBytes(data);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, memory.segment(), offset, bytes);
            int write = client.submit(IoOpcode.WRITE, 7, blocks, memory.busAddress() + offset);
            assertThat(client.await(write)).isZero();
            assertThat(device.medium().at(7 * 512, bytes)).isEqualTo(data);
            memory.segment().fill((byte) 0x5a);
            int read = client.submit(IoOpcode.READ, 7, blocks, memory.busAddress() + offset);
            assertThat(client.await(read)).isZero();
            assertThat(memory.segment().asSlice(offset, bytes).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(data);
            assertThat(device.described).isEqualTo(described ? 2 : 0);
        }
        assertThat(device.allocations()).isZero();
    }

    /** SGLS, MDTS, the largest transfer, the alignment of data, and the memory that a queue takes. */
    @ParameterizedTest
    @CsvSource({
        "0,5,131072,4,3",
        "0,0,2097152,4,3",
        "1,5,131072,1,2",
        "1,0,9223372036854775807,1,2",
        "2,0,9223372036854775807,4,2",
        "3,0,2097152,4,3"
    })
    void isLimitedByListsOnlyWhereThereAreNoSgls(int sgls, int mdts, long maxBytes, int alignment, int memories)
            throws IOException {
        device.sgls = sgls;
        device.mdts = mdts;
        try (NvmeController controller = start()) {
            assertThat(controller.maxTransferBytes()).isEqualTo(maxBytes);
            assertThat(controller.dataAlignmentBytes()).isEqualTo(alignment);
            int before = device.allocations();
            controller.openQueue(8, () -> {});
            assertThat(device.allocations() - before).isEqualTo(memories);
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
    void givesAsManyQueuesAsThereAre() throws IOException {
        device.granted = 2;
        try (NvmeController controller = start()) {
            assertThat(controller.maxQueues()).isEqualTo(2);
            NvmeIoQueue one = controller.openQueue(1024, () -> {});
            assertThat(one.queue().entries()).isEqualTo(64);
            NvmeIoQueue two = controller.openQueue(1024, () -> {});
            assertThatThrownBy(() -> controller.openQueue(1024, () -> {}))
                    .isInstanceOf(NvmeDeviceException.class)
                    .hasMessage("the controller has 2 I/O queues and all are in use; use fewer lanes");
            controller.lookAfter();
            one.close();
            controller.lookAfter();
            NvmeIoQueue three = controller.openQueue(1024, () -> {});
            assertThat(three.qid()).isEqualTo(1);
            controller.lookAfter();
            for (NvmeIoQueue queue : List.of(two, three)) {
                assertThat(queue.poll(device.nanoTime(), (slot, status, result) -> {}))
                        .isOne();
                assertThat(queue.isRunning()).isTrue();
            }
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
        device.ignores = AdminOpcode.ABORT;
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            assertThat(client.await(slot)).isEqualTo(NvmeController.ENDED_BY_RESET);
            assertThat(controller.resets()).isOne();
            device.loses = 0;
            client.awaitRunning();
            assertThat(client.await(client.submit(IoOpcode.READ, 0, 1, memory.busAddress())))
                    .isZero();
        }
        assertThat(device.allocations()).isZero();
    }

    /** What it answers too late it may write where a later answer is. */
    @Test
    void resetsAControllerThatDoesNotAnswerAnAdminCommand() throws IOException {
        try (NvmeController controller = start()) {
            device.ignores = AdminOpcode.IDENTIFY;
            assertThatThrownBy(() -> controller.namespace(1))
                    .hasMessage("the controller does not answer Identify within 10 s");
            device.ignores = -1;
            assertThatThrownBy(() -> controller.namespace(1))
                    .hasMessage("the controller has yet to answer an admin command that was given up");
            controller.lookAfter();
            assertThat(controller.resets()).isOne();
            assertThat(controller.namespace(1).nsze()).isEqualTo(SimulatedNvme.BLOCKS);
        }
        assertThat(device.allocations()).isZero();
    }

    /** CAP.DSTRD, the size of BAR 0 and the queues that have doorbells there: of one queue pair, they take eight bytes and more. */
    @ParameterizedTest
    @CsvSource({"0,65536,8", "0,4120,2", "0,4119,1", "1,4160,3", "4,4352,1", "10,65536,6"})
    void usesNoQueueWhoseDoorbellsAreOutOfReach(int stride, long barBytes, int queues) throws IOException {
        device.cap |= (long) stride << 32;
        device.registerBytes = barBytes;
        try (NvmeController controller = start()) {
            assertThat(controller.maxQueues()).isEqualTo(queues);
        }
        assertThat(device.allocations()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"0,4096", "0,4111", "0,1024", "4,4351", "15,65536"})
    void refusesAControllerWithoutDoorbells(int stride, long barBytes) {
        device.cap |= (long) stride << 32;
        device.registerBytes = barBytes;
        assertThatThrownBy(this::start).hasMessageContaining("no doorbells of an I/O queue in BAR 0 of " + barBytes);
        assertThat(device.allocations()).isZero();
    }

    @Test
    void refusesAControllerWithoutQueuesOfTwoEntries() throws IOException {
        device.cap = ControllerProperties.cap(0, 2000);
        assertThatThrownBy(this::start).hasMessageContaining("no queues of two entries");
        assertThat(device.allocations()).isZero();
        device.cap = ControllerProperties.cap(1, 2000);
        try (NvmeController controller = start()) {
            Client client = new Client(device, controller);
            try (DmaMemory memory = device.allocate(4096)) {
                for (int i = 0; i < 5; i++) {
                    int slot = client.submit(IoOpcode.READ, i, 1, memory.busAddress());
                    assertThat(client.await(slot)).isEqualTo(NvmeStatus.SUCCESS);
                }
            }
            client.io.close();
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
            client.awaitRunning();
            assertThat(client.await(client.submit(IoOpcode.READ, 0, 1, memory.busAddress())))
                    .isZero();
        }
    }

    @Test
    void startsAControllerAgainThatSomebodyElseHasReset() throws IOException {
        List<Integer> heard = new ArrayList<>();
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            controller.onEvent(heard::add);
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            long before = device.nanoTime();
            device.resetFunction();
            assertThat(client.await(slot)).isEqualTo(NvmeController.ENDED_BY_RESET);
            assertThat(device.nanoTime() - before).as("not by a timeout").isLessThan(SECOND);
            client.awaitRunning();
            assertThat(client.await(client.submit(IoOpcode.READ, 0, 1, memory.busAddress())))
                    .isZero();
            while (!device.raise(7)) {
                device.pause();
            }
            controller.lookAfter();
        }
        assertThat(heard).containsExactly(7);
        assertThat(device.allocations()).isZero();
    }

    @Test
    void startsAControllerAgainThatSomebodyElseHasTurnedOff() throws IOException {
        try (NvmeController controller = start();
                DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            long before = device.nanoTime();
            device.turnOff();
            assertThat(client.await(slot)).isEqualTo(NvmeController.ENDED_BY_RESET);
            assertThat(device.nanoTime() - before).as("not by a timeout").isLessThan(SECOND);
            client.awaitRunning();
            assertThat(client.await(client.submit(IoOpcode.READ, 0, 1, memory.busAddress())))
                    .isZero();
            assertThat(controller.resets()).isOne();
        }
        assertThat(device.allocations()).isZero();
    }

    @Test
    void cutsOffAControllerWhoseRegistersCannotBeReached() throws IOException {
        NvmeController controller = start();
        try (DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            device.cutOff();
            assertThatThrownBy(controller::lookAfter).hasMessageContaining("has gone");
            assertThat(device.isBusMaster()).isFalse();
            client.follow();
            assertThat(client.statuses[slot]).isEqualTo(NvmeController.ENDED_FOR_GOOD);
            controller.close();
        }
        assertThat(device.allocations()).isZero();
    }

    @Test
    void startsAControllerAgainThatIsResetBeforeAnAdminCommand() throws IOException {
        List<Integer> heard = new ArrayList<>();
        try (NvmeController controller = start()) {
            controller.onEvent(event -> {
                heard.add(event);
                if (event == 1) {
                    device.resetFunction(); // next, the driver reads the event's log page
                }
            });
            new Client(device, controller);
            for (int event = 1; event <= 3; event++) {
                while (!device.raise(event)) {
                    device.pause();
                }
                long before = device.nanoTime();
                controller.lookAfter();
                assertThat(device.nanoTime() - before).as("not by a timeout").isLessThan(SECOND);
            }
            assertThat(controller.resets()).isOne();
        }
        assertThat(heard).containsExactly(1, 2, 3);
    }

    @Test
    void cutsOffAControllerThatDoesNotStop() throws IOException {
        device.loses = 1;
        device.ignores = AdminOpcode.ABORT;
        NvmeController controller = start();
        try (DmaMemory memory = device.allocate(4096)) {
            Client client = new Client(device, controller);
            int slot = client.submit(IoOpcode.READ, 0, 1, memory.busAddress());
            device.stuck = true;
            assertThatThrownBy(() -> client.await(slot)).hasMessageContaining("does not stop within 2500 ms");
            client.follow();
            assertThat(client.statuses[slot]).isEqualTo(NvmeController.ENDED_FOR_GOOD);
            controller.lookAfter();
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
            client.follow();
            assertThat(client.statuses[one]).isEqualTo(NvmeController.ENDED_FOR_GOOD);
            assertThat(client.statuses[two]).isEqualTo(NvmeController.ENDED_FOR_GOOD);
            assertThat(controller.isRemoved()).isTrue();
            controller.close();
        }
        assertThat(device.allocations()).isZero();
        assertThatThrownBy(this::start).hasMessageContaining("do not answer");
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
        assertThat(device.logPages).isEqualTo(3);
    }
}
