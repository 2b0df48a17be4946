package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Each command is written as Linux writes it, byte for byte, and what Linux wrote is read. */
class CommandTest {
    /** Odd, so that every access is unaligned. */
    private static final int AT = 7;

    private final MemorySegment memory = MemorySegment.ofArray(new byte[AT + SubmissionQueueEntry.SIZE_BYTES + AT])
            .fill((byte) 0xee);

    private static int length(MemorySegment sqe) {
        return (int) SglDescriptor.lengthBytes(sqe, SubmissionQueueEntry.DPTR_OFFSET);
    }

    /** Copies the data pointer of the expected command through the accessors. */
    private void sglOf(MemorySegment expected) {
        long from = SubmissionQueueEntry.DPTR_OFFSET;
        long to = AT + SubmissionQueueEntry.DPTR_OFFSET;
        if (SglDescriptor.isInCapsule(expected, from)) {
            SglDescriptor.writeInCapsule(memory, to, SglDescriptor.address(expected, from), length(expected));
        } else {
            SglDescriptor.writeKeyed(
                    memory,
                    to,
                    SglDescriptor.address(expected, from),
                    length(expected),
                    SglDescriptor.key(expected, from),
                    SglDescriptor.isInvalidate(expected, from));
        }
    }

    private void assertWrote(MemorySegment expected) {
        assertThat(memory.asSlice(AT, SubmissionQueueEntry.SIZE_BYTES).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(expected.asSlice(0, SubmissionQueueEntry.SIZE_BYTES).toArray(ValueLayout.JAVA_BYTE));
        assertThat(memory.asSlice(0, AT).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0xee);
        assertThat(memory.asSlice(AT + SubmissionQueueEntry.SIZE_BYTES).toArray(ValueLayout.JAVA_BYTE))
                .containsOnly(0xee);
    }

    @Test
    void writesConnectOfAdminQueueAsLinuxDoes() {
        MemorySegment linux = KernelBytes.segment("sqe-connect-admin");
        ConnectCommand.write(memory, AT, 0, 0, 31, 0, 4000);
        sglOf(linux);
        assertWrote(linux);
    }

    @Test
    void writesConnectOfIoQueueAsLinuxDoes() {
        MemorySegment linux = KernelBytes.segment("capsule-connect-io");
        ConnectCommand.write(memory, AT, 0, 1, 127, 0, 0);
        SglDescriptor.writeInCapsule(memory, AT + SubmissionQueueEntry.DPTR_OFFSET, 0, ConnectData.SIZE_BYTES);
        assertWrote(linux);
    }

    @Test
    void readsConnect() {
        MemorySegment linux = KernelBytes.segment("sqe-connect-admin");
        assertThat(SubmissionQueueEntry.opcode(linux, 0)).isEqualTo(AdminOpcode.FABRICS);
        assertThat(SubmissionQueueEntry.psdt(linux, 0)).isEqualTo(1);
        assertThat(SubmissionQueueEntry.fuse(linux, 0)).isZero();
        assertThat(FabricsType.fctype(linux, 0)).isEqualTo(FabricsType.CONNECT);
        assertThat(ConnectCommand.recfmt(linux, 0)).isZero();
        assertThat(ConnectCommand.qid(linux, 0)).isZero();
        assertThat(ConnectCommand.sqsizeZeroBased(linux, 0)).isEqualTo(31);
        assertThat(ConnectCommand.cattr(linux, 0)).isZero();
        assertThat(ConnectCommand.katoMillis(linux, 0)).isEqualTo(4000);
    }

    @Test
    void writesPropertyCommandsAsLinuxDoes() {
        PropertyCommand.writeGet(memory, AT, 6, ControllerProperties.CAP, 8);
        assertWrote(KernelBytes.segment("sqe-property-get-cap"));

        int enable = ControllerProperties.cc(true, ControllerProperties.CSS_ALL, ControllerProperties.SHN_NONE);
        PropertyCommand.writeSet(memory, AT, 0x1006, ControllerProperties.CC, 4, enable);
        assertWrote(KernelBytes.segment("sqe-property-set-cc"));

        int shutdown = ControllerProperties.cc(true, ControllerProperties.CSS_ALL, ControllerProperties.SHN_NORMAL);
        PropertyCommand.writeSet(memory, AT, 0x4011, ControllerProperties.CC, 4, shutdown);
        assertWrote(KernelBytes.segment("sqe-property-set-shutdown"));
    }

    @Test
    void readsPropertyCommands() {
        MemorySegment get = KernelBytes.segment("sqe-property-get-cap");
        assertThat(PropertyCommand.property(get, 0)).isEqualTo(ControllerProperties.CAP);
        assertThat(PropertyCommand.sizeBytes(get, 0)).isEqualTo(8);
        MemorySegment set = KernelBytes.segment("sqe-property-set-shutdown");
        assertThat(PropertyCommand.property(set, 0)).isEqualTo(ControllerProperties.CC);
        assertThat(PropertyCommand.sizeBytes(set, 0)).isEqualTo(4);
        assertThat(ControllerProperties.shn((int) PropertyCommand.value(set, 0)))
                .isEqualTo(ControllerProperties.SHN_NORMAL);
        set.set(ValueLayout.JAVA_BYTE, 40, (byte) 2);
        assertThat(PropertyCommand.sizeBytes(set, 0)).isZero();
    }

    @Test
    void writesIdentifyAsLinuxDoes() {
        MemorySegment controller = KernelBytes.segment("sqe-identify-controller");
        IdentifyCommand.write(memory, AT, 2, 0, Cns.CONTROLLER, Cns.CSI_NVM);
        sglOf(controller);
        assertWrote(controller);

        MemorySegment descriptors = KernelBytes.segment("sqe-descriptors");
        IdentifyCommand.write(memory, AT, 0x1003, 1, Cns.NAMESPACE_IDENTIFICATION_DESCRIPTORS, Cns.CSI_NVM);
        sglOf(descriptors);
        assertWrote(descriptors);
    }

    @Test
    void readsIdentify() {
        MemorySegment linux = KernelBytes.segment("sqe-identify-cns-6");
        assertThat(SubmissionQueueEntry.opcode(linux, 0)).isEqualTo(AdminOpcode.IDENTIFY);
        assertThat(IdentifyCommand.cns(linux, 0)).isEqualTo(Cns.COMMAND_SET_CONTROLLER);
        assertThat(IdentifyCommand.csi(linux, 0)).isEqualTo(Cns.CSI_NVM);
        assertThat(IdentifyCommand.cntid(linux, 0)).isZero();
        SubmissionQueueEntry.cdw10(linux, 0, 0x00ab_0006);
        SubmissionQueueEntry.cdw11(linux, 0, 0x0200_1234);
        SubmissionQueueEntry.cdw14(linux, 0, 0xff);
        assertThat(IdentifyCommand.cntid(linux, 0)).isEqualTo(0xab);
        assertThat(IdentifyCommand.csi(linux, 0)).isEqualTo(2);
        assertThat(IdentifyCommand.cnsSpecific(linux, 0)).isEqualTo(0x1234);
        assertThat(IdentifyCommand.uidx(linux, 0)).isEqualTo(0x7f);
    }

    @Test
    void writesGetLogPageAsLinuxDoes() {
        MemorySegment effects = KernelBytes.segment("sqe-get-log-effects");
        GetLogPageCommand.write(memory, AT, 3, 0, LogPage.COMMANDS_SUPPORTED_AND_EFFECTS, false, 0, 4096);
        sglOf(effects);
        assertWrote(effects);

        MemorySegment ana = KernelBytes.segment("sqe-get-log-ana");
        GetLogPageCommand.write(memory, AT, 0x1009, -1, LogPage.ASYMMETRIC_NAMESPACE_ACCESS, false, 0, 8208);
        sglOf(ana);
        assertWrote(ana);
    }

    @Test
    void readsGetLogPage() {
        GetLogPageCommand.write(memory, AT, 1, 0, LogPage.DISCOVERY, true, 0x1_0000_0004L, 0x4_0004);
        GetLogPageCommand.lsp(memory, AT, 5);
        assertThat(GetLogPageCommand.lid(memory, AT)).isEqualTo(LogPage.DISCOVERY);
        assertThat(GetLogPageCommand.rae(memory, AT)).isTrue();
        assertThat(GetLogPageCommand.lsp(memory, AT)).isEqualTo(5);
        assertThat(GetLogPageCommand.lpo(memory, AT)).isEqualTo(0x1_0000_0004L);
        assertThat(GetLogPageCommand.lengthBytes(memory, AT)).isEqualTo(0x4_0004);
        assertThat(GetLogPageCommand.isIndexOffset(memory, AT)).isFalse();
        SubmissionQueueEntry.cdw14(memory, AT, 0x0080_0003);
        assertThat(GetLogPageCommand.isIndexOffset(memory, AT)).isTrue();
        assertThat(GetLogPageCommand.uidx(memory, AT)).isEqualTo(3);
        SubmissionQueueEntry.cdw11(memory, AT, 0xabcd_ffff);
        SubmissionQueueEntry.cdw10(memory, AT, 0xffff_0070);
        assertThat(GetLogPageCommand.lengthBytes(memory, AT)).isEqualTo(1L << 34);
        assertThat(GetLogPageCommand.lsi(memory, AT)).isEqualTo(0xabcd);
    }

    @Test
    void refusesLogPageLengthsThatTheCommandCannotSay() {
        assertThatThrownBy(() -> GetLogPageCommand.write(memory, AT, 0, 0, 2, false, 0, 0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> GetLogPageCommand.write(memory, AT, 0, 0, 2, false, 0, 510))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> GetLogPageCommand.write(memory, AT, 0, 0, 2, false, 2, 512))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void writesFeaturesAsLinuxDoes() {
        FeaturesCommand.writeSet(memory, AT, 0x2006, 0, Feature.NUMBER_OF_QUEUES, FeaturesCommand.numberOfQueues(2, 2));
        assertWrote(KernelBytes.segment("sqe-set-features-queues"));

        int notices = AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE | AsyncEvent.NOTICE_ANA;
        FeaturesCommand.writeSet(memory, AT, 0x2007, 0, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, notices);
        assertWrote(KernelBytes.segment("sqe-set-features-aen"));
    }

    @Test
    void readsFeatures() {
        FeaturesCommand.writeGet(memory, AT, 1, 2, Feature.VOLATILE_WRITE_CACHE, FeaturesCommand.SELECT_SAVED);
        assertThat(SubmissionQueueEntry.opcode(memory, AT)).isEqualTo(AdminOpcode.GET_FEATURES);
        assertThat(FeaturesCommand.fid(memory, AT)).isEqualTo(Feature.VOLATILE_WRITE_CACHE);
        assertThat(FeaturesCommand.select(memory, AT)).isEqualTo(FeaturesCommand.SELECT_SAVED);
        assertThat(FeaturesCommand.save(memory, AT)).isFalse();
        SubmissionQueueEntry.cdw10(memory, AT, 0x8000_0007);
        assertThat(FeaturesCommand.save(memory, AT)).isTrue();

        int granted = (int) CompletionQueueEntry.result(KernelBytes.segment("cqe-set-features-queues"), 0);
        assertThat(FeaturesCommand.submissionQueues(granted)).isEqualTo(128);
        assertThat(FeaturesCommand.completionQueues(granted)).isEqualTo(128);
        assertThatThrownBy(() -> FeaturesCommand.numberOfQueues(0, 1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void writesCommandsWithoutFieldsAsLinuxDoes() {
        SubmissionQueueEntry.write(memory, AT, AdminOpcode.KEEP_ALIVE, 1, 0);
        assertWrote(KernelBytes.segment("sqe-keep-alive"));
        SubmissionQueueEntry.write(memory, AT, AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST, 0x1f, 0);
        assertWrote(KernelBytes.segment("sqe-aer"));
        SubmissionQueueEntry.write(memory, AT, IoOpcode.FLUSH, 0x44, 1);
        assertWrote(KernelBytes.segment("sqe-flush"));
    }

    @Test
    void writesReadAndWriteAsLinuxDoes() {
        MemorySegment read = KernelBytes.segment("sqe-read");
        ReadWriteCommand.write(memory, AT, IoOpcode.READ, 0x11, 1, 0, 8, false);
        sglOf(read);
        assertWrote(read);

        MemorySegment write = KernelBytes.segment("sqe-write-128k");
        int cid = SubmissionQueueEntry.commandId(write, 0);
        ReadWriteCommand.write(memory, AT, IoOpcode.WRITE, cid, 1, ReadWriteCommand.slba(write, 0), 256, false);
        sglOf(write);
        assertWrote(write);

        MemorySegment inCapsule = KernelBytes.segment("capsule-write-512");
        ReadWriteCommand.write(memory, AT, IoOpcode.WRITE, 0x43, 1, 0x2000, 1, false);
        sglOf(inCapsule);
        assertWrote(inCapsule);

        ReadWriteCommand.write(memory, AT, IoOpcode.WRITE_ZEROES, 0x45, 1, 0, 8, false);
        assertWrote(KernelBytes.segment("sqe-write-zeroes"));
    }

    @Test
    void readsFlagsOfReadsAndWrites() {
        ReadWriteCommand.write(memory, AT, IoOpcode.WRITE, 1, 1, 5, ReadWriteCommand.MAX_BLOCKS, true);
        assertThat(ReadWriteCommand.nlbZeroBased(memory, AT)).isEqualTo(0xffff);
        assertThat(ReadWriteCommand.blocks(memory, AT)).isEqualTo(0x1_0000);
        assertThat(ReadWriteCommand.fua(memory, AT)).isTrue();
        assertThat(ReadWriteCommand.limitedRetry(memory, AT)).isFalse();
        assertThat(ReadWriteCommand.deallocate(memory, AT)).isFalse();
        ReadWriteCommand.deallocate(memory, AT, true);
        assertThat(SubmissionQueueEntry.cdw12(memory, AT)).isEqualTo(1 << 30 | 1 << 25 | 0xffff);
        ReadWriteCommand.deallocate(memory, AT, false);
        assertThat(SubmissionQueueEntry.cdw12(memory, AT)).isEqualTo(1 << 30 | 0xffff);
        SubmissionQueueEntry.cdw12(memory, AT, 1 << 31 | 0xf << 26);
        assertThat(ReadWriteCommand.limitedRetry(memory, AT)).isTrue();
        assertThat(ReadWriteCommand.prinfo(memory, AT)).isEqualTo(0xf);
    }

    @Test
    void rangeCheckCannotWrap() {
        ReadWriteCommand.write(memory, AT, IoOpcode.READ, 1, 1, 92, 8, false);
        assertThat(ReadWriteCommand.isInRange(memory, AT, 100)).isTrue();
        assertThat(ReadWriteCommand.isInRange(memory, AT, 99)).isFalse();
        assertThat(ReadWriteCommand.isInRange(memory, AT, 0)).isFalse();
        ReadWriteCommand.write(memory, AT, IoOpcode.READ, 1, 1, -1, 8, false);
        assertThat(ReadWriteCommand.isInRange(memory, AT, Long.MAX_VALUE)).isFalse();
        ReadWriteCommand.write(memory, AT, IoOpcode.READ, 1, 1, Long.MAX_VALUE, 8, false);
        assertThat(ReadWriteCommand.isInRange(memory, AT, Long.MAX_VALUE)).isFalse();
    }

    @Test
    void readsAndWritesDatasetManagementAsLinuxDoes() {
        MemorySegment linux = KernelBytes.segment("capsule-dsm");
        DatasetManagementCommand.write(memory, AT, 0x3a, 1, 1, DatasetManagementCommand.AD_DEALLOCATE);
        sglOf(linux);
        assertWrote(linux);
        assertThat(DatasetManagementCommand.ranges(linux, 0)).isEqualTo(1);
        assertThat(DatasetManagementCommand.attributes(linux, 0)).isEqualTo(DatasetManagementCommand.AD_DEALLOCATE);

        assertThat(DatasetManagementCommand.rangeSlba(linux, 64)).isEqualTo(0x20);
        assertThat(DatasetManagementCommand.rangeBlocks(linux, 64)).isEqualTo(0x10);
        DatasetManagementCommand.writeRange(memory, AT, 0x20, 0x10);
        assertThat(memory.asSlice(AT, 16).mismatch(linux.asSlice(64, 16))).isEqualTo(-1);
        DatasetManagementCommand.writeRange(memory, AT, -1, -1);
        assertThat(DatasetManagementCommand.rangeBlocks(memory, AT)).isEqualTo(0xffff_ffffL);
    }

    @Test
    void readsAndWritesAbort() {
        AbortCommand.write(memory, AT, 1, 2, 0xf003);
        assertThat(SubmissionQueueEntry.opcode(memory, AT)).isEqualTo(AdminOpcode.ABORT);
        assertThat(SubmissionQueueEntry.cdw10(memory, AT)).isEqualTo(0xf003_0002);
        assertThat(AbortCommand.sqid(memory, AT)).isEqualTo(2);
        assertThat(AbortCommand.cid(memory, AT)).isEqualTo(0xf003);
        assertThat(AbortCommand.aborted(AbortCommand.result(true))).isTrue();
        assertThat(AbortCommand.aborted(AbortCommand.result(false))).isFalse();
    }

    @Test
    void namesTheFieldThatConnectBlames() {
        MemorySegment linux = KernelBytes.segment("cqe-unknown-nqn");
        int result = CompletionQueueEntry.dword0(linux, 0);
        assertThat(result).isEqualTo(ConnectCommand.invalidParameter(true, ConnectData.SUBNQN_OFFSET));
        assertThat(ConnectCommand.describeInvalidParameter(result)).startsWith("SUBNQN, the subsystem NQN");
        assertThat(ConnectCommand.describeInvalidParameter(
                        ConnectCommand.invalidParameter(false, ConnectCommand.SQSIZE_OFFSET)))
                .isEqualTo("SQSIZE, the queue size");
        assertThat(ConnectCommand.describeInvalidParameter(77)).isEqualTo("byte 77 of the Connect command");
        assertThat(ConnectCommand.cntlid(0x0002_1234)).isEqualTo(0x1234);
    }
}
