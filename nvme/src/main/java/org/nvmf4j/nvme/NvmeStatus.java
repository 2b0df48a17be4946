package org.nvmf4j.nvme;

import java.util.Locale;

/**
 * NVMe status codes as ints, for code that must not allocate: the 15-bit status field of a completion without the phase tag, which
 * is status code in bits 7:0, status code type in bits 10:8, command retry delay in bits 12:11, More in bit 13 and Do Not Retry in
 * bit 14 (NVMe Base 2.0, section 3.3.3.2.1). Zero is success. A constant here is type and code alone; {@code INVALID_FIELD | DNR}
 * makes the whole status.
 */
public final class NvmeStatus {
    /** More: the error log tells more about it. */
    public static final int MORE = 0x2000;
    /** Do Not Retry: the same command would fail again. */
    public static final int DNR = 0x4000;

    /** Status code types. */
    public static final int SCT_GENERIC = 0;

    public static final int SCT_COMMAND_SPECIFIC = 1;
    public static final int SCT_MEDIA = 2;
    public static final int SCT_PATH = 3;
    public static final int SCT_VENDOR = 7;

    /** Generic command status. */
    public static final int SUCCESS = 0x000;

    public static final int INVALID_OPCODE = 0x001;
    public static final int INVALID_FIELD = 0x002;
    public static final int COMMAND_ID_CONFLICT = 0x003;
    public static final int DATA_TRANSFER_ERROR = 0x004;
    public static final int ABORTED_POWER_LOSS = 0x005;
    public static final int INTERNAL_ERROR = 0x006;
    public static final int ABORT_REQUESTED = 0x007;
    public static final int ABORTED_SQ_DELETION = 0x008;
    public static final int ABORTED_FAILED_FUSED = 0x009;
    public static final int ABORTED_MISSING_FUSED = 0x00a;
    public static final int INVALID_NAMESPACE_OR_FORMAT = 0x00b;
    public static final int COMMAND_SEQUENCE_ERROR = 0x00c;
    public static final int INVALID_SGL_SEGMENT_DESCRIPTOR = 0x00d;
    public static final int INVALID_NUMBER_OF_SGL_DESCRIPTORS = 0x00e;
    public static final int DATA_SGL_LENGTH_INVALID = 0x00f;
    public static final int METADATA_SGL_LENGTH_INVALID = 0x010;
    public static final int SGL_DESCRIPTOR_TYPE_INVALID = 0x011;
    public static final int INVALID_USE_OF_CMB = 0x012;
    public static final int PRP_OFFSET_INVALID = 0x013;
    public static final int ATOMIC_WRITE_UNIT_EXCEEDED = 0x014;
    public static final int OPERATION_DENIED = 0x015;
    public static final int SGL_OFFSET_INVALID = 0x016;
    public static final int HOST_IDENTIFIER_INCONSISTENT_FORMAT = 0x018;
    public static final int KEEP_ALIVE_TIMER_EXPIRED = 0x019;
    public static final int KEEP_ALIVE_TIMEOUT_INVALID = 0x01a;
    public static final int ABORTED_PREEMPT_AND_ABORT = 0x01b;
    public static final int SANITIZE_FAILED = 0x01c;
    public static final int SANITIZE_IN_PROGRESS = 0x01d;
    public static final int SGL_DATA_BLOCK_GRANULARITY_INVALID = 0x01e;
    public static final int COMMAND_NOT_SUPPORTED_FOR_QUEUE_IN_CMB = 0x01f;
    public static final int NAMESPACE_WRITE_PROTECTED = 0x020;
    public static final int COMMAND_INTERRUPTED = 0x021;
    public static final int TRANSIENT_TRANSPORT_ERROR = 0x022;
    public static final int ADMIN_COMMAND_MEDIA_NOT_READY = 0x024;
    public static final int LBA_OUT_OF_RANGE = 0x080;
    public static final int CAPACITY_EXCEEDED = 0x081;
    public static final int NAMESPACE_NOT_READY = 0x082;
    public static final int RESERVATION_CONFLICT = 0x083;
    public static final int FORMAT_IN_PROGRESS = 0x084;

    /** Command specific status. */
    public static final int COMPLETION_QUEUE_INVALID = 0x100;

