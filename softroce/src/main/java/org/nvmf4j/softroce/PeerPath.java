package org.nvmf4j.softroce;

import java.net.InetAddress;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.roce.wire.Icrc;
import org.nvmf4j.roce.wire.RocePacket;

/**
 * The way to one peer and back: its address, and the ICRCs of both directions. Each queue pair has its own, because datagrams to
 * one {@link UdpPeer} object may travel joined, and the receiving side's kernel steers them all by the first. Confined to a lane.
 */
final class PeerPath {
    private final UdpPeer peer;
    private final Icrc transmitIcrc;
    private final Icrc receiveIcrc;

    PeerPath(InetAddress local, InetAddress remote) {
        peer = UdpPeer.of(remote, RocePacket.UDP_PORT);
        transmitIcrc = new Icrc(local, remote);
        receiveIcrc = new Icrc(remote, local);
    }

    UdpPeer peer() {
        return peer;
    }

    Icrc transmitIcrc() {
        return transmitIcrc;
    }

    Icrc receiveIcrc() {
        return receiveIcrc;
    }

    /** Whether a packet's source is this peer; its port is free. */
    boolean isFrom(long addressHigh, long addressLow) {
        return peer.addressLow() == addressLow && peer.addressHigh() == addressHigh;
    }
}
