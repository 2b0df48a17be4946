package org.nvmf4j.roce.rc;

/** Counters of one queue pair since its creation. Read on the queue pair's lane; elsewhere values may be stale. */
public final class RcStatistics {
    long packetsSent;
    long packetsReceived;
    long retransmittedPackets;
    long timeouts;
    long goBacks;
    long sequenceNaksReceived;
    long sequenceNaksSent;
    long rnrNaksReceived;
    long rnrNaksSent;
    long fatalNaksReceived;
    long fatalNaksSent;
    long acksSent;
    long acksReceived;
    long staleResponses;
    long duplicateRequests;
    long outOfSequenceRequests;
    long badPackets;

    RcStatistics() {}

    /** Packets handed to the sink, of any kind. */
    public long packetsSent() {
        return packetsSent;
    }

    /** Packets given to the queue pair, good or bad. */
    public long packetsReceived() {
        return packetsReceived;
    }

    /** Request packets sent again, of {@link #packetsSent}. */
    public long retransmittedPackets() {
        return retransmittedPackets;
    }

    /** Expiries of the retransmission timer. */
    public long timeouts() {
        return timeouts;
    }

    /** Times that the requester went back to the oldest unacknowledged packet because of a loss. */
    public long goBacks() {
        return goBacks;
    }

    /** PSN sequence errors that the peer reported. */
    public long sequenceNaksReceived() {
        return sequenceNaksReceived;
    }

    /** PSN sequence errors reported to the peer: one a gap. */
    public long sequenceNaksSent() {
        return sequenceNaksSent;
    }

    /** Times that the peer had no receive posted. */
    public long rnrNaksReceived() {
        return rnrNaksReceived;
    }

    /** Times that a message found no receive posted here. */
    public long rnrNaksSent() {
        return rnrNaksSent;
    }

    /** NAKs received that end the connection: 0 or 1. */
    public long fatalNaksReceived() {
        return fatalNaksReceived;
    }

    /** NAKs sent that end the connection: 0 or 1. */
    public long fatalNaksSent() {
        return fatalNaksSent;
    }

    /** Acknowledgements sent, without NAKs and RDMA READ responses. */
    public long acksSent() {
        return acksSent;
    }

    /** Acknowledgements received, stale ones too, without NAKs and RDMA READ responses. */
    public long acksReceived() {
        return acksReceived;
    }

    /** Responses that told nothing new and were ignored. */
    public long staleResponses() {
        return staleResponses;
    }

    /** Request packets that had been executed before. */
    public long duplicateRequests() {
        return duplicateRequests;
    }

    /** Request packets dropped because an earlier one was missing. */
    public long outOfSequenceRequests() {
        return outOfSequenceRequests;
    }

    /** Packets dropped because nothing like them was due: malformed, for another partition, for PSNs never sent. */
    public long badPackets() {
        return badPackets;
    }
}