    public static final int INVALID_QUEUE_IDENTIFIER = 0x101;
    public static final int INVALID_QUEUE_SIZE = 0x102;
    public static final int ABORT_COMMAND_LIMIT_EXCEEDED = 0x103;
    public static final int ASYNCHRONOUS_EVENT_REQUEST_LIMIT_EXCEEDED = 0x105;
    public static final int INVALID_FIRMWARE_SLOT = 0x106;
    public static final int INVALID_FIRMWARE_IMAGE = 0x107;
    public static final int INVALID_INTERRUPT_VECTOR = 0x108;
    public static final int INVALID_LOG_PAGE = 0x109;
    public static final int INVALID_FORMAT = 0x10a;
    public static final int INVALID_QUEUE_DELETION = 0x10c;
    public static final int FEATURE_NOT_SAVEABLE = 0x10d;
    public static final int FEATURE_NOT_CHANGEABLE = 0x10e;
    public static final int FEATURE_NOT_NAMESPACE_SPECIFIC = 0x10f;
    public static final int OVERLAPPING_RANGE = 0x114;
    public static final int NAMESPACE_INSUFFICIENT_CAPACITY = 0x115;
    public static final int NAMESPACE_IDENTIFIER_UNAVAILABLE = 0x116;
    public static final int NAMESPACE_ALREADY_ATTACHED = 0x118;
    public static final int NAMESPACE_IS_PRIVATE = 0x119;
    public static final int NAMESPACE_NOT_ATTACHED = 0x11a;
    public static final int CONTROLLER_LIST_INVALID = 0x11c;
    public static final int INVALID_CONTROLLER_IDENTIFIER = 0x11f;
    public static final int ANA_GROUP_IDENTIFIER_INVALID = 0x124;
    public static final int ANA_ATTACH_FAILED = 0x125;
    public static final int IO_COMMAND_SET_NOT_SUPPORTED = 0x129;
    public static final int IO_COMMAND_SET_COMBINATION_REJECTED = 0x12b;
    public static final int CONFLICTING_ATTRIBUTES = 0x180;
    public static final int INVALID_PROTECTION_INFORMATION = 0x181;
    public static final int ATTEMPTED_WRITE_TO_READ_ONLY_RANGE = 0x182;
    public static final int COMMAND_SIZE_LIMIT_EXCEEDED = 0x183;

    /** Media and data integrity errors. */
    public static final int WRITE_FAULT = 0x280;

    public static final int UNRECOVERED_READ_ERROR = 0x281;
    public static final int GUARD_CHECK_ERROR = 0x282;
    public static final int APPLICATION_TAG_CHECK_ERROR = 0x283;
    public static final int REFERENCE_TAG_CHECK_ERROR = 0x284;
    public static final int COMPARE_FAILURE = 0x285;
    public static final int ACCESS_DENIED = 0x286;
    public static final int DEALLOCATED_OR_UNWRITTEN_BLOCK = 0x287;

    /** Path related status. */
    public static final int INTERNAL_PATH_ERROR = 0x300;

    public static final int ANA_PERSISTENT_LOSS = 0x301;
    public static final int ANA_INACCESSIBLE = 0x302;
    public static final int ANA_TRANSITION = 0x303;
    public static final int CONTROLLER_PATHING_ERROR = 0x360;
    public static final int HOST_PATHING_ERROR = 0x370;
    public static final int ABORTED_BY_HOST = 0x371;

    /** Command specific status of Fabrics commands, which shares its codes with that of I/O commands. */
    public static final int CONNECT_INCOMPATIBLE_FORMAT = 0x180;

    public static final int CONNECT_CONTROLLER_BUSY = 0x181;
    public static final int CONNECT_INVALID_PARAMETERS = 0x182;
    public static final int CONNECT_RESTART_DISCOVERY = 0x183;
    public static final int CONNECT_INVALID_HOST = 0x184;
    public static final int DISCONNECT_INVALID_QUEUE_TYPE = 0x185;
    public static final int DISCOVER_RESTART = 0x190;
    public static final int AUTHENTICATION_REQUIRED = 0x191;

    private static final int CODE_MASK = 0x7ff;

    private NvmeStatus() {}

    public static boolean isSuccess(int status) {
        return (status & CODE_MASK) == SUCCESS;
    }

    /** Status code type, 0 to 7. */
    public static int sct(int status) {
        return status >>> 8 & 7;
    }

    /** Status code, 0 to 255. */
    public static int sc(int status) {
        return status & 0xff;
    }

    /** Type and code without retry delay, More and DNR: comparable with the constants. */
    public static int code(int status) {
        return status & CODE_MASK;
    }

    /** Command retry delay: 0 none, 1 to 3 the controller's CRDT1 to CRDT3. */
    public static int crd(int status) {
        return status >>> 11 & 3;
    }

    public static boolean more(int status) {
        return (status & MORE) != 0;
    }

    public static boolean doNotRetry(int status) {
        return (status & DNR) != 0;
    }

