package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.SystemErrors;

/**
 * A kernel with VFIO, and functions of one BAR each, which is memory, at bus address 0xfebf0000. Does what Linux does as far
 * as a user of VFIO can tell, refuses what it is told to, and takes a wrong order for an error of the test.
 */
final class FakeKernel implements Kernel {
    static final long BAR_BYTES = 16384;
    static final long BAR_ADDRESS = 0xfebf_0000L;
    static final int VECTORS = 3;
    private static final long CONFIG_OFFSET = 7L << 40;
    private static final int CAPS_OFFSET = 28; // not a multiple of 8, as with Linux

    /** What is behind a descriptor: the container, a group, or a function by its address. */
    private sealed interface File {
        final class Container implements File {
            final TreeMap<Long, Long> mappings = new TreeMap<>();
            boolean iommuSet;
        }

        record Group(String name) implements File {}

        record Device(Group group, MemorySegment config, MemorySegment bar, Map<Integer, List<Integer>> eventFds)
                implements File {}
    }

    private final Map<Integer, File> files = new HashMap<>();
    private final Map<File.Group, File.Container> attached = new HashMap<>();
    private final Map<String, Integer> errors = new HashMap<>();
    private final MemorySegment registers = Arena.ofAuto().allocate(BAR_BYTES, 4096);
    private int nextFd = 100;
    private boolean beingReset;

    /** Ranges that the IOMMU translates, ends inclusive; empty if it does not say. */
    long[][] ranges = {{0, 0xfedf_ffffL}, {0xfef0_0000L, 0x7f_ffff_ffffL}};

    boolean viable = true;
    int version;
    int resets;
    /** Set when a function was closed as a bus master. */
    boolean closedAsMaster;

    /** Has a call fail, by its name or its request: {@code open vfio}, {@code 0x3b71}. */
    FakeKernel refuse(String call, int errno) {
        errors.put(call, errno);
        return this;
    }

    private void check(String call) throws LinuxException {
        Integer errno = errors.get(call);
        if (errno != null) {
            throw new LinuxException(call, errno);
        }
    }

    /** The memory behind the BAR. */
    MemorySegment registers() {
        return registers;
    }

    /** Somebody else has the function, of which there is one, answer at its BAR no more, which reads as all ones then. */
    void turnOff() {
        registers.fill((byte) -1);
        files.values().stream()
                .filter(File.Device.class::isInstance)
                .forEach(device -> ((File.Device) device).config.set(ValueLayout.JAVA_SHORT_UNALIGNED, 4, (short) 0));
    }

    /** Somebody else resets the function: its registers read as all ones until a read of its configuration space, which waits. */
    void resetByOthers() {
        registers.fill((byte) -1);
        beingReset = true;
    }

    int openFiles() {
        return files.size();
    }

    int mappings() {
        return attached.values().stream()
                .distinct()
                .mapToInt(container -> container.mappings.size())
                .sum();
    }

    /** The descriptors that count a function's interrupts of an index. */
    List<Integer> eventFds(int index) {
        return files.values().stream()
                .filter(File.Device.class::isInstance)
                .map(File.Device.class::cast)
                .findFirst()
                .orElseThrow()
                .eventFds
                .getOrDefault(index, List.of());
    }

    @Override
    public int open(Path path) throws IOException {
        String name = String.valueOf(path.getFileName());
        check("open " + name);
        boolean group = !name.equals("vfio");
        if (group && files.containsValue(new File.Group(name))) {
            throw new LinuxException("open", SystemErrors.EBUSY);
        }
        return add(group ? new File.Group(name) : new File.Container());
    }

    private int add(File file) {
        files.put(nextFd, file);
        return nextFd++;
    }

    private File file(int fd) throws LinuxException {
        File file = files.get(fd);
        if (file == null) {
            throw new AssertionError("descriptor " + fd + " is closed");
        }
        return file;
    }

