package org.nvmf4j.roce.rc;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.Psn;

/** Watches the packets that both ends of a connection send, before a network can spoil them, and checks the rules of PSN and MSN. */
final class WireMonitor {
    private final int mtu;
    private final int window;

    /** What one end has sent. */
    private static final class Stream {
        /** Request packets by PSN, READ requests by their first one; numbers do not wrap here. */
        final Map<Long, Packet> requests = new HashMap<>();
        /** For each message sent, the PSN behind its last. */
        final List<Long> messageEnds = new ArrayList<>();

        long next;
        long acknowledged;
        long newestMsn;
    }

    private final Map<String, Stream> streams = new HashMap<>();

    WireMonitor(int mtu, int window) {
        this.mtu = mtu;
        this.window = window;
    }

    void connect(String end, int sendPsn) {
        Stream stream = new Stream();
        stream.next = sendPsn;
        stream.acknowledged = sendPsn;
        streams.put(end, stream);
    }

    /** One end sends a packet. */
    void sent(String from, String to, Packet packet) {
        int flags = Opcode.flags(packet.opcode());
        if ((flags & Opcode.REQUEST) != 0) {
            request(stream(from), packet, flags);
        } else if ((flags & Opcode.READ_RESPONSE) != 0) {
            readResponse(stream(to), packet);
        } else {
            acknowledge(stream(to), packet);
        }
    }

    private static void require(boolean condition, String complaint, Packet packet) {
        if (!condition) {
            throw new AssertionError(packet + ": " + complaint);
        }
    }

    private Stream stream(String end) {
        return Objects.requireNonNull(streams.get(end));
    }

    private static long unwrap(int psn, long near) {
        return near + Psn.diff(psn, (int) near);
    }

    private void request(Stream stream, Packet packet, int flags) {
        long psn = unwrap(packet.psn(), stream.next);
        boolean read = (flags & Opcode.READ_REQUEST) != 0;
        if (psn == stream.next) {
            stream.requests.put(psn, packet);
            stream.next += read ? Psn.packets(packet.dmaLength(), mtu) : 1;
            if ((flags & Opcode.ENDS_MESSAGE) != 0) {
                stream.messageEnds.add(stream.next);
            }
        } else {
            require(psn < stream.next, "skips PSNs", packet);
            if (!read) {
                repeated(stream, psn, packet);
            }
        }
        if (!read) {
            require(psn - stream.acknowledged < window, "exceeds the window", packet);
        }
    }

    private static void repeated(Stream stream, long psn, Packet packet) {
        Packet original = Objects.requireNonNull(stream.requests.get(psn), "no first transmission");
        byte[] now = packet.bytes().clone();
        byte[] then = original.bytes().clone();
        now[8] = 0; // AckReq may differ
        then[8] = 0;
        if (!Arrays.equals(now, then)) {
            throw new AssertionError("retransmission differs: " + packet + ", first " + original);
        }
    }

    private void readResponse(Stream requester, Packet packet) {
        long psn = unwrap(packet.psn(), requester.next);
        require(psn < requester.next, "answers what was never asked", packet);
        if (packet.opcode() != Opcode.RC_READ_RESPONSE_MIDDLE) {
            checkMsn(requester, packet);
        }
        long first = psn;
        while (!requester.requests.containsKey(first)) {
            first--;
        }
        Packet request = Objects.requireNonNull(requester.requests.get(first));
        require(request.opcode() == Opcode.RC_READ_REQUEST, "answers no READ", packet);
        long offset = (psn - first) * mtu;
        long length = Math.min(mtu, request.dmaLength() - offset);
        require(packet.payload().length == length, "is of the wrong length", packet);
    }

    private void acknowledge(Stream requester, Packet packet) {
        long psn = unwrap(packet.psn(), requester.next);
        require(psn < requester.next, "answers what was never asked", packet);
        boolean ack = packet.syndrome() < 0x20;
        long end = ack ? psn + 1 : psn;
        long msn = checkMsn(requester, packet);
        long completed = 0;
        for (long messageEnd : requester.messageEnds) {
            completed += messageEnd <= end ? 1 : 0;
        }
        require(msn >= completed, "counts fewer messages than it acknowledges", packet);
        require(msn <= requester.messageEnds.size(), "counts more messages than were sent", packet);
    }

    private static long checkMsn(Stream requester, Packet packet) {
        long msn = unwrap(packet.msn(), requester.newestMsn);
        require(msn >= requester.newestMsn, "counts fewer messages than before", packet);
        requester.newestMsn = msn;
        return msn;
    }

    /** The network delivers a packet undamaged. */
    void delivered(String to, Packet packet) {
        Stream requester = stream(to);
        if ((Opcode.flags(packet.opcode()) & Opcode.REQUEST) != 0) {
            return;
        }
        boolean nak = packet.opcode() == Opcode.RC_ACKNOWLEDGE && packet.syndrome() >= 0x20;
        long end = unwrap(packet.psn(), requester.next) + (nak ? 0 : 1);
        requester.acknowledged = Math.max(requester.acknowledged, end);
    }
}
