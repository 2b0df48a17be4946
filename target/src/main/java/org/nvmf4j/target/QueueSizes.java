package org.nvmf4j.target;

import org.nvmf4j.verbs.DeviceAttributes;

/**
 * How large the parts of a queue are. The send queue holds every response with its RDMA WRITE, and every RDMA READ, so that it cannot
 * overflow.
 *
 * @param receives command capsules that can come in
 * @param responses responses that can be under way: more than receives where the device allows, because a host sends the next
 *     command when it has a response, earlier than this side knows of that
 * @param reads RDMA READs that can be under way
 * @param inCapsuleBytes data in a capsule at most
 */
record QueueSizes(int receives, int responses, int reads, int inCapsuleBytes) {
    /** READs per queue that suffice to keep a link busy. */
    private static final int MAX_READS = 32;

    static QueueSizes of(int receives, int peerReads, int inCapsuleBytes, DeviceAttributes device) {
        int reads = Math.min(Math.min(peerReads, device.maxReadRequests()), MAX_READS);
        int responses = Math.min(2 * receives, (device.maxWorkRequests() - reads) / 2);
        return new QueueSizes(receives, responses, reads, inCapsuleBytes);
    }

    /** Entries of the largest queue that a device can have. */
    static int maxReceives(DeviceAttributes device) {
        return (device.maxWorkRequests() - MAX_READS) / 2;
    }

    /** Work requests in the send queue at most. */
    int sends() {
        return 2 * responses + reads;
    }

    /** Completions that can be waiting at most. */
    int completions() {
        return sends() + receives;
    }

    /** Memory that the queue takes, with a guess for its objects. */
    long memoryBytes() {
        return QueueMemory.sizeBytes(receives, responses, inCapsuleBytes) + 512L * (receives + responses);
    }
}