    @Override
    public int ioctl(int fd, int request, long argument) throws LinuxException {
        check(String.format("0x%x", request));
        File file = file(fd);
        switch (request) {
            case Abi.Constants.GET_API_VERSION -> {
                return version;
            }
            case Abi.Constants.CHECK_EXTENSION -> {
                return errors.containsKey("no type 1") ? 0 : 1;
            }
            case Abi.Constants.SET_IOMMU -> {
                File.Container container = (File.Container) file;
                if (!attached.containsValue(container) || container.iommuSet) {
                    throw new LinuxException("ioctl", SystemErrors.EINVAL);
                }
                container.iommuSet = true;
            }
            case Abi.Constants.DEVICE_RESET -> {
                resets++;
                ((File.Device) file).bar.fill((byte) 0);
            }
            default -> throw new AssertionError(String.format("request 0x%x with a number", request));
        }
        return 0;
    }

    @Override
    public int ioctl(int fd, int request, MemorySegment argument) throws LinuxException {
        check(String.format("0x%x", request));
        File file = file(fd);
        switch (request) {
            case Abi.Constants.GROUP_GET_STATUS -> Structs.setInt(argument, 4, viable ? 1 : 0);
            case Abi.Constants.GROUP_SET_CONTAINER -> {
                attached.put((File.Group) file, (File.Container) file(argument.get(ValueLayout.JAVA_INT, 0)));
            }
            case Abi.Constants.GROUP_GET_DEVICE_FD -> {
                return add(device((File.Group) file));
            }
            case Abi.Constants.IOMMU_GET_INFO -> iommuInfo(argument);
            case Abi.Constants.IOMMU_MAP_DMA -> mapDma((File.Container) file, argument);
            case Abi.Constants.IOMMU_UNMAP_DMA -> {
                File.Container container = (File.Container) file;
                if (!container.iommuSet
                        || !Objects.equals(
                                container.mappings.remove(Structs.getLong(argument, 8)),
                                Structs.getLong(argument, 16))) {
                    throw new LinuxException("ioctl", SystemErrors.EINVAL);
                }
            }
            case Abi.Constants.DEVICE_GET_INFO -> {
                Structs.setInt(argument, Abi.VfioDeviceInfo.FLAGS, 3);
                Structs.setInt(argument, Abi.VfioDeviceInfo.NUM_REGIONS, 9);
                Structs.setInt(argument, Abi.VfioDeviceInfo.NUM_IRQS, 5);
            }
            case Abi.Constants.DEVICE_GET_REGION_INFO -> regionInfo(argument);
            case Abi.Constants.DEVICE_GET_IRQ_INFO ->
                Structs.setInt(
                        argument, 12, Structs.getInt(argument, 8) == Abi.Constants.PCI_MSIX_IRQ_INDEX ? VECTORS : 1);
            case Abi.Constants.DEVICE_SET_IRQS -> setIrqs(((File.Device) file).eventFds, argument);
            default -> throw new AssertionError(String.format("request 0x%x", request));
        }
        return 0;
    }

    private File.Device device(File.Group group) {
        MemorySegment config = Arena.ofAuto().allocate(256);
        Structs.setInt(config, 0x10, (int) BAR_ADDRESS | 4);
        config.set(ValueLayout.JAVA_SHORT_UNALIGNED, 4, (short) 0x0103);
        return new File.Device(group, config, registers, new HashMap<>());
    }

    private void iommuInfo(MemorySegment info) {
        int size = ranges.length == 0 ? 24 : CAPS_OFFSET + 16 + 16 * ranges.length;
        Structs.setInt(info, 4, ranges.length == 0 ? 1 : 3);
        Structs.setLong(info, 8, 0x4020_1000L);
        if (info.byteSize() >= size && ranges.length > 0) {
            Structs.setInt(info, 16, CAPS_OFFSET);
            Structs.setInt(info, CAPS_OFFSET, 1 << 16 | 1);
            Structs.setInt(info, CAPS_OFFSET + 8, ranges.length);
            for (int i = 0; i < ranges.length; i++) {
                Structs.setLong(info, CAPS_OFFSET + 16 + 16L * i, ranges[i][0]);
                Structs.setLong(info, CAPS_OFFSET + 24 + 16L * i, ranges[i][1]);
            }
        }
        Structs.setInt(info, 0, size);
    }

