package org.nvmf4j.nvme;

import java.io.IOException;

/** A command that completed with an NVMe status other than success. The message is one line with the standard's name of it. */
public final class NvmeStatusException extends IOException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final long result;

    private NvmeStatusException(String message, int status, long result) {
        super(message);
        this.status = status;
        this.result = result;
    }

    /**
     * What an admin or I/O command ended with.
     *
     * @param operation what was tried, to begin the message with: "Read of 8 blocks at LBA 0"
     * @param status the 15-bit status field, see {@link NvmeStatus}
     * @param result dwords 0 and 1 of the completion
     */
    public static NvmeStatusException of(String operation, int status, long result) {
        return new NvmeStatusException(operation + ": " + NvmeStatus.describe(status), status, result);
    }

    /** What a Fabrics command ended with: its command specific codes have other names. */
    public static NvmeStatusException ofFabrics(String operation, int status, long result) {
        return new NvmeStatusException(operation + ": " + NvmeStatus.describeFabrics(status), status, result);
    }

    /** What a Connect command ended with: of invalid parameters the message names the field that the target blames. */
    public static NvmeStatusException ofConnect(String operation, int status, long result) {
        String blamed = NvmeStatus.code(status) == NvmeStatus.CONNECT_INVALID_PARAMETERS
                ? ": " + ConnectCommand.describeInvalidParameter((int) result)
                : "";
        return new NvmeStatusException(operation + ": " + NvmeStatus.describeFabrics(status) + blamed, status, result);
    }

    /** The 15-bit status field, see {@link NvmeStatus}. */
    public int status() {
        return status;
    }

    /** Dwords 0 and 1 of the completion. */
    public long result() {
        return result;
    }

    /** Status code type. */
    public int sct() {
        return NvmeStatus.sct(status);
    }

    /** Status code. */
    public int sc() {
        return NvmeStatus.sc(status);
    }

    /** Whether the same command would fail again. */
    public boolean doNotRetry() {
        return NvmeStatus.doNotRetry(status);
    }
}
