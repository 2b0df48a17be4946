package org.nvmf4j.verbs;

import org.jspecify.annotations.Nullable;

/** A request for the send queue: SEND, RDMA WRITE or RDMA READ, as {@code struct ibv_send_wr}. */
public final class SendWorkRequest extends WorkRequest {
    private WorkOpcode opcode = WorkOpcode.SEND;
    private boolean signaled = true;
    private long remoteAddress;
    private int rkey;
    private int invalidateRkey;
    private boolean inline;
    private @Nullable SendWorkRequest next;

    /** A SEND without data, signaled, that takes up to {@code maxSge} elements. */
    public SendWorkRequest(int maxSge) {
        super(maxSge);
    }

    public WorkOpcode opcode() {
        return opcode;
    }

    /** Sets any opcode but {@link WorkOpcode#RECEIVE}. */
    public void opcode(WorkOpcode opcode) {
        if (opcode == WorkOpcode.RECEIVE) {
            throw new IllegalArgumentException("RECEIVE is not an opcode of the send queue");
        }
        this.opcode = opcode;
    }

    /** Whether success makes a completion; failure always does. */
    public boolean signaled() {
        return signaled;
    }

    public void signaled(boolean signaled) {
        this.signaled = signaled;
    }

    public long remoteAddress() {
        return remoteAddress;
    }

    public int rkey() {
        return rkey;
    }

    /** The peer's memory, for RDMA WRITE and RDMA READ. */
    public void remote(long address, int rkey) {
        this.remoteAddress = address;
        this.rkey = rkey;
    }

    public int invalidateRkey() {
        return invalidateRkey;
    }

    /** The peer's rkey that {@link WorkOpcode#SEND_WITH_INVALIDATE} makes invalid. */
    public void invalidateRkey(int rkey) {
        this.invalidateRkey = rkey;
    }

    /** What is posted right behind this request by the same call, or null. */
    public @Nullable SendWorkRequest next() {
        return next;
    }

    public void next(@Nullable SendWorkRequest next) {
        this.next = next;
    }

    /**
     * Whether the core decided, in the latest {@link QueuePair#postSend}, that the data travels in the work request. Then the memory it
     * came from is free already.
     */
    public boolean inline() {
        return inline;
    }

    void inline(boolean inline) {
        this.inline = inline;
    }
}
