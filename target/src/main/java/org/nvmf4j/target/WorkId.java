package org.nvmf4j.target;

/** Ids of a queue's work requests: what it is, and the slot or response that it belongs to. */
final class WorkId {
    static final int RECEIVE = 1;
    static final int RESPONSE = 2;
    static final int READ = 3;

    private WorkId() {}

    static long of(int kind, int index) {
        return (long) kind << 32 | index;
    }

    static int kind(long id) {
        return (int) (id >>> 32);
    }

    static int index(long id) {
        return (int) id;
    }
}
