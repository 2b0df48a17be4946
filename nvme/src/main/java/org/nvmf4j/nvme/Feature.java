package org.nvmf4j.nvme;

import java.util.Locale;

/** Feature identifiers (NVMe Base 2.0). */
public final class Feature {
    public static final int ARBITRATION = 0x01;
    public static final int POWER_MANAGEMENT = 0x02;
    public static final int TEMPERATURE_THRESHOLD = 0x04;
    public static final int ERROR_RECOVERY = 0x05;
    public static final int VOLATILE_WRITE_CACHE = 0x06;
    public static final int NUMBER_OF_QUEUES = 0x07;
    public static final int WRITE_ATOMICITY_NORMAL = 0x0a;
    public static final int ASYNCHRONOUS_EVENT_CONFIGURATION = 0x0b;
    public static final int AUTONOMOUS_POWER_STATE_TRANSITION = 0x0c;
    public static final int TIMESTAMP = 0x0e;
    public static final int KEEP_ALIVE_TIMER = 0x0f;
    public static final int HOST_CONTROLLED_THERMAL_MANAGEMENT = 0x10;
    public static final int HOST_BEHAVIOR_SUPPORT = 0x16;
    public static final int IO_COMMAND_SET_PROFILE = 0x19;
    public static final int HOST_IDENTIFIER = 0x81;
    public static final int RESERVATION_NOTIFICATION_MASK = 0x82;
    public static final int RESERVATION_PERSISTENCE = 0x83;
    public static final int NAMESPACE_WRITE_PROTECTION = 0x84;

    private Feature() {}

    /** The standard's name, or the number in hexadecimal. */
    public static String name(int fid) {
        return switch (fid) {
            case ARBITRATION -> "Arbitration";
            case POWER_MANAGEMENT -> "Power Management";
            case TEMPERATURE_THRESHOLD -> "Temperature Threshold";
            case ERROR_RECOVERY -> "Error Recovery";
            case VOLATILE_WRITE_CACHE -> "Volatile Write Cache";
            case NUMBER_OF_QUEUES -> "Number of Queues";
            case WRITE_ATOMICITY_NORMAL -> "Write Atomicity Normal";
            case ASYNCHRONOUS_EVENT_CONFIGURATION -> "Asynchronous Event Configuration";
            case AUTONOMOUS_POWER_STATE_TRANSITION -> "Autonomous Power State Transition";
            case TIMESTAMP -> "Timestamp";
            case KEEP_ALIVE_TIMER -> "Keep Alive Timer";
            case HOST_CONTROLLED_THERMAL_MANAGEMENT -> "Host Controlled Thermal Management";
            case HOST_BEHAVIOR_SUPPORT -> "Host Behavior Support";
            case IO_COMMAND_SET_PROFILE -> "I/O Command Set Profile";
            case HOST_IDENTIFIER -> "Host Identifier";
            case RESERVATION_NOTIFICATION_MASK -> "Reservation Notification Mask";
            case RESERVATION_PERSISTENCE -> "Reservation Persistence";
            case NAMESPACE_WRITE_PROTECTION -> "Namespace Write Protection";
            default -> String.format(Locale.ROOT, "feature 0x%02x", fid);
        };
    }
}
