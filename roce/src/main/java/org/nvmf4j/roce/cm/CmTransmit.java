package org.nvmf4j.roce.cm;

import java.net.InetAddress;

/**
 * A MAD to send from QP 1 to QP 1 of a peer.
 *
 * @param mad 256 bytes, not to be changed: they may be sent again
 */
@SuppressWarnings("ArrayRecordComponent") // handed through once
public record CmTransmit(InetAddress destination, byte[] mad) {}
