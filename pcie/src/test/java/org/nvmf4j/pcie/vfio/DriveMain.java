package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.DescriptorWaiter;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.pcie.CmbPeerMemory;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.PciTopology;
import org.nvmf4j.pcie.nvme.DmaMemory;
import org.nvmf4j.pcie.nvme.NvmeCmb;
import org.nvmf4j.pcie.nvme.NvmeController;
import org.nvmf4j.pcie.nvme.NvmeIoQueue;
import org.nvmf4j.pcie.nvme.NvmeQueue;
import org.nvmf4j.pcie.nvme.Pace;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * Drives real functions that are bound to vfio-pci, where there is no Maven: in the guest of {@code interop/}. {@code DriveMain check FIRST
 * SECOND} has the first, which has a memory buffer, and the second write patterns to their namespaces from host memory and from that
 * buffer, and read them back; {@code interop/cases/pcie.sh} then compares the media from outside, for a status alone tells nothing of data.
 * {@code DriveMain busy FIRST} reads and writes until it is killed. Their serial numbers are their addresses.
 */
final class DriveMain {
    private static final int MIB = 1 << 20;
    private static final int BLOCK_BYTES = 512;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);
    private static final int[] SIZES = {4096, 8192, 65536, 128 << 10, MIB};

    private DriveMain() {}

    public static void main(String[] words) throws Exception {
        if (words[0].equals("busy")) {
            busy(PciAddress.parse(words[1]));
        } else {
            check(PciAddress.parse(words[1]), PciAddress.parse(words[2]));
            System.out.println("all data is as it was written");
        }
    }

    /** A function, its controller, and one queue of it. */
    private static final class Drive implements Pace, AutoCloseable {
        final VfioDevice device;
        private final VfioRegisters registers;
        final NvmeController controller;
        final @Nullable CmbPeerMemory buffer;
        private @Nullable NvmeIoQueue queue;
        private int status;
        private int byPrps;
        private int bySgl;

        Drive(VfioContainer container, PciAddress address) throws IOException {
            device = container.open(address);
            registers = device.registers();
            NvmeCmb cmb = NvmeCmb.find(registers, device);
            controller = NvmeController.start(registers, container, this, cmb);
            buffer = cmb == null ? null : new CmbPeerMemory(address, cmb, PciTopology.SYSFS);
            queue = controller.openQueue(64, () -> {});
            require(
                    controller.identify().sn().strip().equals(address.toString()),
                    address + " has serial number " + controller.identify().sn());
            awaitRunning();
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        /** This thread is the controller's and the lane's. */
        @Override
        public void pause() {
            if (queue != null) {
                queue.poll(nanoTime(), this::ended);
            }
        }

        private NvmeIoQueue io() {
            return Objects.requireNonNull(queue);
        }

        void awaitRunning() throws IOException {
            for (long start = System.nanoTime(); !io().isRunning(); ) {
                controller.lookAfter();
                pause();
                require(System.nanoTime() - start < PATIENCE_NANOS, "the queue does not run");
            }
        }

        private void ended(int slot, int status, int result) {
            this.status = status;
        }

        /** Moves data between the medium and an address on the bus. */
        void move(int opcode, long mediumOffset, long address, int bytes) throws IOException {
            for (int done = 0; done < bytes; ) {
                int piece = (int) Math.min(bytes - done, controller.maxTransferBytes());
                NvmeQueue commands = io().queue();
                int slot = commands.take();
                status = -1;
                ReadWriteCommand.write(
                        commands.commands(),
                        commands.commandAt(),
                        opcode,
                        slot,
                        1,
                        (mediumOffset + done) / BLOCK_BYTES,
                        piece / BLOCK_BYTES,
                        false);
                commands.data(slot, address + done, piece);
                if (SubmissionQueueEntry.psdt(commands.commands(), commands.commandAt()) == 0) {
                    byPrps++;
                } else {
                    bySgl++;
                }
                commands.submit(slot, System.nanoTime() + PATIENCE_NANOS);
                commands.ring();
                while (status < 0) {
                    if (io().poll(nanoTime(), this::ended) == 0) {
                        controller.lookAfter();
                    }
                }
                require(status == 0, String.format("status 0x%x", status));
                done += piece;
            }
        }

        /** Writes a pattern out of some memory, and reads it back into it. */
        void roundTrip(long mediumOffset, int bytes, MemorySegment memory, long address) throws IOException {
            MemorySegment pattern = pattern(mediumOffset, bytes);
            MemorySegment.copy(pattern, 0, memory, 0, bytes);
            move(IoOpcode.WRITE, mediumOffset, address, bytes);
            memory.asSlice(0, bytes).fill((byte) 0x5a);
            move(IoOpcode.READ, mediumOffset, address, bytes);
            require(
                    pattern.mismatch(memory.asSlice(0, bytes)) < 0,
                    bytes + " bytes at " + mediumOffset + " are not what was written");
        }

        @Override
        public void close() {
            io().close();
            controller.close();
            if (buffer != null) {
                buffer.close();
            }
            registers.close();
            device.close();
        }
    }

    /** What belongs to a place of the medium; interop/cases/pcie.sh makes the same. */
    static MemorySegment pattern(long mediumOffset, int bytes) {
        byte[] pattern = new byte[bytes];
        for (int i = 0; i < bytes; i += 8) {
            long word = mediumOffset + i;
            for (int j = 0; j < 8; j++) {
                pattern[i + j] = (byte) (word >>> (8 * j) ^ 0xa5);
            }
        }
        return MemorySegment.ofArray(pattern);
    }

    private static void check(PciAddress first, PciAddress second) throws Exception {
        try (VfioContainer container = VfioContainer.open();
                Drive one = new Drive(container, first);
                Drive two = new Drive(container, second);
                DmaMemory memory = container.allocate(MIB)) {
            CmbPeerMemory cmb = Objects.requireNonNull(one.buffer, "the first has no memory buffer");
            require(two.buffer == null && cmb.isPublished() && cmb.sizeBytes() == 16 * MIB, "other memory buffers");
            try (PeerBlock block = Objects.requireNonNull(cmb.allocate(MIB))) {
                long at = 0;
                for (int bytes : SIZES) {
                    one.roundTrip(at, bytes, memory.segment(), memory.busAddress());
                    one.roundTrip(
                            at + MIB, bytes, block.segment(), block.busAddress().orElseThrow());
                    at += 2 * MIB;
                }
                // Two PRPs describe 8 KiB; QEMU's controllers have SGLs for more.
                require(one.byPrps > 0 && one.bySgl > 0, one.byPrps + " commands by PRPs, " + one.bySgl + " by SGLs");
                System.out.println("data in host memory and in the memory buffer, " + one.byPrps
                        + " commands by PRPs and " + one.bySgl + " by SGLs");
                try (DmaMemory peer = container.map(block.segment())) {
                    at = 0;
                    for (int bytes : SIZES) {
                        two.roundTrip(at, bytes, block.segment(), peer.busAddress());
                        at += 2 * MIB;
                    }
                    // From drive to drive: what is on the first's medium goes into the buffer and on to the second's.
                    one.move(IoOpcode.READ, 8 * MIB, block.busAddress().orElseThrow(), MIB);
                    two.move(IoOpcode.WRITE, 16 * MIB, peer.busAddress(), MIB);
                }
                System.out.println("data of the second in the memory buffer of the first");
            }
            interrupts(one);
            reset(one, memory);
        }
    }

    /** The admin queue interrupts by vector 0. */
    private static void interrupts(Drive drive) throws Exception {
        try (VfioInterrupts interrupts = drive.device.interrupts(1);
                DescriptorWaiter waiter =
                        new DescriptorWaiter(interrupts.vector(0).fd())) {
            drive.controller.namespaceIds();
            waiter.await(PATIENCE_NANOS);
            require(interrupts.vector(0).take() > 0, "no interrupt");
        }
        System.out.println("interrupts");
    }

    /** Takes everything from the controller while it has queues; then it is started anew. */
    private static void reset(Drive drive, DmaMemory memory) throws IOException {
        drive.device.reset();
        drive.controller.reset();
        drive.awaitRunning();
        drive.roundTrip(20L * MIB, 65536, memory.segment(), memory.busAddress());
        CmbPeerMemory cmb = Objects.requireNonNull(drive.buffer);
        try (PeerBlock block = Objects.requireNonNull(cmb.allocate(65536))) {
            drive.roundTrip(
                    21L * MIB, 65536, block.segment(), block.busAddress().orElseThrow());
        }
        System.out.println("function reset");
    }

    private static void busy(PciAddress address) throws IOException {
        try (VfioContainer container = VfioContainer.open();
                Drive drive = new Drive(container, address);
                DmaMemory memory = container.allocate(MIB)) {
            Random random = new Random(1);
            for (long round = 0; ; round++) {
                drive.roundTrip(24L * MIB + 65536L * random.nextInt(16), 65536, memory.segment(), memory.busAddress());
                if (round == 2) {
                    System.out.println("busy");
                }
            }
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
