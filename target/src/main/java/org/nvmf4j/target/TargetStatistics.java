package org.nvmf4j.target;

import java.util.concurrent.atomic.LongAdder;

/**
 * What a target has done since it started, at one time.
 *
 * @param connectionsAccepted queue pairs that hosts connected
 * @param connectionsRejected refused in connection management, with a reason
 * @param connectionsFailed ended by an error of the transport or of the host's protocol
 * @param queues queues that are there now
 * @param controllers controllers that are there now, those of discovery among them
 * @param controllersCreated controllers that hosts made
 * @param keepAliveExpiries controllers that ended because their host went silent
 * @param commands command capsules received
 * @param commandErrors commands that ended with an error status
 * @param bufferWaits requests that had to wait for a data buffer
 * @param buffersInUse data buffers that requests hold now
 * @param queueMemoryBytes memory of all queues
 */
public record TargetStatistics(
        long connectionsAccepted,
        long connectionsRejected,
        long connectionsFailed,
        long queues,
        long controllers,
        long controllersCreated,
        long keepAliveExpiries,
        long commands,
        long commandErrors,
        long bufferWaits,
        long buffersInUse,
        long queueMemoryBytes) {

    /** Counts of rare things; from any thread. */
    static final class Counters {
        final LongAdder accepted = new LongAdder();
        final LongAdder rejected = new LongAdder();
        final LongAdder failed = new LongAdder();
        final LongAdder queues = new LongAdder();
        final LongAdder controllersCreated = new LongAdder();
        final LongAdder keepAliveExpiries = new LongAdder();
    }
}
