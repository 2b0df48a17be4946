package org.nvmf4j.target;

/** What a queue of a controller has moved; written by its lane alone, read by any thread. */
final class IoCounters {
    private static final int READS = 0;
    private static final int READ_BYTES = 1;
    private static final int WRITES = 2;
    private static final int WRITTEN_BYTES = 3;
    private static final int MEDIA_ERRORS = 4;

    private final Counts counts = new Counts(5);

    void read(long bytes) {
        counts.add(READS, 1);
        counts.add(READ_BYTES, bytes);
    }

    void written(long bytes) {
        counts.add(WRITES, 1);
        counts.add(WRITTEN_BYTES, bytes);
    }

    void mediaError() {
        counts.add(MEDIA_ERRORS, 1);
    }

    long reads() {
        return counts.get(READS);
    }

    long readBytes() {
        return counts.get(READ_BYTES);
    }

    long writes() {
        return counts.get(WRITES);
    }

    long writtenBytes() {
        return counts.get(WRITTEN_BYTES);
    }

    long mediaErrors() {
        return counts.get(MEDIA_ERRORS);
    }
}
