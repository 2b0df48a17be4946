package org.nvmf4j.target;

import org.jspecify.annotations.Nullable;

/** Requests in order, linked through themselves: adding and removing allocates nothing. A request is in one list at a time. */
final class RequestList {
    private @Nullable Request first;
    private @Nullable Request last;
    private int size;

    @Nullable
    Request first() {
        return first;
    }

    boolean isEmpty() {
        return first == null;
    }

    int size() {
        return size;
    }

    void add(Request request) {
        Request before = last;
        request.previous = before;
        request.next = null;
        if (before == null) {
            first = request;
        } else {
            before.next = request;
        }
        last = request;
        size++;
    }

    void remove(Request request) {
        Request before = request.previous;
        Request after = request.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        request.previous = null;
        request.next = null;
        size--;
    }

    /** Takes the first, or null. */
    @Nullable
    Request poll() {
        Request request = first;
        if (request != null) {
            remove(request);
        }
        return request;
    }
}
