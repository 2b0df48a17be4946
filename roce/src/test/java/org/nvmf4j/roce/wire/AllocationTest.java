package org.nvmf4j.roce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class AllocationTest {
    private static final int PACKETS = 100_000;

    private final MemorySegment memory = Arena.ofAuto().allocate(8192);
    private final ByteBuffer view = memory.asByteBuffer();
    private final Icrc icrc = new Icrc(new byte[] {10, 0, 0, 1}, new byte[] {10, 0, 0, 2});
    private int sum;

    @Test
    void framingAndCheckingAllocateNothing() {
        assertThat(ManagementFactory.getThreadMXBean()).isInstanceOf(ThreadMXBean.class);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        frameAndCheck();
        long before = threads.getCurrentThreadAllocatedBytes();
        frameAndCheck();
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(sum).isEqualTo(2 * PACKETS);
        // The measuring itself, and a compiler thread's help, may cost a few bytes; a packet may not.
        assertThat(allocated).isLessThan(PACKETS);
    }

    private void frameAndCheck() {
        for (int i = 0; i < PACKETS; i++) {
            int end = Bth.LENGTH + Reth.LENGTH + 1024;
            Bth.write(memory, 0, Opcode.RC_WRITE_ONLY, Bth.MIGRATION_REQUEST, 0, 0x12, true, i);
            Reth.write(memory, Bth.LENGTH, i, i, 1024);
            Icrc.put(memory, end, icrc.compute(0xC000, i & 0xFF, view, 0, end));
            int payload = RocePacket.check(memory, 0, end + RocePacket.ICRC_BYTES);
            int id = icrc.check(0xC000, view, 0, end + RocePacket.ICRC_BYTES);
            sum += payload == 1024 && id == (i & 0xFF) && Bth.psn(memory, 0) == (i & Psn.MASK) ? 1 : 0;
        }
    }
}
