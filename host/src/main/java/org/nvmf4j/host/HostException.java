package org.nvmf4j.host;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Something between this host and a target that failed other than by an NVMe status (that is {@link
 * org.nvmf4j.nvme.NvmeStatusException}). The message is one line that says what failed and, where known, what to do.
 */
public class HostException extends IOException {
    private static final long serialVersionUID = 1L;

    public HostException(String message) {
        super(message);
    }

    public HostException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
