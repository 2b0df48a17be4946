package org.nvmf4j.roce.rc;

/**
 * How much a queue pair holds; fixed at its creation.
 *
 * @param maxSendRequests send work requests outstanding at most, 1 to 65,536
 * @param maxReceiveRequests receives posted at most, 1 to 65,536
 * @param maxSge elements of a scatter/gather list at most, 1 to 256
 * @param inlineBytes payload that a work request can carry itself, 0 to 65,536
 */
public record RcSizes(int maxSendRequests, int maxReceiveRequests, int maxSge, int inlineBytes) {
    static final int MAX_REQUESTS = 1 << 16;
    static final int MAX_SGE = 256;
    static final int MAX_INLINE_BYTES = 1 << 16;

    public RcSizes {
        check("send requests", maxSendRequests, 1, MAX_REQUESTS);
        check("receive requests", maxReceiveRequests, 1, MAX_REQUESTS);
        check("SGEs", maxSge, 1, MAX_SGE);
        check("inline bytes", inlineBytes, 0, MAX_INLINE_BYTES);
    }

    static void check(String what, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(what + " must be " + min + " to " + max + ", not " + value);
        }
    }

    /** Bytes that the queue pair needs for the payload of inline work requests. */
    public long inlineStorageBytes() {
        return (long) SendQueue.slots(maxSendRequests) * inlineBytes;
    }
}
