package org.nvmf4j.nvme;

import java.io.IOException;

/** Data from the peer that breaks its format. The message is one line that names the structure and what is wrong with it. */
public final class NvmeFormatException extends IOException {
    private static final long serialVersionUID = 1;

    public NvmeFormatException(String message) {
        super(message);
    }
}
