package org.nvmf4j.roce.cm;

import java.net.InetAddress;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.roce.cm.CmConnection.State;

/** All connections of a manager by each of their names, and their timers. */
final class ConnectionTable {
    /** A name that the peer gave: its address, its CA GUID, and a comm ID or queue pair number. */
    private record RemoteName(InetAddress address, long caGuid, int number) {}

    private final Map<Integer, CmConnection> byId = new HashMap<>();
    private final Map<Integer, CmConnection> byLocalQpn = new HashMap<>();
    private final Map<RemoteName, CmConnection> byRemoteCommId = new HashMap<>();
    private final Map<RemoteName, CmConnection> byRemoteQpn = new HashMap<>();
    private final TreeSet<CmConnection> timers = new TreeSet<>(ConnectionTable::compareDeadlines);
    private final LinkedHashSet<CmConnection> timeWait = new LinkedHashSet<>();
    private final int maxTimeWait;
    private int halfOpen;

    ConnectionTable(int maxTimeWait) {
        this.maxTimeWait = maxTimeWait;
    }

    private static int compareDeadlines(CmConnection a, CmConnection b) {
        long order = a.deadlineNanos - b.deadlineNanos;
        return order != 0 ? Long.signum(order) : Integer.compare(a.id, b.id);
    }

    void add(CmConnection c) {
        byId.put(c.id, c);
        if (c.isHalfOpen()) {
            halfOpen++;
        }
    }

    /** Makes a passive connection findable by what its REQ said. */
    void nameRemote(CmConnection c) {
        byRemoteCommId.put(new RemoteName(c.remoteAddress(), c.remoteCaGuid, c.remoteCommId), c);
    }

    void nameRemoteQpn(CmConnection c) {
        byRemoteQpn.put(new RemoteName(c.remoteAddress(), c.remoteCaGuid, c.remoteQpn), c);
    }

    void nameLocalQpn(CmConnection c) {
        byLocalQpn.put(c.localQpn, c);
    }

    @Nullable
    CmConnection byId(int id) {
        return byId.get(id);
    }

    @Nullable
    CmConnection byLocalQpn(int qpn) {
        return byLocalQpn.get(qpn);
    }

    @Nullable
    CmConnection byRemoteCommId(InetAddress address, long caGuid, int commId) {
        return byRemoteCommId.get(new RemoteName(address, caGuid, commId));
    }

    @Nullable
    CmConnection byRemoteQpn(InetAddress address, long caGuid, int qpn) {
        return byRemoteQpn.get(new RemoteName(address, caGuid, qpn));
    }

    int size() {
        return byId.size();
    }

    int halfOpen() {
        return halfOpen;
    }

    int timeWaiting() {
        return timeWait.size();
    }

    void arm(CmConnection c, long deadlineNanos) {
        disarm(c);
        c.deadlineNanos = deadlineNanos;
        c.timerArmed = true;
        timers.add(c);
    }

    void disarm(CmConnection c) {
        if (c.timerArmed) {
            timers.remove(c);
            c.timerArmed = false;
        }
    }

    /** The connection whose timer ends first, if any has one. */
    @Nullable
    CmConnection firstTimer() {
        return timers.isEmpty() ? null : timers.first();
    }

    void setState(CmConnection c, State state) {
        if (c.isHalfOpen()) {
            halfOpen--;
        }
        c.state = state;
        if (c.isHalfOpen()) {
            halfOpen++;
        }
    }

    /** Frees the queue pair numbers of both ends for other connections; comm IDs stay until the deadline. */
    void toTimeWait(CmConnection c, long deadlineNanos) {
        setState(c, State.TIME_WAIT);
        forgetQpns(c);
        c.request = null;
        c.mad = null;
        timeWait.add(c);
        arm(c, deadlineNanos);
        if (timeWait.size() > maxTimeWait) {
            remove(timeWait.getFirst());
        }
    }

    void remove(CmConnection c) {
        if (c.state == State.TIME_WAIT) {
            timeWait.remove(c);
        }
        setState(c, State.GONE);
        disarm(c);
        forgetQpns(c);
        byId.remove(c.id);
        byRemoteCommId.remove(new RemoteName(c.remoteAddress(), c.remoteCaGuid, c.remoteCommId), c);
    }

    private void forgetQpns(CmConnection c) {
        byLocalQpn.remove(c.localQpn, c);
        byRemoteQpn.remove(new RemoteName(c.remoteAddress(), c.remoteCaGuid, c.remoteQpn), c);
    }
}
