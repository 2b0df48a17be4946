package org.nvmf4j.host;

/** Which threads run the I/O queues of a {@link Host}. */
public enum ThreadingMode {
    /**
     * The host has a thread per completion vector. Any thread submits, through {@link Namespace}; completions run on the lane's
     * thread. The default.
     */
    LANE_THREADS,
    /**
     * The thread that {@linkplain Controller#openIoQueue opens an I/O queue} owns it and polls it: no hand-over, lowest latency. Where
     * the device has one vector only, the admin queue lives on that thread too and progresses only while it polls or waits in a call
     * of this package; else it keeps a thread of its own.
     */
    CALLER_THREAD
}
