package org.nvmf4j.target;

/** A connected queue as its controller sees it. */
interface ControllerQueue extends RequestOwner {
    /** When its latest command arrived, in {@link System#nanoTime}; from any thread. */
    long lastCommandNanos();

    /** Runs a task on the queue's lane, or not at all if the lane has ended; from any thread. */
    void execute(Runnable task);

    /** Disconnects the queue soon; from any thread, as often as wanted. */
    void closeSoon(String reason);

    /** Ends a request that was held; on the queue's lane. */
    void respond(Request request);
}
