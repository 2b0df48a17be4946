package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Whatever bytes a peer sends, a parser gives a structure or says {@link NvmeFormatException}. Runs on the seeds beside it; with
 * {@code JAZZER_FUZZ=1} it looks for new inputs, one method at a time.
 */
class WireDataFuzzTest {
    /** Room behind the data would hide a read beyond its end, so the segment is exactly as long. */
    private static MemorySegment padded(byte[] data, int sizeBytes) {
        return MemorySegment.ofArray(Arrays.copyOf(data, sizeBytes));
    }

    private static void assertPrintable(String text) {
        assertThat(text.chars().noneMatch(Character::isISOControl)).as(text).isTrue();
    }

    @FuzzTest(maxDuration = "10s")
    void discoveryLog(byte[] data) {
        try {
            DiscoveryLogPage page = DiscoveryLogPage.parse(MemorySegment.ofArray(data), 0, data.length);
            assertThat(page.sizeBytes()).isLessThanOrEqualTo(data.length);
            for (DiscoveryLogEntry entry : page.entries()) {
                assertPrintable(entry.subnqn());
                assertPrintable(entry.traddr());
                assertPrintable(entry.trsvcid());
            }
        } catch (NvmeFormatException e) {
            assertPrintable(String.valueOf(e.getMessage()));
        }
    }

    @FuzzTest(maxDuration = "10s")
    void namespaceDescriptors(byte[] data) {
        try {
            NamespaceIdentification identification = NamespaceIdentification.parse(padded(data, 4096), 0);
            MemorySegment written = padded(new byte[0], 4096);
            identification.write(written, 0);
            assertThat(NamespaceIdentification.parse(written, 0)).isEqualTo(identification);
        } catch (NvmeFormatException e) {
            assertPrintable(String.valueOf(e.getMessage()));
        }
    }

    @FuzzTest(maxDuration = "10s")
    void namespaceList(byte[] data) {
        try {
            int[] nsids = NamespaceList.parse(padded(data, 4096), 0);
            MemorySegment written = padded(new byte[0], 4096);
            NamespaceList.write(written, 0, nsids, nsids.length);
            assertThat(NamespaceList.parse(written, 0)).isEqualTo(nsids);
        } catch (NvmeFormatException e) {
            assertPrintable(String.valueOf(e.getMessage()));
        }
    }

    @FuzzTest(maxDuration = "10s")
    void anaLog(byte[] data) {
        try {
            AnaLog log = AnaLog.parse(MemorySegment.ofArray(data), 0, data.length);
            assertThat(log.sizeBytes()).isLessThanOrEqualTo(data.length);
            MemorySegment written = padded(new byte[0], log.sizeBytes());
            log.write(written, 0);
            assertThat(AnaLog.parse(written, 0, log.sizeBytes())).isEqualTo(log);
        } catch (NvmeFormatException e) {
            assertPrintable(String.valueOf(e.getMessage()));
        }
    }

    @FuzzTest(maxDuration = "10s")
    void connectData(byte[] data) {
        ConnectData connect = ConnectData.parse(padded(data, ConnectData.SIZE_BYTES), 0);
        assertPrintable(connect.subnqn());
        assertPrintable(connect.hostnqn());
        if (Nqn.isValid(connect.subnqn()) && Nqn.isValid(connect.hostnqn())) {
            MemorySegment written = padded(new byte[0], ConnectData.SIZE_BYTES);
            connect.write(written, 0);
            assertThat(ConnectData.parse(written, 0)).isEqualTo(connect);
        }
    }

    @FuzzTest(maxDuration = "10s")
    void privateData(byte[] data) {
        assertThat(RdmaPrivateData.Request.check(data)).isBetween(0, RdmaPrivateData.INVALID_RECFMT);
        try {
            RdmaPrivateData.Request request = RdmaPrivateData.Request.parse(data);
            assertThat(RdmaPrivateData.Request.parse(request.toBytes())).isEqualTo(request);
        } catch (NvmeFormatException e) {
            assertThat(RdmaPrivateData.Request.check(data)).isNotZero();
        }
        try {
            RdmaPrivateData.Accept accept = RdmaPrivateData.Accept.parse(data);
            assertThat(RdmaPrivateData.Accept.parse(accept.toBytes())).isEqualTo(accept);
        } catch (NvmeFormatException e) {
            assertPrintable(String.valueOf(e.getMessage()));
        }
        try {
            assertPrintable(RdmaPrivateData.Reject.parse(data).describe());
        } catch (NvmeFormatException e) {
            assertPrintable(String.valueOf(e.getMessage()));
        }
    }

    @FuzzTest(maxDuration = "10s")
    void capsule(byte[] data) {
        MemorySegment capsule = padded(data, Math.max(data.length, SubmissionQueueEntry.SIZE_BYTES));
        long behindCommand = capsule.byteSize() - SubmissionQueueEntry.SIZE_BYTES;
        long at = SubmissionQueueEntry.DPTR_OFFSET;
        if (SglDescriptor.check(capsule, at, behindCommand) == NvmeStatus.SUCCESS
                && SglDescriptor.isInCapsule(capsule, at)) {
            long from = SubmissionQueueEntry.SIZE_BYTES + SglDescriptor.address(capsule, at);
            assertThat(capsule.asSlice(from, SglDescriptor.lengthBytes(capsule, at))
                            .byteSize())
                    .isLessThanOrEqualTo(behindCommand);
        }
        assertPrintable(CommandText.describe(capsule, 0, true));
        assertPrintable(CommandText.describe(capsule, 0, false));
        assertPrintable(CommandText.describeCompletion(capsule, 0, true));
        assertThat(ReadWriteCommand.blocks(capsule, 0)).isBetween(1, ReadWriteCommand.MAX_BLOCKS);
        assertThat(DatasetManagementCommand.ranges(capsule, 0)).isBetween(1, DatasetManagementCommand.MAX_RANGES);
        assertThat(GetLogPageCommand.lengthBytes(capsule, 0)).isBetween(4L, 1L << 34);
    }

    @FuzzTest(maxDuration = "10s")
    void identify(byte[] data) {
        MemorySegment memory = padded(data, Cns.DATA_BYTES);
        IdentifyController controller = IdentifyController.parse(memory, 0);
        assertPrintable(controller.sn() + controller.mn() + controller.fr() + controller.subnqn());
        assertThat(controller.maxTransferBytes()).isPositive();
        assertThat(controller.inCapsuleDataBytes()).isNotNegative();
        IdentifyNamespace namespace = IdentifyNamespace.parse(memory, 0);
        assertThat(namespace.lbaFormat().blockSizeBytes()).isNotNegative();
    }
}
