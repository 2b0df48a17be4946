package org.nvmf4j.bench;

import org.HdrHistogram.Histogram;

/**
 * What was done in one direction.
 *
 * @param ios completed requests
 * @param bytes they moved
 * @param runtimeNanos for how long they were counted
 * @param latencyNanos completion latency, from submission to completion, of each
 */
public record DirectionResult(long ios, long bytes, long runtimeNanos, Histogram latencyNanos) {
    public double iops() {
        return runtimeNanos == 0 ? 0 : ios * 1e9 / runtimeNanos;
    }

    public double bytesPerSecond() {
        return runtimeNanos == 0 ? 0 : bytes * 1e9 / runtimeNanos;
    }
}
