package org.nvmf4j.nvme;

import java.util.Locale;

/**
 * An asynchronous event as an int: the result of an Asynchronous Event Request, which is type in bits 2:0, information in bits 15:8
 * and log page in bits 23:16 (NVMe Base 2.0, section 5.2). Also the bits that say which notices a controller sends and a host wants.
 */
public final class AsyncEvent {
    public static final int TYPE_ERROR = 0;
    public static final int TYPE_SMART = 1;
    public static final int TYPE_NOTICE = 2;
    public static final int TYPE_IMMEDIATE = 3;
    public static final int TYPE_IO_COMMAND_SET = 6;
    public static final int TYPE_VENDOR = 7;

    /** Notice: namespace attributes changed. */
    public static final int NAMESPACE_ATTRIBUTE_CHANGED = event(TYPE_NOTICE, 0x00, LogPage.CHANGED_NAMESPACE_LIST);
    /** Notice: new firmware starts to be active. */
    public static final int FIRMWARE_ACTIVATION_STARTING = event(TYPE_NOTICE, 0x01, LogPage.FIRMWARE_SLOT_INFORMATION);
    /** Notice: asymmetric namespace access changed. */
    public static final int ANA_CHANGED = event(TYPE_NOTICE, 0x03, LogPage.ASYMMETRIC_NAMESPACE_ACCESS);
    /** Notice: the discovery log page changed. */
    public static final int DISCOVERY_LOG_CHANGED = event(TYPE_NOTICE, 0xf0, LogPage.DISCOVERY);

    /** Bit of OAES and of the feature Asynchronous Event Configuration: namespace attribute notices. */
    public static final int NOTICE_NAMESPACE_ATTRIBUTE = 1 << 8;
    /** Bit likewise: firmware activation notices. */
    public static final int NOTICE_FIRMWARE_ACTIVATION = 1 << 9;
    /** Bit likewise: asymmetric namespace access notices. */
    public static final int NOTICE_ANA = 1 << 11;
    /** Bit likewise: discovery log page notices. */
    public static final int NOTICE_DISCOVERY_LOG = 1 << 31;

    /** Bits of the feature Asynchronous Event Configuration: all critical warnings of the health log page that NVMe 1.0 has. */
    public static final int CRITICAL_WARNINGS = 0x1f;

    private AsyncEvent() {}

    /** An event from its parts. */
    public static int event(int type, int info, int logPage) {
        return type | info << 8 | logPage << 16;
    }

    public static int type(int event) {
        return event & 7;
    }

    /** What happened, by type. */
    public static int info(int event) {
        return event >>> 8 & 0xff;
    }

    /** The log page to read, which makes the controller send further events of this kind. */
    public static int logPage(int event) {
        return event >>> 16 & 0xff;
    }

    public static boolean isNamespaceAttributeChanged(int event) {
        return withoutReserved(event) == NAMESPACE_ATTRIBUTE_CHANGED;
    }

    private static int withoutReserved(int event) {
        return event & 0xff_ff07;
    }

    /** In words. */
    public static String describe(int event) {
        return switch (withoutReserved(event)) {
            case 0x04_00_02 -> "namespace attribute changed";
            case 0x03_01_02 -> "firmware activation starting";
            case 0x0c_03_02 -> "asymmetric namespace access changed";
            case 0x70_f0_02 -> "discovery log page changed";
            default ->
                String.format(
                        Locale.ROOT, "%s 0x%02x, %s", typeName(type(event)), info(event), LogPage.name(logPage(event)));
        };
    }

    private static String typeName(int type) {
        return switch (type) {
            case TYPE_ERROR -> "error";
            case TYPE_SMART -> "SMART / health";
            case TYPE_NOTICE -> "notice";
            case TYPE_IMMEDIATE -> "immediate";
            case TYPE_IO_COMMAND_SET -> "I/O command set specific";
            case TYPE_VENDOR -> "vendor specific";
            default -> "type " + type;
        };
    }
}
