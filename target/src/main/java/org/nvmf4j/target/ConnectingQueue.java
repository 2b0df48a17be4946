package org.nvmf4j.target;

/** A queue that may become part of a controller by a Connect command. */
interface ConnectingQueue extends ControllerQueue {
    /** Receives that are posted: the most that the queue can have entries. */
    int receives();

    /** The largest I/O queue of the port, in entries. */
    int maxQueueSize();

    /**
     * The queue is part of a controller from now on.
     *
     * @param entries of the queue as the host has it
     * @param reportsHead whether completions carry the submission queue head
     */
    void connected(Controller controller, CommandSet commands, int entries, boolean reportsHead);
}
