package org.nvmf4j.host;

import org.nvmf4j.nvme.NvmeFormatException;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.verbs.RejectReason;

/** The target, or its transport, refused a queue's connection: the IBTA reason and, if the target gave one, the NVMe/RDMA status. */
public class ConnectionRefusedException extends HostException {
    private static final long serialVersionUID = 1L;

    private final int reason;
    private final int rdmaStatus;

    ConnectionRefusedException(String message, int reason, int rdmaStatus) {
        super(message);
        this.reason = reason;
        this.rdmaStatus = rdmaStatus;
    }

    static ConnectionRefusedException of(String queue, int reason, byte[] privateData) {
        String line = queue + ": connection refused: " + RejectReason.words(reason) + " (reason " + reason + ")";
        if (reason != RejectReason.CONSUMER_DEFINED) {
            return new ConnectionRefusedException(line, reason, 0);
        }
        try {
            RdmaPrivateData.Reject reject = RdmaPrivateData.Reject.parse(privateData);
            return new ConnectionRefusedException(line + ": " + reject.describe(), reason, reject.status());
        } catch (NvmeFormatException e) {
            return new ConnectionRefusedException(line + ": " + e.getMessage(), reason, 0);
        }
    }

    /** IBTA reject reason, see {@link RejectReason}. */
    public int reason() {
        return reason;
    }

    /** NVMe/RDMA reject status, see {@link RdmaPrivateData}; 0 if the target gave none. */
    public int rdmaStatus() {
        return rdmaStatus;
    }
}
