package org.nvmf4j.verbs;

import java.io.IOException;

/** An RDMA operation that failed; the message is one line that says what failed and, where known, what to do. */
public class VerbsException extends IOException {
    /** The {@link #errno} of an argument that the device does not take. */
    public static final int EINVAL = 22;
    /** The {@link #errno} of a lack of room in the device. */
    public static final int ENOMEM = 12;

    private static final long serialVersionUID = 1L;

    private final int errno;

    public VerbsException(String message) {
        this(message, 0);
    }

    /** With the error number that the device or its driver gave, as libibverbs hands it on. */
    public VerbsException(String message, int errno) {
        super(message);
        this.errno = errno;
    }

    public VerbsException(String message, Throwable cause) {
        super(message, cause);
        this.errno = 0;
    }

    /** The error number of a device or its driver; 0 if none is behind this. */
    public int errno() {
        return errno;
    }
}
