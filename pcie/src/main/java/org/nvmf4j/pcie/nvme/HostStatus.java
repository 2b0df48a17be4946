package org.nvmf4j.pcie.nvme;

import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;

/** What a host of the target is told of a status of the drive. */
final class HostStatus {
    private HostStatus() {}

    /** Tells a request what it ends with. */
    static BackendStatus tell(BackendRequest request, int status) {
        request.deviceStatus(of(status));
        return BackendStatus.DEVICE_STATUS;
    }

    /**
     * The status for the host, with the drive's Do Not Retry: the same where it is about the host's blocks or the state of the drive,
     * else an internal error, as the host knows nothing of the command, the memory or the vendor that it is about.
     */
    static int of(int status) {
        int dnr = status & NvmeStatus.DNR;
        return switch (NvmeStatus.code(status)) {
            case NvmeStatus.ABORT_REQUESTED, NvmeStatus.ABORTED_SQ_DELETION ->
                NvmeStatus.COMMAND_INTERRUPTED; // by the driver, not by the host: which may try again
            case NvmeStatus.LBA_OUT_OF_RANGE,
                    NvmeStatus.CAPACITY_EXCEEDED,
                    NvmeStatus.NAMESPACE_NOT_READY,
                    NvmeStatus.RESERVATION_CONFLICT,
                    NvmeStatus.FORMAT_IN_PROGRESS,
                    NvmeStatus.NAMESPACE_WRITE_PROTECTED,
                    NvmeStatus.SANITIZE_FAILED,
                    NvmeStatus.SANITIZE_IN_PROGRESS,
                    NvmeStatus.COMMAND_INTERRUPTED,
                    NvmeStatus.TRANSIENT_TRANSPORT_ERROR,
                    NvmeStatus.DATA_TRANSFER_ERROR,
                    NvmeStatus.ABORTED_POWER_LOSS,
                    NvmeStatus.ATTEMPTED_WRITE_TO_READ_ONLY_RANGE,
                    NvmeStatus.INVALID_NAMESPACE_OR_FORMAT -> NvmeStatus.code(status) | dnr;
            default ->
                NvmeStatus.sct(status) == NvmeStatus.SCT_MEDIA && NvmeStatus.sc(status) < 0xc0
                        ? NvmeStatus.code(status) | dnr
                        : NvmeStatus.INTERNAL_ERROR | dnr;
        };
    }

    /** Whether nobody but the driver can be to blame, so that it is worth a line in its log. */
    static boolean isOurs(int status) {
        return NvmeStatus.code(of(status)) == NvmeStatus.INTERNAL_ERROR
                && NvmeStatus.code(status) != NvmeStatus.INTERNAL_ERROR;
    }
}