    private void mapDma(File.Container container, MemorySegment request) throws LinuxException {
        long vaddr = Structs.getLong(request, 8);
        long iova = Structs.getLong(request, 16);
        long size = Structs.getLong(request, 24);
        Map.Entry<Long, Long> below = container.mappings.lowerEntry(iova + size);
        boolean translated = ranges.length == 0;
        for (long[] range : ranges) {
            translated |= range[0] <= iova && iova + size - 1 <= range[1];
        }
        if (!container.iommuSet || ((vaddr | iova | size) & 4095) != 0 || size == 0 || !translated) {
            throw new LinuxException("ioctl", SystemErrors.EINVAL);
        }
        if (below != null && below.getKey() + below.getValue() > iova) {
            throw new AssertionError("two mappings overlap");
        }
        container.mappings.put(iova, size);
    }

    private static void regionInfo(MemorySegment info) {
        int index = Structs.getInt(info, 8);
        Structs.setInt(info, 4, index == 0 ? 0xf : 0);
        Structs.setLong(info, 16, index == 0 ? BAR_BYTES : index == 7 ? 256 : 0);
        Structs.setLong(info, 24, (long) index << 40);
    }

    private static void setIrqs(Map<Integer, List<Integer>> all, MemorySegment set) {
        List<Integer> fds = new ArrayList<>();
        for (int i = 0; i < Structs.getInt(set, 16); i++) {
            fds.add(Structs.getInt(set, 20 + 4L * i));
        }
        if (Structs.getInt(set, 4) != (fds.isEmpty() ? 0x21 : 0x24)) {
            throw new AssertionError("flags of SET_IRQS");
        }
        all.put(Structs.getInt(set, 8), fds);
    }

    private MemorySegment config(int fd, long offset, long bytes) throws LinuxException {
        return ((File.Device) file(fd)).config.asSlice(offset - CONFIG_OFFSET, bytes);
    }

    @Override
    public void read(int fd, long offset, MemorySegment into) throws IOException {
        check("pread");
        if (beingReset) {
            beingReset = false;
            registers.fill((byte) 0);
        }
        into.copyFrom(config(fd, offset, into.byteSize()));
    }

    @Override
    public void write(int fd, long offset, MemorySegment from) throws IOException {
        check("pwrite");
        File.Device device = (File.Device) file(fd);
        boolean answered = answers(device);
        config(fd, offset, from.byteSize()).copyFrom(from);
        if (!answered && answers(device)) {
            registers.fill((byte) 0);
        }
    }

    private static boolean answers(File.Device device) {
        return (device.config.get(ValueLayout.JAVA_BYTE, 4) & 2) != 0;
    }

    private static boolean isMaster(File.Device device) {
        return (device.config.get(ValueLayout.JAVA_BYTE, 4) & 4) != 0;
    }

    @Override
    public MemorySegment map(Arena arena, int fd, long offset, long lengthBytes) throws IOException {
        check("mmap");
        MemorySegment bar = ((File.Device) file(fd)).bar;
        return MemorySegment.ofAddress(bar.address() + offset).reinterpret(lengthBytes, arena, null);
    }

    @Override
    public void close(int fd) {
        File file = files.remove(fd);
        switch (file) {
            case null -> throw new AssertionError("descriptor " + fd + " is closed twice");
            case File.Device device -> closedAsMaster |= isMaster(device);
            case File.Group group -> {
                if (files.values().stream()
                        .anyMatch(other -> other instanceof File.Device device && device.group.equals(group))) {
                    throw new AssertionError("a group is closed before its functions");
                }
                File.Container container = attached.remove(group);
                if (container != null && !attached.containsValue(container)) {
                    container.iommuSet = false;
                    container.mappings.clear();
                }
            }
            case File.Container container -> {
                if (attached.containsValue(container)) {
                    throw new AssertionError("the container is closed before its groups");
                }
            }
        }
    }
}
