package org.nvmf4j.softroce;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.roce.wire.PcapWriter;
import org.nvmf4j.roce.wire.RocePacket;

/**
 * Writes a device's packets to a capture file: what it sends, before faults are added, and what it takes in, after all checks. So every
 * ICRC in the file is right, with the IPv4 identification that the packet has or was solved to have had. Used by all of the device's
 * lanes; a file that cannot be written any more is given up with a warning.
 */
final class PacketTap implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(PacketTap.class.getName());
    private static final int BUFFER_BYTES = 1 << 18;

    private final Path file;
    private final byte[] local;
    private final PcapWriter writer;
    /** What to add to {@link System#nanoTime} for the time since 1970. */
    private final long epochOffsetNanos = System.currentTimeMillis() * 1_000_000 - System.nanoTime();

    private volatile boolean failed;

    private PacketTap(Path file, InetAddress local, PcapWriter writer) {
        this.file = file;
        this.local = local.getAddress();
        this.writer = writer;
    }

    /** Creates the file, or replaces it. */
    static PacketTap open(Path file, InetAddress local) throws IOException {
        OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES);
        try {
            return new PacketTap(file, local, new PcapWriter(out));
        } catch (IOException e) {
            out.close();
            throw e;
        }
    }

    /** A packet that leaves; its ICRC is in place. */
    void sent(UdpPeer peer, MemorySegment packet, long offset, int lengthBytes, int ipv4Id) {
        byte[] remote = peer.socketAddress().getAddress().getAddress();
        write(local, RocePacket.UDP_PORT, remote, ipv4Id, packet, offset, lengthBytes);
    }

    /** A packet that was taken in. */
    void received(UdpPeer peer, int sourcePort, MemorySegment packet, long offset, int lengthBytes, int ipv4Id) {
        byte[] remote = peer.socketAddress().getAddress().getAddress();
        write(remote, sourcePort, local, ipv4Id, packet, offset, lengthBytes);
    }

    private void write(
            byte[] source, int sourcePort, byte[] destination, int ipv4Id, MemorySegment m, long offset, int length) {
        if (failed) {
            return;
        }
        try {
            long now = epochOffsetNanos + System.nanoTime();
            writer.write(now, source, sourcePort, destination, ipv4Id, m, offset, length);
        } catch (IOException e) {
            giveUp(e);
        }
    }

    /** Brings to the file what is buffered, for those who look at it meanwhile. */
    void flush() {
        if (!failed) {
            try {
                writer.flush();
            } catch (IOException e) {
                giveUp(e);
            }
        }
    }

    private void giveUp(IOException cause) {
        failed = true;
        LOG.log(System.Logger.Level.WARNING, "the capture file " + file + " ends here: " + cause.getMessage());
    }

    @Override
    public void close() {
        try {
            writer.close();
        } catch (IOException e) {
            giveUp(e);
        }
    }
}
