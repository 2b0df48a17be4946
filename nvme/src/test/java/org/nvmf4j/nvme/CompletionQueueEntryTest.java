package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class CompletionQueueEntryTest {
    private final MemorySegment memory =
            MemorySegment.ofArray(new byte[3 + 16 + 5]).fill((byte) 0xee);

    private void assertWrote(String name) {
        assertThat(memory.asSlice(3, 16).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(KernelBytes.bytes(name));
        assertThat(memory.asSlice(0, 3).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0xee);
        assertThat(memory.asSlice(19).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0xee);
    }

    @Test
    void writesWhatLinuxWrites() {
        CompletionQueueEntry.write(memory, 3, 1, 1, 0, 0, NvmeStatus.SUCCESS);
        assertWrote("cqe-connect-admin");
        CompletionQueueEntry.write(memory, 3, 1, 1, 1, 0, NvmeStatus.SUCCESS);
        assertWrote("cqe-connect-io");
        CompletionQueueEntry.write(memory, 3, 0x8_200f_0000_7fL, 2, 0, 6, NvmeStatus.SUCCESS);
        assertWrote("cqe-property-get-cap");
        CompletionQueueEntry.write(
                memory,
                3,
                ConnectCommand.invalidParameter(true, ConnectData.SUBNQN_OFFSET),
                0,
                0,
                0,
                NvmeStatus.CONNECT_INVALID_PARAMETERS | NvmeStatus.DNR);
        assertWrote("cqe-unknown-nqn");
        CompletionQueueEntry.write(
                memory, 3, 0, 7, 2, 0x46, NvmeStatus.INTERNAL_ERROR | NvmeStatus.MORE | NvmeStatus.DNR);
        assertWrote("cqe-read-out-of-range");
    }

    @Test
    void readsWhatItWrote() {
        CompletionQueueEntry.write(memory, 3, -2, 0xffff, 0xfffe, 0xfffd, 0x7fff);
        assertThat(CompletionQueueEntry.result(memory, 3)).isEqualTo(-2);
        assertThat(CompletionQueueEntry.dword0(memory, 3)).isEqualTo(-2);
        assertThat(CompletionQueueEntry.sqHead(memory, 3)).isEqualTo(0xffff);
        assertThat(CompletionQueueEntry.sqId(memory, 3)).isEqualTo(0xfffe);
        assertThat(CompletionQueueEntry.commandId(memory, 3)).isEqualTo(0xfffd);
        assertThat(CompletionQueueEntry.status(memory, 3)).isEqualTo(0x7fff);
    }

    @Test
    void settersTouchTheirFieldAlone() {
        CompletionQueueEntry.write(memory, 3, 0, 0, 0, 0, 0);
        CompletionQueueEntry.sqHead(memory, 3, 0x1111);
        CompletionQueueEntry.sqId(memory, 3, 0x2222);
        CompletionQueueEntry.commandId(memory, 3, 0x3333);
        CompletionQueueEntry.status(memory, 3, 0x4444);
        CompletionQueueEntry.result(memory, 3, 0x5555);
        assertThat(memory.get(ValueLayout.JAVA_LONG_UNALIGNED, 3)).isEqualTo(0x5555);
        assertThat(memory.get(ValueLayout.JAVA_LONG_UNALIGNED, 11)).isEqualTo(0x8888_3333_2222_1111L);
    }

    @Test
    void ignoresThePhaseTag() {
        CompletionQueueEntry.write(memory, 3, 0, 0, 0, 0, NvmeStatus.INVALID_FIELD);
        memory.set(ValueLayout.JAVA_BYTE, 3 + 14, (byte) (memory.get(ValueLayout.JAVA_BYTE, 3 + 14) | 1));
        assertThat(CompletionQueueEntry.status(memory, 3)).isEqualTo(NvmeStatus.INVALID_FIELD);
    }
}
