package org.nvmf4j.pcie.nvme;

/** The time, and how to let some of it pass while a device does its work. */
public interface Pace {
    long nanoTime();

    /** A moment, short against all timeouts. */
    void pause();
}
