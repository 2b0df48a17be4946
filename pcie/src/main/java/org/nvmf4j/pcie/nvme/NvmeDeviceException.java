package org.nvmf4j.pcie.nvme;

import java.io.IOException;

/** A controller that does not do what it must, or has gone; one line. */
public final class NvmeDeviceException extends IOException {
    private static final long serialVersionUID = 1L;

    public NvmeDeviceException(String message) {
        super(message);
    }
}
