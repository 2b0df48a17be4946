package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.pcie.CmbPeerMemory;
import org.nvmf4j.pcie.PciAddress;

/**
 * A memory buffer of 64 KiB at the start of BAR 2. With {@link #controlled} it does what CMBMSC says, or is at the BAR's address whatever
 * CMBMSC says, as the one of QEMU's {@code legacy-cmb=on}.
 */
final class SimulatedCmb implements NvmeBars {
    static final long BAR_ADDRESS = 0x38_0000_0000L;
    static final long BYTES = 64 << 10;
    private static final int BIR = 2;

    private final MemorySegment memory = Arena.ofAuto().allocate(BYTES, 4096);
    private final Set<Long> queues = ConcurrentHashMap.newKeySet();
    private long control;

    /** As its driver has it. */
    @Nullable
    NvmeCmb found;
    /** Who gives its bytes out. */
    private @Nullable CmbPeerMemory peerMemory;

    /** Whether CAP.CMBS is set. */
    boolean controlled = true;
    /** Whether it always answers at the BAR's address. */
    boolean legacy;

    /** CMBSZ: 16 units of 4 KiB, submission queues, lists, reads, writes. */
    int cmbsz = 16 << 12 | 0x1d;

    int cmbloc = BIR;
    long barBytes = BYTES;
    boolean refusesAddress;
    Runnable onForget = () -> {};
    int maps;

    /**
     * Has the driver of its device find it.
     *
     * @param sysfs a folder, where the function is from now on
     */
    void find(NvmeRegisters device, String address, Path sysfs) throws IOException {
        Files.createDirectories(sysfs.resolve("bus/pci/devices").resolve(address));
        NvmeCmb buffer = Objects.requireNonNull(NvmeCmb.find(device, this));
        found = buffer;
        peerMemory = new CmbPeerMemory(PciAddress.parse(address), buffer, sysfs);
    }

    CmbPeerMemory peerMemory() {
        return Objects.requireNonNull(peerMemory);
    }

    MemorySegment memory() {
        return memory;
    }

    void control(long value) {
        control = value;
    }

    int read32(int offset) {
        boolean shown = !controlled || (control & ControllerProperties.CMBMSC_CRE) != 0;
        return switch (offset) {
            case ControllerProperties.CMBLOC -> shown ? cmbloc : 0;
            case ControllerProperties.CMBSZ -> shown ? cmbsz : 0;
            default -> refusesAddress && (control & ControllerProperties.CMBMSC_CMSE) != 0 ? 1 : 0;
        };
    }

    private long address() {
        if (legacy || !controlled) {
            return BAR_ADDRESS;
        }
        return (control & ControllerProperties.CMBMSC_CMSE) == 0 ? Long.MAX_VALUE : control & -4096;
    }

    boolean covers(long at, long length) {
        return at >= address() && at - address() <= BYTES - length;
    }

    /** What a submission queue is created with: it is outside, or inside where CMBSZ.SQS is set. */
    int takeQueue(long at, long length) {
        if (!covers(at, 1)) {
            return NvmeStatus.SUCCESS;
        }
        if (!covers(at, length) || at % 4096 != 0) {
            throw new AssertionError(String.format("a queue at 0x%x that ends outside, or is at no page", at));
        }
        if ((cmbsz & 1) == 0) {
            return NvmeStatus.INVALID_USE_OF_CMB | NvmeStatus.DNR;
        }
        queues.add(at);
        return NvmeStatus.SUCCESS;
    }

    /** Submission queues that were made inside since the last reset. */
    int queues() {
        return queues.size();
    }

    /**
     * What a command may do where CMBLOC lifts no restriction, and a little less: no list is inside.
     *
     * @param data all memory that it names
     */
    void check(MemorySegment entry, List<MemorySegment> data) {
        boolean listed = SubmissionQueueEntry.psdt(entry, 0) == 0 && data.size() > 2;
        if (listed && covers(SubmissionQueueEntry.prp2(entry, 0), Long.BYTES)) {
            throw new AssertionError("a PRP list in the memory buffer");
        }
        long inside = data.stream().filter(this::contains).count();
        if (inside != 0 && inside != data.size()) {
            throw new AssertionError("data of one command inside and outside of the memory buffer");
        }
    }

    private boolean contains(MemorySegment piece) {
        long at = piece.address() - memory.address();
        return at >= 0 && at < BYTES;
    }

    /** A reset leaves no meaning in it. */
    void forget() {
        onForget.run();
        memory.fill((byte) 0xa5);
        queues.clear();
    }

    MemorySegment at(long at, long length) {
        return memory.asSlice(at - address(), length);
    }

    @Override
    public long sizeBytes(int bar) {
        return bar == BIR ? barBytes : 0;
    }

    @Override
    public long busAddress(int bar) {
        return BAR_ADDRESS;
    }

    @Override
    public MemorySegment map(Arena arena, int bar, long offset, long lengthBytes) throws IOException {
        maps++;
        return MemorySegment.ofAddress(memory.address() + offset).reinterpret(lengthBytes, arena, gone -> maps--);
    }
}
