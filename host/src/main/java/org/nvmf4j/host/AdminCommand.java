package org.nvmf4j.host;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;

/**
 * A command for {@link Controller#execute}: a submission queue entry that the caller fills (by the command classes of {@link
 * org.nvmf4j.nvme}), and its data. Command ID and data pointer are the queue's to fill in. Used once.
 */
public final class AdminCommand {
    private final MemorySegment entry = MemorySegment.ofArray(new byte[SubmissionQueueEntry.SIZE_BYTES]);
    private final String name;
    private final byte[] dataOut;
    private final int dataInBytes;

    private AdminCommand(String name, byte[] dataOut, int dataInBytes) {
        if (dataInBytes < 0 || Math.max(dataOut.length, dataInBytes) > SglDescriptor.MAX_KEYED_LENGTH_BYTES) {
            throw new IllegalArgumentException(
                    name + ": a command carries 0 to " + SglDescriptor.MAX_KEYED_LENGTH_BYTES + " bytes of data");
        }
        this.name = name;
        this.dataOut = dataOut;
        this.dataInBytes = dataInBytes;
    }

    /**
     * A command without data.
     *
     * @param name what messages call it: "Identify controller"
     */
    public static AdminCommand withoutData(String name) {
        return new AdminCommand(name, new byte[0], 0);
    }

    /** A command that brings up to so many bytes from the controller. */
    public static AdminCommand withDataIn(String name, int lengthBytes) {
        return new AdminCommand(name, new byte[0], lengthBytes);
    }

    /** A command with data for the controller, which is copied when the command is executed. */
    public static AdminCommand withDataOut(String name, byte[] data) {
        return new AdminCommand(name, data, 0);
    }

    /** The 64 bytes to fill, from offset 0. */
    public MemorySegment entry() {
        return entry;
    }

    public String name() {
        return name;
    }

    byte[] dataOut() {
        return dataOut;
    }

    int dataInBytes() {
        return dataInBytes;
    }
}
