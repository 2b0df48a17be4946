package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.EventCounter;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.SystemErrors;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.nvme.NvmeBars;

/**
 * A PCI function that is ours: its BARs, configuration space, interrupts and reset (vfio-pci). Closing it keeps it from memory first, and
 * lets the kernel reset it; mappings of its BARs stay until their arenas are closed, and until then the function is not free for others.
 * Thread-safe.
 */
public final class VfioDevice implements NvmeBars, AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.pcie");
    private static final int BARS = 6;

    private static final int COMMAND = 0x04;
    private static final int COMMAND_MEMORY = 1 << 1;
    private static final int COMMAND_BUS_MASTER = 1 << 2;
    private static final int NOBODYS_COMMAND = 0xffff;
    private static final int FIRST_BAR = 0x10;
    private static final int BAR_IS_IO = 1;
    private static final int BAR_TYPE = 3 << 1;
    private static final int BAR_TYPE_64 = 2 << 1;
    private static final long BAR_ADDRESS = ~0xfL;

    /** Whether a function answers at its BARs, or why it does not. */
    enum State {
        ANSWERS,
        TURNED_OFF,
        GONE
    }

    /** A part of the device's file. */
    private record Region(int flags, long sizeBytes, long offset) {}

    private final Kernel kernel;
    private final int fd;
    private final PciAddress address;
    private final Consumer<VfioDevice> whenClosed;
    private final int flags;
    private final List<Region> bars = new ArrayList<>();
    private final Region config;
    private final int vectors;
    /** The kernel counts here while it waits for us to let go of the function: it is unplugged, or somebody unbinds it. */
    private final EventCounter requests;

    private @Nullable VfioInterrupts interrupts;
    private volatile boolean removalRequested;
    private boolean closed;

    private VfioDevice(
            Kernel kernel, int fd, PciAddress address, Consumer<VfioDevice> whenClosed, EventCounter requests)
            throws IOException {
        this.kernel = kernel;
        this.fd = fd;
        this.address = address;
        this.whenClosed = whenClosed;
        this.requests = requests;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = Structs.allocate(arena, Abi.VfioDeviceInfo.NUM_IRQS + Integer.BYTES);
            kernel.ioctl(fd, Abi.Constants.DEVICE_GET_INFO, info);
            flags = Structs.getInt(info, Abi.VfioDeviceInfo.FLAGS);
            if (Structs.getInt(info, Abi.VfioDeviceInfo.NUM_REGIONS) <= Abi.Constants.PCI_CONFIG_REGION_INDEX
                    || Structs.getInt(info, Abi.VfioDeviceInfo.NUM_IRQS) <= Abi.Constants.PCI_MSIX_IRQ_INDEX) {
                throw new IOException("VFIO gives " + address + ", but not as a PCI function");
            }
            for (int bar = 0; bar < BARS; bar++) {
                bars.add(region(arena, bar));
            }
            config = region(arena, Abi.Constants.PCI_CONFIG_REGION_INDEX);
            vectors = interruptCount(arena, Abi.Constants.PCI_MSIX_IRQ_INDEX);
            if (Structs.getInt(info, Abi.VfioDeviceInfo.NUM_IRQS) > Abi.Constants.PCI_REQ_IRQ_INDEX
                    && interruptCount(arena, Abi.Constants.PCI_REQ_IRQ_INDEX) > 0) {
                setInterrupts(Abi.Constants.PCI_REQ_IRQ_INDEX, new int[] {requests.fd()});
            }
        }
    }

    /**
     * A device.
     *
     * @param fd becomes the device's, and is closed if there is none
     * @param whenClosed hears that it has been closed
     */
    static VfioDevice of(Kernel kernel, int fd, PciAddress address, Consumer<VfioDevice> whenClosed)
            throws IOException {
        EventCounter requests = null;
        boolean fits = false;
        try {
            requests = new EventCounter();
            VfioDevice device = new VfioDevice(kernel, fd, address, whenClosed, requests);
            fits = true;
            return device;
        } finally {
            if (!fits) {
                if (requests != null) {
                    requests.close();
                }
                kernel.close(fd);
            }
        }
    }

    private Region region(Arena arena, int index) throws LinuxException {
        MemorySegment info = Structs.allocate(arena, Abi.VfioRegionInfo.SIZE);
        Structs.setInt(info, Abi.VfioRegionInfo.INDEX, index);
        kernel.ioctl(fd, Abi.Constants.DEVICE_GET_REGION_INFO, info);
        return new Region(
                Structs.getInt(info, Abi.VfioRegionInfo.FLAGS),
                Structs.getLong(info, Abi.VfioRegionInfo.LENGTH),
                Structs.getLong(info, Abi.VfioRegionInfo.OFFSET));
    }

    private int interruptCount(Arena arena, int index) throws LinuxException {
        MemorySegment info = Structs.allocate(arena, Abi.VfioIrqInfo.SIZE);
        Structs.setInt(info, Abi.VfioIrqInfo.INDEX, index);
        kernel.ioctl(fd, Abi.Constants.DEVICE_GET_IRQ_INFO, info);
        return Structs.getInt(info, Abi.VfioIrqInfo.COUNT);
    }

    /** Has interrupts counted by descriptors, or by none any more. */
    private void setInterrupts(int index, int[] descriptors) throws LinuxException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = Structs.allocate(arena, Abi.VfioIrqSet.SIZE + descriptors.length * Integer.BYTES);
            int data = descriptors.length == 0 ? Abi.Constants.IRQ_SET_DATA_NONE : Abi.Constants.IRQ_SET_DATA_EVENTFD;
            Structs.setInt(set, Abi.VfioIrqSet.FLAGS, data | Abi.Constants.IRQ_SET_ACTION_TRIGGER);
            Structs.setInt(set, Abi.VfioIrqSet.INDEX, index);
            Structs.setInt(set, Abi.VfioIrqSet.COUNT, descriptors.length);
            for (int i = 0; i < descriptors.length; i++) {
                Structs.setInt(set, Abi.VfioIrqSet.SIZE + (long) i * Integer.BYTES, descriptors[i]);
            }
            kernel.ioctl(fd, Abi.Constants.DEVICE_SET_IRQS, set);
        }
    }

    public PciAddress address() {
        return address;
    }

    // BARs.

    @Override
    public long sizeBytes(int bar) {
        return bars.get(bar).sizeBytes;
    }

    /** As the configuration space has it, which is where devices find it. */
    @Override
    public long busAddress(int bar) throws IOException {
        int at = FIRST_BAR + bar * Integer.BYTES;
        int low = readConfig(at, Integer.BYTES);
        if ((low & BAR_IS_IO) != 0) {
            throw new IOException("BAR " + bar + " of " + address + " is no memory but I/O ports");
        }
        long high = (low & BAR_TYPE) == BAR_TYPE_64 ? readConfig(at + Integer.BYTES, Integer.BYTES) : 0;
        return high << 32 | (Integer.toUnsignedLong(low) & BAR_ADDRESS);
    }

    /** Where its BARs' memory is on the bus. */
    List<IovaSpace.Range> memoryRanges() throws IOException {
        List<IovaSpace.Range> ranges = new ArrayList<>();
        for (int bar = 0; bar < BARS; bar++) {
            if (bars.get(bar).sizeBytes > 0 && (readConfig(FIRST_BAR + bar * Integer.BYTES, 1) & BAR_IS_IO) == 0) {
                long start = busAddress(bar);
                if (start >= 0 && start <= Long.MAX_VALUE - bars.get(bar).sizeBytes - IovaSpace.PAGE_BYTES) {
                    ranges.add(new IovaSpace.Range(start, start + bars.get(bar).sizeBytes));
                }
            }
        }
        return ranges;
    }

    /** Touching it when the function has gone may be an {@link InternalError}. */
    @Override
    public synchronized MemorySegment map(Arena arena, int bar, long offset, long lengthBytes) throws IOException {
        checkOpen();
        Region region = bars.get(bar);
        if ((region.flags & Abi.Constants.REGION_INFO_FLAG_MMAP) == 0) {
            throw new IOException("BAR " + bar + " of " + address + " cannot be mapped");
        }
        if (offset < 0 || lengthBytes > region.sizeBytes - offset) {
            throw new IOException("BAR " + bar + " of " + address + " has only " + region.sizeBytes + " bytes");
        }
        return kernel.map(arena, fd, region.offset + offset, lengthBytes);
    }

    /**
     * The registers behind BAR 0; they read as all ones once the device is closed.
     *
     * @throws IOException if they cannot be mapped
     */
    public VfioRegisters registers() throws IOException {
        return new VfioRegisters(this);
    }

    // Configuration space.

    /** An unsigned little-endian number of 1, 2 or 4 bytes. */
    private synchronized int readConfig(int offset, int bytes) throws IOException {
        checkOpen();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment word = arena.allocate(Integer.BYTES, Integer.BYTES);
            kernel.read(fd, config.offset + offset, word.asSlice(0, bytes));
            return Structs.getInt(word, 0);
        }
    }

    private synchronized void writeConfig16(int offset, int value) throws IOException {
        checkOpen();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment word = arena.allocate(Integer.BYTES, Integer.BYTES);
            Structs.setInt(word, 0, value);
            kernel.write(fd, config.offset + offset, word.asSlice(0, Short.BYTES));
        }
    }

    /** Lets the function read and write memory by itself, or keeps it from that. */
    void busMaster(boolean allowed) throws IOException {
        int command = readConfig(COMMAND, Short.BYTES);
        writeConfig16(COMMAND, allowed ? command | COMMAND_BUS_MASTER : command & ~COMMAND_BUS_MASTER);
    }

    /** Has the function answer at its BARs. */
    void decodeMemory() throws IOException {
        writeConfig16(COMMAND, readConfig(COMMAND, Short.BYTES) | COMMAND_MEMORY);
    }

    /** While somebody else resets the function, the kernel has this wait. */
    State state() {
        try {
            // Not the vendor's ID: VFIO knows that of one that has gone, too.
            int command = readConfig(COMMAND, Short.BYTES);
            if (command == NOBODYS_COMMAND) {
                return State.GONE;
            }
            return (command & COMMAND_MEMORY) == 0 ? State.TURNED_OFF : State.ANSWERS;
        } catch (IOException e) {
            return State.GONE;
        }
    }

    // Interrupts, reset, removal.

    /** How many MSI-X vectors it has. */
    public int vectors() {
        return vectors;
    }

    /**
     * Takes the first MSI-X vectors, until what is returned is closed.
     *
     * @param count 1 to {@link #vectors}
     */
    public synchronized VfioInterrupts interrupts(int count) throws IOException {
        checkOpen();
        if (interrupts != null) {
            throw new IllegalStateException("the interrupts of " + address + " are taken already");
        }
        if (count < 1 || count > vectors) {
            throw new IOException(address + " has " + vectors + " MSI-X vectors, not " + count);
        }
        VfioInterrupts made = new VfioInterrupts(this, count);
        try {
            setInterrupts(Abi.Constants.PCI_MSIX_IRQ_INDEX, made.descriptors());
        } catch (LinuxException e) {
            made.closeCounters();
            throw new IOException(
                    "no " + count + " interrupts for " + address + ": " + SystemErrors.describe(e.errno()), e);
        }
        interrupts = made;
        return made;
    }

    synchronized void release(VfioInterrupts released) {
        if (interrupts == released) {
            interrupts = null;
            try {
                setInterrupts(Abi.Constants.PCI_MSIX_IRQ_INDEX, new int[0]);
            } catch (LinuxException e) {
                LOGGER.log(System.Logger.Level.WARNING, "interrupts of " + address + ": " + e.getMessage());
            }
            released.closeCounters();
        }
    }

    /**
     * Resets the function (FLR or what there is in its place): it forgets queues, interrupts in flight and what it was doing. Bus mastering
     * and interrupts stay as they were set.
     *
     * @throws IOException if it cannot be reset by itself
     */
    public synchronized void reset() throws IOException {
        checkOpen();
        if ((flags & Abi.Constants.DEVICE_FLAGS_RESET) == 0) {
            throw new IOException(address + " cannot be reset by itself: it has no function level reset");
        }
        try {
            kernel.ioctl(fd, Abi.Constants.DEVICE_RESET, 0);
        } catch (LinuxException e) {
            throw new IOException("reset of " + address + ": " + SystemErrors.describe(e.errno()), e);
        }
    }

    /** Whether the kernel waits for us to close the function, as it is unplugged or unbound; once so, always so. */
    public boolean isRemovalRequested() {
        if (!removalRequested) {
            synchronized (this) {
                try {
                    removalRequested |= requests.take() > 0;
                } catch (LinuxException e) {
                    LOGGER.log(System.Logger.Level.WARNING, address + ": " + e.getMessage());
                }
            }
        }
        return removalRequested;
    }

    /** What {@link #isRemovalRequested} looks at. */
    EventCounter requests() {
        return requests;
    }

    private void checkOpen() throws IOException {
        if (closed) {
            throw new IOException(address + " is closed");
        }
    }

    @Override
    public void close() {
        if (letGo()) {
            whenClosed.accept(this);
        }
    }

    /** False if that has been done. */
    private synchronized boolean letGo() {
        if (closed) {
            return false;
        }
        if (interrupts != null) {
            release(interrupts);
        }
        try {
            busMaster(false);
        } catch (IOException e) {
            // It has gone, and touches nothing any more.
        }
        closed = true;
        requests.close();
        kernel.close(fd);
        return true;
    }

    synchronized boolean isClosed() {
        return closed;
    }
}
