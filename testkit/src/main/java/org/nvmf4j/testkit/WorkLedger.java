package org.nvmf4j.testkit;

import java.util.ArrayDeque;
import java.util.Deque;

/** Checks that work requests of one queue complete exactly once and in the order in which they were posted. */
public final class WorkLedger {
    private final String name;
    private final Deque<Entry> outstanding = new ArrayDeque<>();
    private long completed;

    private record Entry(long id, boolean signaled) {}

    /** An empty ledger with a name for messages. */
    public WorkLedger(String name) {
        this.name = name;
    }

    /** A request was posted; one that is not signaled may complete silently with a later one. */
    public void posted(long id, boolean signaled) {
        outstanding.add(new Entry(id, signaled));
    }

    /** A completion came; throws if it is not due. */
    public void completed(long id, boolean success) {
        while (true) {
            Entry entry = outstanding.poll();
            if (entry == null) {
                throw new AssertionError(name + ": request " + id + " completed, but is not outstanding");
            }
            completed++;
            if (entry.id == id && (entry.signaled || !success)) {
                return;
            }
            if (entry.signaled || entry.id == id) {
                throw new AssertionError(name + ": request " + id + " completed while " + entry.id + " was due");
            }
        }
    }

    /** Requests that have not completed, silent ones included that may have. */
    public int outstanding() {
        return outstanding.size();
    }

    /** Requests that have completed, silent ones included. */
    public long completed() {
        return completed;
    }

    /** Throws if a request that must make a completion has not. */
    public void checkDrained() {
        for (Entry entry : outstanding) {
            if (entry.signaled) {
                throw new AssertionError(name + ": request " + entry.id + " never completed");
            }
        }
    }
}
