package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.PageMemory;
import org.nvmf4j.pcie.NvmeFunction;
import org.nvmf4j.pcie.NvmeFunctions;
import org.nvmf4j.pcie.PciAddress;
import org.nvmf4j.pcie.PciTopology;
import org.nvmf4j.pcie.nvme.DmaAllocator;
import org.nvmf4j.pcie.nvme.DmaMemory;

/**
 * Functions that share one I/O address space, and the memory in it (a VFIO container with a type 1 IOMMU). A group is held from the first
 * of its functions that is opened until the last is closed. With the last group the address space ends, and the container with it; its
 * memory is no device's any more, and stays until it is closed. Closing the container closes functions and memory too. If the process
 * dies the kernel does the same. Thread-safe, the closing of memory included.
 */
public final class VfioContainer implements DmaAllocator, AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger("org.nvmf4j.pcie");

    private final Kernel kernel;
    private final Path sysfs;
    private final Path devices;
    private final int fd;
    private final Map<Integer, Group> groups = new HashMap<>();
    private final List<Mapping> mappings = new ArrayList<>();
    private @Nullable IovaSpace space;
    private boolean closed;

    /** A group that is ours. */
    private static final class Group {
        private final int number;
        private final int fd;
        private final List<VfioDevice> opened = new ArrayList<>();

        Group(int number, int fd) {
            this.number = number;
            this.fd = fd;
        }
    }

    /** A container of this machine. */
    public static VfioContainer open() throws IOException {
        return new VfioContainer(Kernel.LINUX, PciTopology.SYSFS, Path.of("/dev/vfio"));
    }

    /**
     * A container.
     *
     * @param devices the folder of {@code vfio} and of the groups' files
     */
    VfioContainer(Kernel kernel, Path sysfs, Path devices) throws IOException {
        this.kernel = kernel;
        this.sysfs = sysfs;
        this.devices = devices;
        Path file = devices.resolve("vfio");
        try {
            fd = kernel.open(file);
        } catch (LinuxException e) {
            throw VfioErrors.open(file, e);
        }
        boolean fits = false;
        try {
            int version = kernel.ioctl(fd, Abi.Constants.GET_API_VERSION, 0);
            if (version != Abi.Constants.API_VERSION) {
                throw new IOException("this kernel's VFIO has version " + version + ", and only 0 is known here");
            }
            if (kernel.ioctl(fd, Abi.Constants.CHECK_EXTENSION, Abi.Constants.TYPE1v2_IOMMU) == 0) {
                throw new IOException("VFIO has no type 1 IOMMU here: run 'modprobe vfio_iommu_type1'");
            }
            fits = true;
        } finally {
            if (!fits) {
                kernel.close(fd);
            }
        }
    }

    /**
     * Takes a function that is bound to vfio-pci. The kernel has just reset it.
     *
     * @throws IOException with one line that says what is in the way, and what to do
     */
    public synchronized VfioDevice open(PciAddress address) throws IOException {
        checkOpen();
        NvmeFunctions functions = new NvmeFunctions(sysfs);
        NvmeFunction function = functions
                .find(address)
                .orElseThrow(() -> new IOException("there is no PCI function " + address
                        + "; 'nvmf pcie list' shows the NVMe functions that there are"));
        String refusal = function.refusal();
        if (!refusal.isEmpty()) {
            throw new IOException(refusal);
        }
        Group known = groups.get(function.iommuGroup());
        Group group = known != null ? known : attach(function);
        VfioDevice device = null;
        try {
            device = take(group, address);
        } finally {
            if (device == null && group.opened.isEmpty()) {
                leave(group);
            }
        }
        return device;
    }

    /** The same, or null if the container is over. */
    synchronized @Nullable VfioDevice openUnlessClosed(PciAddress address) throws IOException {
        return closed ? null : open(address);
    }

    private VfioDevice take(Group group, PciAddress address) throws IOException {
        int file;
        try (Arena arena = Arena.ofConfined()) {
            file = kernel.ioctl(group.fd, Abi.Constants.GROUP_GET_DEVICE_FD, arena.allocateFrom(address.toString()));
        } catch (LinuxException e) {
            throw VfioErrors.device(address, e);
        }
        VfioDevice device = VfioDevice.of(kernel, file, address, closed -> forget(group, closed));
        group.opened.add(device);
        boolean fits = false;
        try {
            for (IovaSpace.Range range : device.memoryRanges()) {
                space().exclude(range);
            }
            fits = true;
        } finally {
            if (!fits) {
                device.close();
            }
        }
        return device;
    }

    /** The function is closed: its group is others' to have when it was the last of it. */
    private synchronized void forget(Group group, VfioDevice device) {
        group.opened.remove(device);
        if (group.opened.isEmpty()) {
            leave(group);
        }
    }

    /** Leaves a group that is not used; with the last one, the kernel undoes all mappings. */
    private void leave(Group group) {
        if (groups.remove(group.number, group)) {
            kernel.close(group.fd);
            if (groups.isEmpty()) {
                end();
            }
        }
    }

    private void end() {
        if (!closed) {
            closed = true;
            kernel.close(fd);
        }
    }

    /** Has the group of a function in this container. */
    private Group attach(NvmeFunction function) throws IOException {
        Path file = devices.resolve(Integer.toString(function.iommuGroup()));
        int group;
        try {
            group = kernel.open(file);
        } catch (LinuxException e) {
            throw VfioErrors.group(file, e);
        }
        boolean fits = false;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = Structs.allocate(arena, Abi.VfioGroupStatus.SIZE);
            kernel.ioctl(group, Abi.Constants.GROUP_GET_STATUS, status);
            if ((Structs.getInt(status, Abi.VfioGroupStatus.FLAGS) & Abi.Constants.GROUP_FLAGS_VIABLE) == 0) {
                throw VfioErrors.notViable(function);
            }
            MemorySegment container = arena.allocate(Integer.BYTES, Integer.BYTES);
            Structs.setInt(container, 0, fd);
            kernel.ioctl(group, Abi.Constants.GROUP_SET_CONTAINER, container);
            if (space == null) {
                space = translate(function.address());
            }
            Group made = new Group(function.iommuGroup(), group);
            groups.put(made.number, made);
            fits = true;
            return made;
        } finally {
            if (!fits) {
                kernel.close(group);
            }
        }
    }

    private IovaSpace translate(PciAddress address) throws IOException {
        try {
            kernel.ioctl(fd, Abi.Constants.SET_IOMMU, Abi.Constants.TYPE1v2_IOMMU);
        } catch (LinuxException e) {
            throw VfioErrors.iommu(address, e);
        }
        IovaSpace made = new IovaSpace(Structs.iovaRanges(kernel, fd));
        for (IovaSpace.Range range : MemoryWindows.of(sysfs)) {
            made.exclude(range);
        }
        return made;
    }

    private IovaSpace space() {
        if (space == null) {
            throw new IllegalStateException("there is no address space before a function is opened");
        }
        return space;
    }

    private void checkOpen() throws IOException {
        if (closed) {
            throw new IOException("the VFIO container is closed");
        }
    }

    @Override
    public DmaMemory allocate(long bytes) throws IOException {
        if (bytes <= 0 || bytes > Long.MAX_VALUE - IovaSpace.PAGE_BYTES) {
            throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
        }
        Pages pages = new Pages(bytes + IovaSpace.PAGE_BYTES - 1 & -IovaSpace.PAGE_BYTES);
        boolean mapped = false;
        try {
            DmaMemory memory = map(pages.segment, pages);
            mapped = true;
            return memory;
        } finally {
            if (!mapped) {
                pages.close();
            }
        }
    }

    @Override
    public DmaMemory map(MemorySegment memory) throws IOException {
        if (!memory.isNative()
                || memory.byteSize() == 0
                || ((memory.address() | memory.byteSize()) & (IovaSpace.PAGE_BYTES - 1)) != 0) {
            throw new IllegalArgumentException("only whole pages can be mapped for a device: " + memory);
        }
        return map(memory, null);
    }

    private synchronized DmaMemory map(MemorySegment memory, @Nullable Pages pages) throws IOException {
        checkOpen();
        long iova = space().allocate(memory.byteSize());
        boolean mapped = false;
        try (Arena local = Arena.ofConfined()) {
            MemorySegment request = Structs.allocate(local, Abi.VfioIommuType1DmaMap.SIZE);
            Structs.setInt(
                    request,
                    Abi.VfioIommuType1DmaMap.FLAGS,
                    Abi.Constants.DMA_MAP_FLAG_READ | Abi.Constants.DMA_MAP_FLAG_WRITE);
            Structs.setLong(request, Abi.VfioIommuType1DmaMap.VADDR, memory.address());
            Structs.setLong(request, Abi.VfioIommuType1DmaMap.IOVA, iova);
            Structs.setLong(request, Abi.VfioIommuType1DmaMap.LENGTH, memory.byteSize());
            kernel.ioctl(fd, Abi.Constants.IOMMU_MAP_DMA, request);
            mapped = true;
        } catch (LinuxException e) {
            throw VfioErrors.map(memory.byteSize(), e);
        } finally {
            if (!mapped) {
                space().free(iova, memory.byteSize());
            }
        }
        Mapping mapping = new Mapping(memory, iova, pages);
        mappings.add(mapping);
        return mapping;
    }

    /** Takes a mapping back, and gives the memory back if it is ours. */
    private synchronized void unmap(Mapping mapping) {
        if (!mappings.remove(mapping)) {
            return;
        }
        if (!closed) {
            unmap(mapping.iova, mapping.segment.byteSize());
        }
        if (mapping.pages != null) {
            mapping.pages.close();
        }
    }

    /** What the kernel does not take back stays out of use. */
    private void unmap(long iova, long bytes) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment request = Structs.allocate(local, Abi.VfioIommuType1DmaUnmap.SIZE);
            Structs.setLong(request, Abi.VfioIommuType1DmaUnmap.IOVA, iova);
            Structs.setLong(request, Abi.VfioIommuType1DmaUnmap.LENGTH, bytes);
            kernel.ioctl(fd, Abi.Constants.IOMMU_UNMAP_DMA, request);
            space().free(iova, bytes);
        } catch (LinuxException e) {
            LOGGER.log(System.Logger.Level.WARNING, "memory at 0x%x stays mapped: %s".formatted(iova, e.getMessage()));
        }
    }

    @Override
    public synchronized void close() {
        for (Group group : List.copyOf(groups.values())) {
            List.copyOf(group.opened).forEach(VfioDevice::close); // from now on none of them touches memory
            leave(group);
        }
        end();
        List.copyOf(mappings).forEach(Mapping::close);
    }

    /** Memory of our own. */
    private static final class Pages {
        private final Arena arena = Arena.ofShared();
        private final MemorySegment segment;

        Pages(long bytes) throws IOException {
            try {
                segment = PageMemory.allocate(arena, bytes);
            } catch (OutOfMemoryError e) {
                arena.close();
                throw new IOException("no memory for " + bytes + " bytes: " + e.getMessage(), e);
            }
        }

        void close() {
            arena.close();
        }
    }

    private final class Mapping implements DmaMemory {
        private final MemorySegment segment;
        private final long iova;
        private final @Nullable Pages pages;

        /**
         * Memory that is mapped.
         *
         * @param pages that go with it, if it is ours
         */
        Mapping(MemorySegment segment, long iova, @Nullable Pages pages) {
            this.segment = segment;
            this.iova = iova;
            this.pages = pages;
        }

        @Override
        public MemorySegment segment() {
            return segment;
        }

        @Override
        public long busAddress() {
            return iova;
        }

        @Override
        public void close() {
            unmap(this);
        }
    }
}
