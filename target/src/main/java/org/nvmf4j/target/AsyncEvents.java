package org.nvmf4j.target;

import java.util.ArrayDeque;
import java.util.TreeSet;
import org.nvmf4j.nvme.AsyncEvent;
import org.nvmf4j.nvme.NvmeStatus;

/**
 * Asynchronous events of a controller. An event is sent once and then masked until its log page is read without RAE; what happens
 * meanwhile stands in the log page. Belongs to the lane of the admin queue.
 */
final class AsyncEvents {
    /** Requests that a controller holds at most. */
    static final int MAX_HELD = 4;

    private final ControllerQueue admin;
    private final ArrayDeque<Request> held = new ArrayDeque<>(MAX_HELD);
    private final TreeSet<Integer> changedNamespaces = new TreeSet<>();
    /** Notices that the host wants, that wait for a request, and that were sent and not read: bits as AsyncEvent.NOTICE_.... */
    private int enabled;

    private int pending;
    private int masked;

    AsyncEvents(ControllerQueue admin, int enabled) {
        this.admin = admin;
        this.enabled = enabled;
    }

    int enabled() {
        return enabled;
    }

    void enabled(int notices) {
        enabled = notices;
        pending &= notices;
    }

    /**
     * Takes an Asynchronous Event Request.
     *
     * @return whether it has ended, because there is an event already or too many are held
     */
    boolean hold(Request request) {
        if (pending != 0) {
            int notice = Integer.lowestOneBit(pending);
            pending &= ~notice;
            request.result(eventOf(notice));
            return true;
        }
        if (held.size() == MAX_HELD) {
            request.fail(NvmeStatus.ASYNCHRONOUS_EVENT_REQUEST_LIMIT_EXCEEDED | NvmeStatus.DNR);
            return true;
        }
        request.state = RequestState.HELD;
        held.add(request);
        return false;
    }

    void namespaceChanged(int nsid) {
        changedNamespaces.add(nsid);
        raise(AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE);
    }

    void discoveryLogChanged() {
        raise(AsyncEvent.NOTICE_DISCOVERY_LOG);
    }

    private void raise(int notice) {
        if ((enabled & notice) == 0 || (masked & notice) != 0) {
            return;
        }
        masked |= notice;
        Request request = held.poll();
        if (request == null) {
            pending |= notice;
            return;
        }
        request.result(eventOf(notice));
        admin.respond(request);
    }

    private static long eventOf(int notice) {
        int event = notice == AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE
                ? AsyncEvent.NAMESPACE_ATTRIBUTE_CHANGED
                : AsyncEvent.DISCOVERY_LOG_CHANGED;
        return event & 0xffff_ffffL;
    }

    /** The NSIDs that changed since the list was last read without RAE. */
    int[] changedNamespaces() {
        return changedNamespaces.stream().mapToInt(Integer::intValue).toArray();
    }

    /** The host has read the log page of a notice without RAE. */
    void logRead(int notice) {
        masked &= ~notice;
        pending &= ~notice;
        if (notice == AsyncEvent.NOTICE_NAMESPACE_ATTRIBUTE) {
            changedNamespaces.clear();
        }
    }

    int heldCount() {
        return held.size();
    }
}
