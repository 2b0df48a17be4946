package org.nvmf4j.pcie;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A part of a BAR that the user offers as peer memory. Whatever else uses that part is overwritten.
 *
 * @param address of the function
 * @param bar 0 to 5, the number of its {@code resource} file in sysfs
 * @param offsetBytes from the BAR's start, a multiple of 4096
 * @param lengthBytes a multiple of 4096; 0 is all from the offset on
 */
public record BarRange(PciAddress address, int bar, long offsetBytes, long lengthBytes) {
    static final int LAST_BAR = 5;

    private static final Pattern TEXT =
            Pattern.compile("([^/]+)/resource([0-5])(?:@(\\d{1,15})([KMG]?)(?:\\+(\\d{1,15})([KMG]?))?)?");

    private static final Pattern LENGTH_ALONE = Pattern.compile("([^/]+/resource[0-5])\\+(\\d+[KMG]?)");

    /** Checks ranges and alignment. */
    public BarRange {
        if (bar < 0 || bar > LAST_BAR || !isAligned(offsetBytes) || !isAligned(lengthBytes)) {
            throw new IllegalArgumentException("no range of a BAR: resource" + bar + " at " + offsetBytes + ", "
                    + lengthBytes + " bytes; BARs are 0 to 5, offset and length multiples of 4096");
        }
    }

    private static boolean isAligned(long bytes) {
        return bytes >= 0 && bytes % MappedBlock.PAGE_BYTES == 0;
    }

    /**
     * A range as text: {@code 0000:03:00.0/resource2}, {@code 03:00.0/resource2@16M} or {@code
     * 03:00.0/resource2@16M+64M}.
     *
     * @throws IllegalArgumentException if the text is something else, in one line
     */
    public static BarRange parse(String text) {
        Matcher parts = TEXT.matcher(text);
        if (!parts.matches()) {
            Matcher length = LENGTH_ALONE.matcher(text);
            if (length.matches()) {
                throw new IllegalArgumentException("'" + text + "' is no range of a BAR; for its first "
                        + length.group(2) + " write it as " + length.group(1) + "@0+" + length.group(2));
            }
            throw new IllegalArgumentException(
                    "'" + text + "' is no range of a BAR; write it as 0000:03:00.0/resource2@OFFSET+LENGTH");
        }
        return new BarRange(
                PciAddress.parse(parts.group(1)),
                Integer.parseInt(parts.group(2)),
                bytes(parts.group(3), parts.group(4)),
                bytes(parts.group(5), parts.group(6)));
    }

    private static long bytes(String number, String unit) {
        if (number == null) {
            return 0;
        }
        int shift = unit.isEmpty() ? 0 : 10 * (1 + "KMG".indexOf(unit));
        long value = Long.parseLong(number);
        return value > Long.MAX_VALUE >> shift ? Long.MAX_VALUE : value << shift;
    }

    @Override
    public String toString() {
        String place = offsetBytes == 0 && lengthBytes == 0 ? "" : "@" + offsetBytes;
        return address + "/resource" + bar + place + (lengthBytes == 0 ? "" : "+" + lengthBytes);
    }
}
