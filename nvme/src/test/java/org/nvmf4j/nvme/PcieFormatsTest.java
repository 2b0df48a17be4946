package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** What commands and properties have over PCIe alone. */
class PcieFormatsTest {
    private final MemorySegment entry = Arena.ofAuto().allocate(SubmissionQueueEntry.SIZE_BYTES);

    /** The values of QEMU 7.2 with {@code cmb_size_mb=16}. */
    @Test
    void readsTheMemoryBufferOfQemu() throws NvmeFormatException {
        assertThat(ControllerMemoryBuffer.parse(0x62, 0x0001021d))
                .isEqualTo(new ControllerMemoryBuffer(2, 0, 16 << 20, true, false, true, true, true));
        assertThat(ControllerMemoryBuffer.parse(0, 0)).isNull();
    }

    @Test
    void readsOffsetsAndSizesInTheirUnit() throws NvmeFormatException {
        ControllerMemoryBuffer buffer = ControllerMemoryBuffer.parse(3 << 12 | 4, 0xfffff << 12 | 1 << 8 | 8);
        assertThat(buffer).isNotNull();
        assertThat(buffer)
                .isEqualTo(new ControllerMemoryBuffer(4, 3 << 16, 0xfffffL << 16, false, false, false, true, false));
        assertThat(buffer.takesData()).isFalse();
    }

    @Test
    void refusesWhatIsReserved() {
        assertThatThrownBy(() -> ControllerMemoryBuffer.parse(1, 1 << 12)).hasMessageContaining("CMBLOC 0x1");
        assertThatThrownBy(() -> ControllerMemoryBuffer.parse(6, 1 << 12)).isInstanceOf(NvmeFormatException.class);
        assertThatThrownBy(() -> ControllerMemoryBuffer.parse(0, 1 << 12 | 7 << 8))
                .hasMessageContaining("0x1700");
    }

    @Test
    void writesCommandsThatCreateAndDeleteQueues() {
        CreateQueueCommand.writeCompletionQueue(entry, 0, 9, 3, 64, 0x1234_5000, 5);
        assertThat(SubmissionQueueEntry.opcode(entry, 0)).isEqualTo(AdminOpcode.CREATE_IO_CQ);
        assertThat(SubmissionQueueEntry.flags(entry, 0)).isZero();
        assertThat(SubmissionQueueEntry.prp1(entry, 0)).isEqualTo(0x1234_5000);
        assertThat(SubmissionQueueEntry.cdw10(entry, 0)).isEqualTo(63 << 16 | 3);
        assertThat(SubmissionQueueEntry.cdw11(entry, 0)).isEqualTo(5 << 16 | 3);
        CreateQueueCommand.writeCompletionQueue(entry, 0, 9, 3, 64, 0x1234_5000, -1);
        assertThat(SubmissionQueueEntry.cdw11(entry, 0)).isEqualTo(1);
        CreateQueueCommand.writeSubmissionQueue(entry, 0, 9, 7, 65536, 0x1000);
        assertThat(CreateQueueCommand.qid(entry, 0)).isEqualTo(7);
        assertThat(CreateQueueCommand.entries(entry, 0)).isEqualTo(65536);
        assertThat(CreateQueueCommand.completionQid(entry, 0)).isEqualTo(7);
        CreateQueueCommand.writeDelete(entry, 0, AdminOpcode.DELETE_IO_CQ, 9, 7);
        assertThat(SubmissionQueueEntry.opcode(entry, 0)).isEqualTo(AdminOpcode.DELETE_IO_CQ);
        assertThat(CreateQueueCommand.qid(entry, 0)).isEqualTo(7);
        assertThat(SubmissionQueueEntry.prp1(entry, 0)).isZero();
    }

    @Test
    void describesDataByPrps() {
        ReadWriteCommand.write(entry, 0, IoOpcode.READ, 1, 1, 0, 1, false);
        SubmissionQueueEntry.prp(entry, 0, 0x7_0000_1000L, 0x7_0000_2000L);
        assertThat(SubmissionQueueEntry.psdt(entry, 0)).isZero();
        assertThat(SubmissionQueueEntry.prp1(entry, 0)).isEqualTo(0x7_0000_1000L);
        assertThat(SubmissionQueueEntry.prp2(entry, 0)).isEqualTo(0x7_0000_2000L);
    }

    @Test
    void describesDataByAnSgl() {
        ReadWriteCommand.write(entry, 0, IoOpcode.WRITE, 1, 1, 0, 1, false);
        SubmissionQueueEntry.sgl(entry, 0, 0x7_0000_1001L, -512);
        assertThat(SubmissionQueueEntry.psdt(entry, 0)).isOne();
        assertThat(SubmissionQueueEntry.fuse(entry, 0)).isZero();
        long at = SubmissionQueueEntry.DPTR_OFFSET;
        assertThat(SglDescriptor.type(entry, at)).isEqualTo(SglDescriptor.TYPE_DATA_BLOCK);
        assertThat(SglDescriptor.subtype(entry, at)).isEqualTo(SglDescriptor.SUBTYPE_ADDRESS);
        assertThat(SglDescriptor.address(entry, at)).isEqualTo(0x7_0000_1001L);
        assertThat(SglDescriptor.lengthBytes(entry, at)).isEqualTo(0xffff_fe00L);
        assertThat(entry.asSlice(at + 12, 4).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0); // reserved, identifier
    }

    @Test
    void knowsWhichControllersHaveSgls() {
        assertThat(new IdentifyController().sglAlignmentBytes()).isZero();
        assertThat(new IdentifyController().sgls(0x1_0001).sglAlignmentBytes()).isOne(); // QEMU 7.2
        assertThat(new IdentifyController().sgls(0xf_0002).sglAlignmentBytes()).isEqualTo(4);
        assertThat(new IdentifyController().sgls(3).sglAlignmentBytes()).isZero(); // reserved
        assertThat(new IdentifyController()
                        .sgls(IdentifyController.SGLS_KEYED | IdentifyController.SGLS_OFFSET)
                        .sglAlignmentBytes())
                .isZero();
    }

    @Test
    void keepsThePhaseBesideTheStatus() {
        CompletionQueueEntry.write(entry, 0, 0, 1, 2, 3, NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
        assertThat(CompletionQueueEntry.phase(entry, 0)).isFalse();
        CompletionQueueEntry.phase(entry, 0, true);
        assertThat(CompletionQueueEntry.phase(entry, 0)).isTrue();
        assertThat(CompletionQueueEntry.status(entry, 0)).isEqualTo(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
    }

    @Test
    void findsDoorbellsByTheStride() {
        assertThat(ControllerProperties.doorbell(0, 0, false)).isEqualTo(0x1000);
        assertThat(ControllerProperties.doorbell(0, 3, true)).isEqualTo(0x1000 + 7 * 4);
        assertThat(ControllerProperties.doorbell(2L << 32, 1, false)).isEqualTo(0x1000 + 2 * 16);
        assertThat(ControllerProperties.doorbellStride(15L << 32)).isEqualTo(4 << 15);
        assertThat(ControllerProperties.readyWithMediaMillis(0x1_ffff)).isEqualTo(0xffff * 500);
        int aqa = ControllerProperties.aqa(32, 4096);
        assertThat(aqa).isEqualTo(0x0fff_001f);
        assertThat(ControllerProperties.submissionEntries(aqa)).isEqualTo(32);
        assertThat(ControllerProperties.completionEntries(aqa)).isEqualTo(4096);
    }
}
