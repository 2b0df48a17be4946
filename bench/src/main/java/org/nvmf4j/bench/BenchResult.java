package org.nvmf4j.bench;

import java.util.Map;

/**
 * What a run did, all jobs together.
 *
 * @param workload that was asked for
 * @param target what it ran against, for the report
 * @param reads what was read
 * @param writes what was written
 * @param verifiedBlocks blocks whose content was checked, during the run or after it
 * @param deviceCounters what the host's device counted, by name
 */
public record BenchResult(
        Workload workload,
        String target,
        DirectionResult reads,
        DirectionResult writes,
        long verifiedBlocks,
        Map<String, Long> deviceCounters) {}
