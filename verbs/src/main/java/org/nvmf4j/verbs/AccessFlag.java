package org.nvmf4j.verbs;

/**
 * A right that a registration grants, as {@code IBV_ACCESS_*}. Reading by the local side needs no right.
 */
public enum AccessFlag {
    /** The local device may write: receives and responses to RDMA READ land here. */
    LOCAL_WRITE,
    /** The peer may write by RDMA WRITE; needs {@link #LOCAL_WRITE} too. */
    REMOTE_WRITE,
    /** The peer may read by RDMA READ. */
    REMOTE_READ,
    /**
     * The memory may be taken away while it is registered; work requests on it then fail instead of the process, or go on with what the
     * device has pinned. A software provider pays for it with one more copy of what it sends; a device refuses what the kernel cannot pin.
     */
    ON_DEMAND
}
