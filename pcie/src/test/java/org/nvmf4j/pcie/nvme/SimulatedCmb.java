package org.nvmf4j.pcie.nvme;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.nvmf4j.nvme.ControllerProperties;

/**
 * A memory buffer of 64 KiB at the start of BAR 2. With {@link #controlled} it does what CMBMSC says, or is at the BAR's address whatever
 * CMBMSC says, as the one of QEMU's {@code legacy-cmb=on}.
 */
final class SimulatedCmb implements NvmeBars {
    static final long BAR_ADDRESS = 0x38_0000_0000L;
    static final long BYTES = 64 << 10;
    private static final int BIR = 2;

    private final MemorySegment memory = Arena.ofAuto().allocate(BYTES, 4096);
    private long control;

    /** Whether CAP.CMBS is set. */
    boolean controlled = true;
    /** Whether it always answers at the BAR's address. */
    boolean legacy;

    /** CMBSZ: 16 units of 4 KiB, submission queues, lists, reads, writes. */
    int cmbsz = 16 << 12 | 0x1d;

    int cmbloc = BIR;
    long barBytes = BYTES;
    boolean refusesAddress;
    int maps;

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
