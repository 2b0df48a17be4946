package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** What the I/O path calls for each command allocates nothing. */
class AllocationTest {
    private static final int WINDOWS = 50;
    private static final int COMMANDS = 2000;

    @Test
    void commandsAndCompletionsAllocateNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(128);
            long least = Long.MAX_VALUE;
            long sum = 0;
            // the compilers may allocate on this thread's account while it warms up; a window without that shows the
            // truth
            for (int window = 0; window < WINDOWS; window++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < COMMANDS; i++) {
                    sum += command(memory, i);
                }
                least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
            }
            assertThat(sum).isNotZero();
            assertThat(least).isZero();
        }
    }

    private static long command(MemorySegment memory, int i) {
        ReadWriteCommand.write(memory, 0, IoOpcode.READ, i & 0xffff, 1, i, 8, false);
        SglDescriptor.writeKeyed(memory, SubmissionQueueEntry.DPTR_OFFSET, i, 4096, i, true);
        CompletionQueueEntry.write(memory, 64, 0, i & 0x7f, 1, i & 0xffff, NvmeStatus.SUCCESS);
        int check = SglDescriptor.check(memory, SubmissionQueueEntry.DPTR_OFFSET, 0);
        boolean inRange = ReadWriteCommand.isInRange(memory, 0, 1 << 20);
        return check
                + (inRange ? 1 : 0)
                + SubmissionQueueEntry.opcode(memory, 0)
                + SubmissionQueueEntry.commandId(memory, 0)
                + SglDescriptor.lengthBytes(memory, SubmissionQueueEntry.DPTR_OFFSET)
                + CompletionQueueEntry.commandId(memory, 64)
                + CompletionQueueEntry.status(memory, 64);
    }
}
