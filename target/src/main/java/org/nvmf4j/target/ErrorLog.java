package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import org.nvmf4j.nvme.DiscoveryLogEntry;
import org.nvmf4j.nvme.ErrorLogEntry;

/**
 * A controller's latest errors. Queues of any lane record theirs, without allocating; the lock is taken only for commands that
 * fail.
 */
final class ErrorLog {
    static final int ENTRIES = 64;

    private final int[] sqids = new int[ENTRIES];
    private final int[] commandIds = new int[ENTRIES];
    private final int[] statuses = new int[ENTRIES];
    private final int[] locations = new int[ENTRIES];
    private final int[] nsids = new int[ENTRIES];
    private long count;

    synchronized void record(Request request, int status) {
        int index = (int) (count++ % ENTRIES);
        sqids[index] = request.qid();
        commandIds[index] = request.commandId();
        statuses[index] = status;
        locations[index] = request.location();
        nsids[index] = request.nsid();
    }

    /** Errors since the controller was made. */
    synchronized long count() {
        return count;
    }

    /** Writes all entries, newest first. */
    synchronized void write(MemorySegment segment, long offset) {
        for (int i = 0; i < Math.min(count, ENTRIES); i++) {
            long number = count - i;
            int index = (int) ((number - 1) % ENTRIES);
            new ErrorLogEntry()
                    .errorCount(number)
                    .sqid(sqids[index])
                    .commandId(commandIds[index])
                    .status(statuses[index])
                    .parameterErrorLocation(locations[index])
                    .nsid(nsids[index])
                    .trtype(DiscoveryLogEntry.TRTYPE_RDMA)
                    .write(segment, offset + (long) i * ErrorLogEntry.SIZE_BYTES);
        }
    }
}
