package org.nvmf4j.linux;

import java.io.IOException;

/** A system call that failed: which one, and the kernel's error number. */
public class LinuxException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String call;
    private final int errno;

    /**
     * For a call whose error says enough.
     *
     * @param call the system call's name, for instance {@code bind}
     * @param errno the kernel's error number, positive
     */
    public LinuxException(String call, int errno) {
        this(call, errno, call + ": " + SystemErrors.describe(errno));
    }

    /**
     * For a call whose error needs more words.
     *
     * @param call the system call's name
     * @param errno the kernel's error number, positive
     * @param message one line that says what went wrong and what to do
     */
    public LinuxException(String call, int errno, String message) {
        super(message);
        this.call = call;
        this.errno = errno;
    }

    /** The system call's name, for instance {@code bind}. */
    public final String call() {
        return call;
    }

    /** The kernel's error number, positive; {@link SystemErrors#name} tells its name. */
    public final int errno() {
        return errno;
    }
}
