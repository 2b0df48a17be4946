package org.nvmf4j.nvme;

import java.util.Locale;

/** Log page identifiers (NVMe Base 2.0). */
public final class LogPage {
    public static final int SUPPORTED_LOG_PAGES = 0x00;
    /** {@link ErrorLogEntry} after another, newest first. */
    public static final int ERROR_INFORMATION = 0x01;
    /** {@link SmartLog}. */
    public static final int SMART_HEALTH_INFORMATION = 0x02;
    /** {@link FirmwareSlotLog}. */
    public static final int FIRMWARE_SLOT_INFORMATION = 0x03;
    /** {@link NamespaceList}. */
    public static final int CHANGED_NAMESPACE_LIST = 0x04;
    /** {@link EffectsLog}. */
    public static final int COMMANDS_SUPPORTED_AND_EFFECTS = 0x05;

    public static final int DEVICE_SELF_TEST = 0x06;
    public static final int TELEMETRY_HOST_INITIATED = 0x07;
    public static final int TELEMETRY_CONTROLLER_INITIATED = 0x08;
    public static final int ENDURANCE_GROUP_INFORMATION = 0x09;
    /** {@link AnaLog}. */
    public static final int ASYMMETRIC_NAMESPACE_ACCESS = 0x0c;

    public static final int PERSISTENT_EVENT_LOG = 0x0d;
    public static final int FEATURE_IDENTIFIERS_SUPPORTED_AND_EFFECTS = 0x12;
    /** {@link DiscoveryLogPage}. */
    public static final int DISCOVERY = 0x70;

    public static final int RESERVATION_NOTIFICATION = 0x80;
    public static final int SANITIZE_STATUS = 0x81;

    private LogPage() {}

    /** The standard's name, or the number in hexadecimal. */
    public static String name(int lid) {
        return switch (lid) {
            case SUPPORTED_LOG_PAGES -> "Supported Log Pages";
            case ERROR_INFORMATION -> "Error Information";
            case SMART_HEALTH_INFORMATION -> "SMART / Health Information";
            case FIRMWARE_SLOT_INFORMATION -> "Firmware Slot Information";
            case CHANGED_NAMESPACE_LIST -> "Changed Namespace List";
            case COMMANDS_SUPPORTED_AND_EFFECTS -> "Commands Supported and Effects";
            case DEVICE_SELF_TEST -> "Device Self-test";
            case TELEMETRY_HOST_INITIATED -> "Telemetry Host-Initiated";
            case TELEMETRY_CONTROLLER_INITIATED -> "Telemetry Controller-Initiated";
            case ENDURANCE_GROUP_INFORMATION -> "Endurance Group Information";
            case ASYMMETRIC_NAMESPACE_ACCESS -> "Asymmetric Namespace Access";
            case PERSISTENT_EVENT_LOG -> "Persistent Event Log";
            case FEATURE_IDENTIFIERS_SUPPORTED_AND_EFFECTS -> "Feature Identifiers Supported and Effects";
            case DISCOVERY -> "Discovery";
            case RESERVATION_NOTIFICATION -> "Reservation Notification";
            case SANITIZE_STATUS -> "Sanitize Status";
            default -> String.format(Locale.ROOT, "log page 0x%02x", lid);
        };
    }
}
