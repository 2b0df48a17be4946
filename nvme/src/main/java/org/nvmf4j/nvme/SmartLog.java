package org.nvmf4j.nvme;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * SMART / Health Information log page (NVMe Base 2.0). 128-bit counters are read as 64 bits, 2^64 - 1 for more. Setters
 * return this structure.
 *
 * <p>Not safe for use by several threads.
 */
public final class SmartLog extends DataStructure {
    public static final int SIZE_BYTES = 512;

    private static final int TEMPERATURE_SENSORS = 200;

    /** All zeroes. */
    public SmartLog() {
        super(SIZE_BYTES);
    }

    private SmartLog(MemorySegment segment, long offset) {
        super(SIZE_BYTES, segment, offset);
    }

    /**
     * A copy of {@value #SIZE_BYTES} bytes; every content is accepted.
     *
     * @throws IndexOutOfBoundsException if the segment ends before
     */
    public static SmartLog parse(MemorySegment segment, long offset) {
        return new SmartLog(segment, offset);
    }

    /** Critical warnings: bit 0 spare, 1 temperature, 2 reliability, 3 read-only, 4 volatile memory backup. */
    public int criticalWarning() {
        return u8(0);
    }

    public SmartLog criticalWarning(int value) {
        u8(0, value);
        return this;
    }

    /** Composite temperature in kelvins; 0 for unknown. */
    public int temperatureKelvins() {
        return u16(1);
    }

    public SmartLog temperatureKelvins(int value) {
        u16(1, value);
        return this;
    }

    /** Available spare in percent. */
    public int availableSpare() {
        return u8(3);
    }

    public SmartLog availableSpare(int value) {
        u8(3, value);
        return this;
    }

    /** Available spare threshold in percent. */
    public int spareThreshold() {
        return u8(4);
    }

    public SmartLog spareThreshold(int value) {
        u8(4, value);
        return this;
    }

    /** Percentage of life used; can be above 100. */
    public int percentageUsed() {
        return u8(5);
    }

    public SmartLog percentageUsed(int value) {
        u8(5, value);
        return this;
    }

    /** Data read, in thousands of 512-byte units, rounded up. */
    public long dataUnitsRead() {
        return u128(32);
    }

    public SmartLog dataUnitsRead(long value) {
        u128(32, value);
        return this;
    }

    /** Data written, in thousands of 512-byte units, rounded up. */
    public long dataUnitsWritten() {
        return u128(48);
    }

    public SmartLog dataUnitsWritten(long value) {
        u128(48, value);
        return this;
    }

    /** Read commands completed. */
    public long hostReadCommands() {
        return u128(64);
    }

    public SmartLog hostReadCommands(long value) {
        u128(64, value);
        return this;
    }

    /** Write commands completed. */
    public long hostWriteCommands() {
        return u128(80);
    }

    public SmartLog hostWriteCommands(long value) {
        u128(80, value);
        return this;
    }

    /** Controller busy time in minutes. */
    public long controllerBusyMinutes() {
        return u128(96);
    }

    public SmartLog controllerBusyMinutes(long value) {
        u128(96, value);
        return this;
    }

    /** Power cycles. */
    public long powerCycles() {
        return u128(112);
    }

    public SmartLog powerCycles(long value) {
        u128(112, value);
        return this;
    }

    /** Power on hours. */
    public long powerOnHours() {
        return u128(128);
    }

    public SmartLog powerOnHours(long value) {
        u128(128, value);
        return this;
    }

    /** Unsafe shutdowns. */
    public long unsafeShutdowns() {
        return u128(144);
    }

    public SmartLog unsafeShutdowns(long value) {
        u128(144, value);
        return this;
    }

    /** Media and data integrity errors. */
    public long mediaErrors() {
        return u128(160);
    }

    public SmartLog mediaErrors(long value) {
        u128(160, value);
        return this;
    }

    /** Error log entries over the life of the controller. */
    public long errorLogEntries() {
        return u128(176);
    }

    public SmartLog errorLogEntries(long value) {
        u128(176, value);
        return this;
    }

    /** Minutes at or above the warning temperature. */
    public int warningTemperatureMinutes() {
        return u32(192);
    }

    public SmartLog warningTemperatureMinutes(int value) {
        u32(192, value);
        return this;
    }

    /** Minutes at or above the critical temperature. */
    public int criticalTemperatureMinutes() {
        return u32(196);
    }

    public SmartLog criticalTemperatureMinutes(int value) {
        u32(196, value);
        return this;
    }

    /** Temperature sensor 1 to 8 in kelvins; 0 if there is none. */
    public int temperatureSensorKelvins(int sensor) {
        return u16(TEMPERATURE_SENSORS + 2 * Objects.checkIndex(sensor - 1, 8));
    }
}
