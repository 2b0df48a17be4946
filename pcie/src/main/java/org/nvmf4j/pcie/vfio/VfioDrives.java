package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.pcie.CmbPeerMemory;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.PciTopology;
import org.nvmf4j.pcie.nvme.DmaAllocator;
import org.nvmf4j.pcie.nvme.NvmeCmb;
import org.nvmf4j.pcie.nvme.NvmeDrives;
import org.nvmf4j.pcie.nvme.NvmeHardware;
import org.nvmf4j.pcie.nvme.NvmeRegisters;
import org.nvmf4j.pcie.nvme.Pace;
import org.nvmf4j.target.spi.PeerBlock;

/**
 * Takes drives through VFIO. All share one container, from the first that is open to the last that is not given back, since two may be in
 * one IOMMU group. The memory buffers that they have are offered as peer memory. Thread-safe.
 */
public final class VfioDrives implements NvmeDrives.Opener {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.pcie");

    /** Makes a container. */
    interface Containers {
        VfioContainer open() throws IOException;
    }

    private final Consumer<CmbPeerMemory> offer;
    private final Containers containers;
    private @Nullable VfioContainer container;

    /**
     * Holds nothing yet.
     *
     * @param offer hears of each memory buffer, which is closed with its drive
     */
    public VfioDrives(Consumer<CmbPeerMemory> offer) {
        this(offer, VfioContainer::open);
    }

    VfioDrives(Consumer<CmbPeerMemory> offer, Containers containers) {
        this.offer = offer;
        this.containers = containers;
    }

    @Override
    public synchronized NvmeHardware open(PciAddress address) throws IOException {
        VfioContainer shared = container;
        VfioDevice device = shared == null ? null : shared.openUnlessClosed(address);
        if (shared == null || device == null) {
            shared = containers.open();
            container = shared;
            device = openFirst(shared, address);
        }
        boolean fits = false;
        try {
            NvmeHardware hardware = new Drive(shared, device);
            fits = true;
            return hardware;
        } finally {
            if (!fits) {
                device.close();
            }
        }
    }

    private static VfioDevice openFirst(VfioContainer made, PciAddress address) throws IOException {
        boolean fits = false;
        try {
            VfioDevice device = made.open(address);
            fits = true;
            return device;
        } finally {
            if (!fits) {
                made.close();
            }
        }
    }

    private final class Drive implements NvmeHardware, Pace {
        private static final long PAUSE_NANOS = 100_000;

        private final VfioContainer memory;
        private final VfioDevice device;
        private final VfioRegisters registers;
        private final @Nullable NvmeCmb buffer;
        private @Nullable CmbPeerMemory offered;
        private boolean closed;

        Drive(VfioContainer memory, VfioDevice device) throws IOException {
            this.memory = memory;
            this.device = device;
            registers = device.registers();
            boolean fits = false;
            try {
                buffer = findBuffer();
                if (buffer != null) {
                    offered = new CmbPeerMemory(device.address(), buffer, PciTopology.SYSFS);
                    offer.accept(offered);
                }
                fits = true;
            } finally {
                if (!fits) {
                    if (offered != null) {
                        offered.close();
                    }
                    registers.close();
                }
            }
        }

        private @Nullable NvmeCmb findBuffer() {
            try {
                NvmeCmb found = NvmeCmb.find(registers, device);
                if (found != null && found.sizeBytes() < found.description().sizeBytes()) {
                    LOGGER.log(
                            System.Logger.Level.INFO,
                            "of the memory buffer of drive " + device.address() + ", "
                                    + found.description().sizeBytes() + " bytes, only the first " + found.sizeBytes()
                                    + " are used: there BAR "
                                    + found.description().bar() + " ends");
                }
                return found;
            } catch (IOException e) {
                LOGGER.log(
                        System.Logger.Level.WARNING,
                        "the memory buffer of drive " + device.address() + " is not used: " + e.getMessage());
                return null;
            }
        }

        @Override
        public NvmeRegisters registers() {
            return registers;
        }

        @Override
        public DmaAllocator dma() {
            return memory;
        }

        @Override
        public Pace pace() {
            return this;
        }

        @Override
        public @Nullable NvmeCmb memoryBuffer() {
            return buffer;
        }

        @Override
        public @Nullable PeerBlock allocateInBuffer(long bytes) throws IOException {
            return offered == null ? null : offered.allocate(bytes);
        }

        @Override
        public boolean isWanted() {
            return device.isRemovalRequested();
        }

        @Override
        public void giveBack() {
            if (offered != null) {
                offered.close(); // unmapped when the last block has come back
                offered = null;
            }
            registers.close();
            device.close();
        }

        @Override
        public synchronized void close() {
            if (!closed) {
                closed = true;
                giveBack();
            }
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public void pause() {
            LockSupport.parkNanos(this, PAUSE_NANOS);
        }
    }
}
