package org.nvmf4j.verbs;

import java.io.IOException;

/** An RDMA operation that failed; the message is one line that says what failed and, where known, what to do. */
public class VerbsException extends IOException {
    private static final long serialVersionUID = 1L;

    public VerbsException(String message) {
        super(message);
    }

    public VerbsException(String message, Throwable cause) {
        super(message, cause);
    }
}
