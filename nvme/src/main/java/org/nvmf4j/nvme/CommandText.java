package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** Commands and completions in one line each, in the standard's words, for people who read captures and logs. Cold path only. */
public final class CommandText {
    private CommandText() {}

    /**
     * Describes the 64-byte submission queue entry at {@code offset}; every content has a description.
     *
     * @param adminQueue whether the command came on the admin queue, where opcodes mean other commands
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static String describe(MemorySegment segment, long offset, boolean adminQueue) {
        int opcode = SubmissionQueueEntry.opcode(segment, offset);
        StringBuilder text = new StringBuilder(name(segment, offset, adminQueue));
        text.append(" cid ").append(SubmissionQueueEntry.commandId(segment, offset));
        if (opcode == AdminOpcode.FABRICS) {
            appendFabrics(text, segment, offset);
        } else {
            if (SubmissionQueueEntry.nsid(segment, offset) != 0) {
                text.append(" nsid ").append(nsid(SubmissionQueueEntry.nsid(segment, offset)));
            }
            if (adminQueue) {
                appendAdmin(text, opcode, segment, offset);
            } else {
                appendIo(text, opcode, segment, offset);
            }
        }
        if (SubmissionQueueEntry.flags(segment, offset) != SubmissionQueueEntry.FLAGS_SGL) {
            text.append(String.format(Locale.ROOT, " flags 0x%02x", SubmissionQueueEntry.flags(segment, offset)));
        }
        return text.append(' ')
                .append(describeSgl(segment, offset + SubmissionQueueEntry.DPTR_OFFSET))
                .toString();
    }

    /** The name of the command at {@code offset}: {@code Read}, {@code Get Log Page}, {@code Connect}. */
    public static String name(MemorySegment segment, long offset, boolean adminQueue) {
        int opcode = SubmissionQueueEntry.opcode(segment, offset);
        if (opcode == AdminOpcode.FABRICS) {
            return FabricsType.name(FabricsType.fctype(segment, offset));
        }
        return adminQueue ? AdminOpcode.name(opcode) : IoOpcode.name(opcode);
    }

    /** Describes the 16-byte completion queue entry at {@code offset}; its status as of an admin or I/O command. */
    public static String describeCompletion(MemorySegment segment, long offset) {
        return describeCompletion(segment, offset, false);
    }

    /**
     * Describes the 16-byte completion queue entry at {@code offset}.
     *
     * @param fabricsCommand whether it completes a Fabrics command, whose status codes have other names
     */
    public static String describeCompletion(MemorySegment segment, long offset, boolean fabricsCommand) {
        int status = CompletionQueueEntry.status(segment, offset);
        StringBuilder text = new StringBuilder("Completion cid ")
                .append(CompletionQueueEntry.commandId(segment, offset))
                .append(" sqhd ")
                .append(CompletionQueueEntry.sqHead(segment, offset))
                .append(" sqid ")
                .append(CompletionQueueEntry.sqId(segment, offset));
        long result = CompletionQueueEntry.result(segment, offset);
        if (result != 0) {
            text.append(" result 0x").append(Long.toHexString(result));
        }
        text.append(' ').append(fabricsCommand ? NvmeStatus.describeFabrics(status) : NvmeStatus.describe(status));
        if (fabricsCommand && NvmeStatus.code(status) == NvmeStatus.CONNECT_INVALID_PARAMETERS) {
            text.append(": ").append(ConnectCommand.describeInvalidParameter((int) result));
        }
        return text.toString();
    }

    /** Describes the 16-byte SGL descriptor at {@code offset}; every content has a description. */
    public static String describeSgl(MemorySegment segment, long offset) {
        long address = SglDescriptor.address(segment, offset);
        long length = SglDescriptor.lengthBytes(segment, offset);
        int key = SglDescriptor.key(segment, offset);
        return switch (SglDescriptor.identifier(segment, offset)) {
            case SglDescriptor.IDENTIFIER_KEYED ->
                (address | length | key) == 0
                        ? "no data"
                        : String.format(Locale.ROOT, "SGL keyed address 0x%x length %d key 0x%x", address, length, key);
            case SglDescriptor.IDENTIFIER_KEYED_INVALIDATE ->
                String.format(
                        Locale.ROOT, "SGL keyed, invalidate, address 0x%x length %d key 0x%x", address, length, key);
            case SglDescriptor.IDENTIFIER_IN_CAPSULE ->
                String.format(
                        Locale.ROOT, "SGL in-capsule offset %s length %d", Long.toUnsignedString(address), length);
            default ->
                String.format(
                        Locale.ROOT,
                        "SGL type %xh subtype %xh address 0x%x length %d",
                        SglDescriptor.type(segment, offset),
                        SglDescriptor.subtype(segment, offset),
                        address,
                        length);
        };
    }

