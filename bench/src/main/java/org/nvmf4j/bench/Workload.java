package org.nvmf4j.bench;

/**
 * What to do, in fio's words. A run ends when every job has moved {@code sizeBytes}, or after {@code runtimeMillis}, whichever comes
 * first; with {@code timeBased} only the time counts.
 *
 * @param name of the job in the report
 * @param readWrite the access pattern
 * @param blockBytes {@code --bs}: a multiple of the namespace's block size
 * @param iodepth requests that each job keeps outstanding
 * @param jobs {@code --numjobs}: threads, each with an I/O queue and a region of its own
 * @param sizeBytes {@code --size}: the region of each job; 0 for its share of the namespace
 * @param runtimeMillis {@code --runtime}; 0 for no limit
 * @param rampMillis {@code --ramp_time}: how long to run before anything counts
 * @param timeBased {@code --time_based}: start over until the time is up
 * @param rwmixread share of reads in a mixed pattern, percent
 * @param verify whether written data carries what lets it be checked, and is read back and checked
 * @param seed {@code --randseed}
 */
public record Workload(
        String name,
        ReadWrite readWrite,
        int blockBytes,
        int iodepth,
        int jobs,
        long sizeBytes,
        long runtimeMillis,
        long rampMillis,
        boolean timeBased,
        int rwmixread,
        boolean verify,
        long seed) {
    /** Largest block, 4 MiB. */
    public static final int MAX_BLOCK_BYTES = 4 << 20;

    public Workload {
        require(
                blockBytes >= 512 && blockBytes <= MAX_BLOCK_BYTES && blockBytes % 512 == 0,
                "bs must be a multiple of 512 from 512 to 4M, not " + blockBytes);
        require(iodepth >= 1 && iodepth <= 1023, "iodepth must be 1 to 1023, not " + iodepth);
        require(jobs >= 1 && jobs <= 64, "numjobs must be 1 to 64, not " + jobs);
        require(sizeBytes >= 0, "size must not be negative");
        require(
                sizeBytes == 0 || sizeBytes >= blockBytes,
                "size must be at least bs (" + blockBytes + "), not " + sizeBytes);
        require(runtimeMillis >= 0 && rampMillis >= 0, "times must not be negative");
        require(rwmixread >= 0 && rwmixread <= 100, "rwmixread must be 0 to 100, not " + rwmixread);
        require(!timeBased || runtimeMillis > 0, "time_based needs runtime: add it, as in runtime=10s");
    }

    public Workload withSeed(long newSeed) {
        return new Workload(
                name,
                readWrite,
                blockBytes,
                iodepth,
                jobs,
                sizeBytes,
                runtimeMillis,
                rampMillis,
                timeBased,
                rwmixread,
                verify,
                newSeed);
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalArgumentException(message);
        }
    }
}
