package org.nvmf4j.nvme;

import java.util.Locale;

/** Opcodes of the Admin command set (NVMe Base 2.0). */
public final class AdminOpcode {
    public static final int DELETE_IO_SQ = 0x00;
    public static final int CREATE_IO_SQ = 0x01;
    public static final int GET_LOG_PAGE = 0x02;
    public static final int DELETE_IO_CQ = 0x04;
    public static final int CREATE_IO_CQ = 0x05;
    public static final int IDENTIFY = 0x06;
    public static final int ABORT = 0x08;
    public static final int SET_FEATURES = 0x09;
    public static final int GET_FEATURES = 0x0a;
    public static final int ASYNCHRONOUS_EVENT_REQUEST = 0x0c;
    public static final int NAMESPACE_MANAGEMENT = 0x0d;
    public static final int FIRMWARE_COMMIT = 0x10;
    public static final int FIRMWARE_IMAGE_DOWNLOAD = 0x11;
    public static final int DEVICE_SELF_TEST = 0x14;
    public static final int NAMESPACE_ATTACHMENT = 0x15;
    public static final int KEEP_ALIVE = 0x18;
    public static final int DIRECTIVE_SEND = 0x19;
    public static final int DIRECTIVE_RECEIVE = 0x1a;
    /** The command is a Fabrics command; see {@link FabricsType}. */
    public static final int FABRICS = 0x7f;

    public static final int FORMAT_NVM = 0x80;
    public static final int SECURITY_SEND = 0x81;
    public static final int SECURITY_RECEIVE = 0x82;
    public static final int SANITIZE = 0x84;
    public static final int GET_LBA_STATUS = 0x86;

    private AdminOpcode() {}

    /** The standard's name, or the number in hexadecimal. */
    public static String name(int opcode) {
        return switch (opcode) {
            case DELETE_IO_SQ -> "Delete I/O Submission Queue";
            case CREATE_IO_SQ -> "Create I/O Submission Queue";
            case GET_LOG_PAGE -> "Get Log Page";
            case DELETE_IO_CQ -> "Delete I/O Completion Queue";
            case CREATE_IO_CQ -> "Create I/O Completion Queue";
            case IDENTIFY -> "Identify";
            case ABORT -> "Abort";
            case SET_FEATURES -> "Set Features";
            case GET_FEATURES -> "Get Features";
            case ASYNCHRONOUS_EVENT_REQUEST -> "Asynchronous Event Request";
            case NAMESPACE_MANAGEMENT -> "Namespace Management";
            case FIRMWARE_COMMIT -> "Firmware Commit";
            case FIRMWARE_IMAGE_DOWNLOAD -> "Firmware Image Download";
            case DEVICE_SELF_TEST -> "Device Self-test";
            case NAMESPACE_ATTACHMENT -> "Namespace Attachment";
            case KEEP_ALIVE -> "Keep Alive";
            case DIRECTIVE_SEND -> "Directive Send";
            case DIRECTIVE_RECEIVE -> "Directive Receive";
            case FABRICS -> "Fabrics";
            case FORMAT_NVM -> "Format NVM";
            case SECURITY_SEND -> "Security Send";
            case SECURITY_RECEIVE -> "Security Receive";
            case SANITIZE -> "Sanitize";
            case GET_LBA_STATUS -> "Get LBA Status";
            default -> String.format(Locale.ROOT, "Admin opcode 0x%02x", opcode);
        };
    }
}