    /** The standard's name, as of an admin or I/O command; an unknown code as its numbers. */
    public static String name(int status) {
        return switch (code(status)) {
            case SUCCESS -> "Successful Completion";
            case INVALID_OPCODE -> "Invalid Command Opcode";
            case INVALID_FIELD -> "Invalid Field in Command";
            case COMMAND_ID_CONFLICT -> "Command ID Conflict";
            case DATA_TRANSFER_ERROR -> "Data Transfer Error";
            case ABORTED_POWER_LOSS -> "Commands Aborted due to Power Loss Notification";
            case INTERNAL_ERROR -> "Internal Error";
            case ABORT_REQUESTED -> "Command Abort Requested";
            case ABORTED_SQ_DELETION -> "Command Aborted due to SQ Deletion";
            case ABORTED_FAILED_FUSED -> "Command Aborted due to Failed Fused Command";
            case ABORTED_MISSING_FUSED -> "Command Aborted due to Missing Fused Command";
            case INVALID_NAMESPACE_OR_FORMAT -> "Invalid Namespace or Format";
            case COMMAND_SEQUENCE_ERROR -> "Command Sequence Error";
            case INVALID_SGL_SEGMENT_DESCRIPTOR -> "Invalid SGL Segment Descriptor";
            case INVALID_NUMBER_OF_SGL_DESCRIPTORS -> "Invalid Number of SGL Descriptors";
            case DATA_SGL_LENGTH_INVALID -> "Data SGL Length Invalid";
            case METADATA_SGL_LENGTH_INVALID -> "Metadata SGL Length Invalid";
            case SGL_DESCRIPTOR_TYPE_INVALID -> "SGL Descriptor Type Invalid";
            case INVALID_USE_OF_CMB -> "Invalid Use of Controller Memory Buffer";
            case PRP_OFFSET_INVALID -> "PRP Offset Invalid";
            case ATOMIC_WRITE_UNIT_EXCEEDED -> "Atomic Write Unit Exceeded";
            case OPERATION_DENIED -> "Operation Denied";
            case SGL_OFFSET_INVALID -> "SGL Offset Invalid";
            case HOST_IDENTIFIER_INCONSISTENT_FORMAT -> "Host Identifier Inconsistent Format";
            case KEEP_ALIVE_TIMER_EXPIRED -> "Keep Alive Timer Expired";
            case KEEP_ALIVE_TIMEOUT_INVALID -> "Keep Alive Timeout Invalid";
            case ABORTED_PREEMPT_AND_ABORT -> "Command Aborted due to Preempt and Abort";
            case SANITIZE_FAILED -> "Sanitize Failed";
            case SANITIZE_IN_PROGRESS -> "Sanitize In Progress";
            case SGL_DATA_BLOCK_GRANULARITY_INVALID -> "SGL Data Block Granularity Invalid";
            case COMMAND_NOT_SUPPORTED_FOR_QUEUE_IN_CMB -> "Command Not Supported for Queue in CMB";
            case NAMESPACE_WRITE_PROTECTED -> "Namespace is Write Protected";
            case COMMAND_INTERRUPTED -> "Command Interrupted";
            case TRANSIENT_TRANSPORT_ERROR -> "Transient Transport Error";
            case ADMIN_COMMAND_MEDIA_NOT_READY -> "Admin Command Media Not Ready";
            case LBA_OUT_OF_RANGE -> "LBA Out of Range";
            case CAPACITY_EXCEEDED -> "Capacity Exceeded";
            case NAMESPACE_NOT_READY -> "Namespace Not Ready";
            case RESERVATION_CONFLICT -> "Reservation Conflict";
            case FORMAT_IN_PROGRESS -> "Format In Progress";
            case COMPLETION_QUEUE_INVALID -> "Completion Queue Invalid";
            case INVALID_QUEUE_IDENTIFIER -> "Invalid Queue Identifier";
            case INVALID_QUEUE_SIZE -> "Invalid Queue Size";
            case ABORT_COMMAND_LIMIT_EXCEEDED -> "Abort Command Limit Exceeded";
            case ASYNCHRONOUS_EVENT_REQUEST_LIMIT_EXCEEDED -> "Asynchronous Event Request Limit Exceeded";
            case INVALID_FIRMWARE_SLOT -> "Invalid Firmware Slot";
            case INVALID_FIRMWARE_IMAGE -> "Invalid Firmware Image";
            case INVALID_INTERRUPT_VECTOR -> "Invalid Interrupt Vector";
            case INVALID_LOG_PAGE -> "Invalid Log Page";
            case INVALID_FORMAT -> "Invalid Format";
            case INVALID_QUEUE_DELETION -> "Invalid Queue Deletion";
            case FEATURE_NOT_SAVEABLE -> "Feature Identifier Not Saveable";
            case FEATURE_NOT_CHANGEABLE -> "Feature Not Changeable";
            case FEATURE_NOT_NAMESPACE_SPECIFIC -> "Feature Not Namespace Specific";
            case OVERLAPPING_RANGE -> "Overlapping Range";
            case NAMESPACE_INSUFFICIENT_CAPACITY -> "Namespace Insufficient Capacity";
            case NAMESPACE_IDENTIFIER_UNAVAILABLE -> "Namespace Identifier Unavailable";
            case NAMESPACE_ALREADY_ATTACHED -> "Namespace Already Attached";
            case NAMESPACE_IS_PRIVATE -> "Namespace Is Private";
            case NAMESPACE_NOT_ATTACHED -> "Namespace Not Attached";
            case CONTROLLER_LIST_INVALID -> "Controller List Invalid";
            case INVALID_CONTROLLER_IDENTIFIER -> "Invalid Controller Identifier";
            case ANA_GROUP_IDENTIFIER_INVALID -> "ANA Group Identifier Invalid";
            case ANA_ATTACH_FAILED -> "ANA Attach Failed";
            case IO_COMMAND_SET_NOT_SUPPORTED -> "I/O Command Set Not Supported";
            case IO_COMMAND_SET_COMBINATION_REJECTED -> "I/O Command Set Combination Rejected";
            case CONFLICTING_ATTRIBUTES -> "Conflicting Attributes";
            case INVALID_PROTECTION_INFORMATION -> "Invalid Protection Information";
            case ATTEMPTED_WRITE_TO_READ_ONLY_RANGE -> "Attempted Write to Read Only Range";
            case COMMAND_SIZE_LIMIT_EXCEEDED -> "Command Size Limit Exceeded";
            case WRITE_FAULT -> "Write Fault";
            case UNRECOVERED_READ_ERROR -> "Unrecovered Read Error";
            case GUARD_CHECK_ERROR -> "End-to-end Guard Check Error";
            case APPLICATION_TAG_CHECK_ERROR -> "End-to-end Application Tag Check Error";
            case REFERENCE_TAG_CHECK_ERROR -> "End-to-end Reference Tag Check Error";
            case COMPARE_FAILURE -> "Compare Failure";
            case ACCESS_DENIED -> "Access Denied";
            case DEALLOCATED_OR_UNWRITTEN_BLOCK -> "Deallocated or Unwritten Logical Block";
            case INTERNAL_PATH_ERROR -> "Internal Path Error";
            case ANA_PERSISTENT_LOSS -> "Asymmetric Access Persistent Loss";
            case ANA_INACCESSIBLE -> "Asymmetric Access Inaccessible";
            case ANA_TRANSITION -> "Asymmetric Access Transition";
            case CONTROLLER_PATHING_ERROR -> "Controller Pathing Error";
            case HOST_PATHING_ERROR -> "Host Pathing Error";
            case ABORTED_BY_HOST -> "Command Aborted By Host";
            default -> isVendorSpecific(status) ? "Vendor Specific" : "Unknown Status";
        };
    }