    private static void appendFabrics(StringBuilder text, MemorySegment segment, long offset) {
        switch (FabricsType.fctype(segment, offset)) {
            case FabricsType.CONNECT -> {
                text.append(" qid ").append(ConnectCommand.qid(segment, offset));
                text.append(" sqsize ")
                        .append(ConnectCommand.sqsizeZeroBased(segment, offset))
                        .append(" (0-based)");
                text.append(" kato ")
                        .append(ConnectCommand.katoMillis(segment, offset))
                        .append(" ms");
                int cattr = ConnectCommand.cattr(segment, offset);
                if (cattr != 0) {
                    text.append(String.format(Locale.ROOT, " cattr 0x%x", cattr));
                }
            }
            case FabricsType.PROPERTY_GET ->
                text.append(' ').append(ControllerProperties.name(PropertyCommand.property(segment, offset)));
            case FabricsType.PROPERTY_SET -> {
                text.append(' ').append(ControllerProperties.name(PropertyCommand.property(segment, offset)));
                text.append(" value 0x").append(Long.toHexString(PropertyCommand.value(segment, offset)));
            }
            default -> appendDwords(text, segment, offset);
        }
    }

    private static void appendAdmin(StringBuilder text, int opcode, MemorySegment segment, long offset) {
        switch (opcode) {
            case AdminOpcode.IDENTIFY -> appendIdentify(text, segment, offset);
            case AdminOpcode.GET_LOG_PAGE -> appendGetLogPage(text, segment, offset);
            case AdminOpcode.SET_FEATURES -> appendSetFeatures(text, segment, offset);
            case AdminOpcode.GET_FEATURES -> {
                text.append(' ').append(Feature.name(FeaturesCommand.fid(segment, offset)));
                int select = FeaturesCommand.select(segment, offset);
                if (select != FeaturesCommand.SELECT_CURRENT) {
                    text.append(" select ").append(select);
                }
            }
            case AdminOpcode.ABORT -> {
                text.append(" of cid ").append(AbortCommand.cid(segment, offset));
                text.append(" on sqid ").append(AbortCommand.sqid(segment, offset));
            }
            case AdminOpcode.KEEP_ALIVE, AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST -> {}
            default -> appendDwords(text, segment, offset);
        }
    }

    private static void appendIdentify(StringBuilder text, MemorySegment segment, long offset) {
        text.append(' ').append(Cns.name(IdentifyCommand.cns(segment, offset)));
        int csi = IdentifyCommand.csi(segment, offset);
        if (csi != 0) {
            text.append(" csi ").append(csi);
        }
    }

    private static void appendGetLogPage(StringBuilder text, MemorySegment segment, long offset) {
        text.append(' ').append(LogPage.name(GetLogPageCommand.lid(segment, offset)));
        text.append(" length ").append(GetLogPageCommand.lengthBytes(segment, offset));
        long lpo = GetLogPageCommand.lpo(segment, offset);
        if (lpo != 0) {
            text.append(" offset ").append(Long.toUnsignedString(lpo));
        }
        if (GetLogPageCommand.rae(segment, offset)) {
            text.append(" rae");
        }
    }

    private static void appendSetFeatures(StringBuilder text, MemorySegment segment, long offset) {
        int fid = FeaturesCommand.fid(segment, offset);
        int value = FeaturesCommand.value(segment, offset);
        text.append(' ').append(Feature.name(fid));
        if (fid == Feature.NUMBER_OF_QUEUES) {
            text.append(" submission ").append(FeaturesCommand.submissionQueues(value));
            text.append(" completion ").append(FeaturesCommand.completionQueues(value));
        } else {
            text.append(String.format(Locale.ROOT, " value 0x%x", value));
        }
    }

    private static void appendIo(StringBuilder text, int opcode, MemorySegment segment, long offset) {
        switch (opcode) {
            case IoOpcode.READ,
                    IoOpcode.WRITE,
                    IoOpcode.COMPARE,
                    IoOpcode.VERIFY,
                    IoOpcode.WRITE_ZEROES,
                    IoOpcode.WRITE_UNCORRECTABLE -> appendReadWrite(text, segment, offset);
            case IoOpcode.DATASET_MANAGEMENT -> {
                text.append(" ranges ").append(DatasetManagementCommand.ranges(segment, offset));
                int attributes = DatasetManagementCommand.attributes(segment, offset);
                text.append(
                        attributes == DatasetManagementCommand.AD_DEALLOCATE
                                ? " deallocate"
                                : String.format(Locale.ROOT, " attributes 0x%x", attributes));
            }
            case IoOpcode.FLUSH -> {}
            default -> appendDwords(text, segment, offset);
        }
    }

    private static void appendReadWrite(StringBuilder text, MemorySegment segment, long offset) {
        text.append(" slba ").append(Long.toUnsignedString(ReadWriteCommand.slba(segment, offset)));
        text.append(" blocks ").append(ReadWriteCommand.blocks(segment, offset));
        if (ReadWriteCommand.fua(segment, offset)) {
            text.append(" fua");
        }
        if (ReadWriteCommand.deallocate(segment, offset)) {
            text.append(" deac");
        }
    }

    private static void appendDwords(StringBuilder text, MemorySegment segment, long offset) {
        text.append(String.format(
                Locale.ROOT,
                " cdw10-15 0x%x 0x%x 0x%x 0x%x 0x%x 0x%x",
                SubmissionQueueEntry.cdw10(segment, offset),
                SubmissionQueueEntry.cdw11(segment, offset),
                SubmissionQueueEntry.cdw12(segment, offset),
                SubmissionQueueEntry.cdw13(segment, offset),
                SubmissionQueueEntry.cdw14(segment, offset),
                SubmissionQueueEntry.cdw15(segment, offset)));
    }

    private static String nsid(int nsid) {
        return nsid == SubmissionQueueEntry.NSID_ALL ? "all" : Integer.toUnsignedString(nsid);
    }
}
