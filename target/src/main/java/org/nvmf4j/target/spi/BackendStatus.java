package org.nvmf4j.target.spi;

/** How a {@link BackendRequest} ended, or that it has not ended yet. */
public enum BackendStatus {
    SUCCESS,
    /** Only returned from {@link Backend#submit}: {@link BackendRequest#complete} follows, exactly once. */
    PENDING,
    /** The medium failed: an unrecovered read error or a write fault. */
    MEDIA_ERROR,
    /** No room is left for the data. */
    CAPACITY_EXCEEDED,
    /** The backend takes no writes. */
    WRITE_PROTECTED,
    /** The backend cannot do this operation. */
    UNSUPPORTED,
    /** The data of a {@link BackendOperation#COMPARE} is not that of the backend. */
    COMPARE_FAILURE,
    /** The memory of the data has vanished, see {@link BackendRequest#mayVanish}. */
    DATA_LOST,
    /** It ended as an NVMe device behind the backend says, see {@link BackendRequest#deviceStatus(int)}. */
    DEVICE_STATUS,
    /** Anything else. */
    INTERNAL_ERROR
}