    /** The standard's name, as of a Fabrics command. */
    public static String fabricsName(int status) {
        return switch (code(status)) {
            case CONNECT_INCOMPATIBLE_FORMAT -> "Connect Incompatible Format";
            case CONNECT_CONTROLLER_BUSY -> "Connect Controller Busy";
            case CONNECT_INVALID_PARAMETERS -> "Connect Invalid Parameters";
            case CONNECT_RESTART_DISCOVERY -> "Connect Restart Discovery";
            case CONNECT_INVALID_HOST -> "Connect Invalid Host";
            case DISCONNECT_INVALID_QUEUE_TYPE -> "Invalid Queue Type";
            case DISCOVER_RESTART -> "Discover Restart";
            case AUTHENTICATION_REQUIRED -> "Authentication Required";
            default -> name(status);
        };
    }

    /** Name and numbers, as of an admin or I/O command: {@code Invalid Field in Command (SCT 0h, SC 02h, DNR)}. */
    public static String describe(int status) {
        return name(status) + numbers(status);
    }

    /** Name and numbers, as of a Fabrics command. */
    public static String describeFabrics(int status) {
        return fabricsName(status) + numbers(status);
    }

    private static boolean isVendorSpecific(int status) {
        return sct(status) == SCT_VENDOR || sc(status) >= 0xc0;
    }

    private static String numbers(int status) {
        return String.format(
                Locale.ROOT,
                " (SCT %xh, SC %02xh%s%s)",
                sct(status),
                sc(status),
                more(status) ? ", More" : "",
                doNotRetry(status) ? ", DNR" : "");
    }
}
