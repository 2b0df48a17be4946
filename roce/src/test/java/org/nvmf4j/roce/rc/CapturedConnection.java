package org.nvmf4j.roce.rc;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.nvmf4j.roce.wire.Bth;
import org.nvmf4j.roce.wire.Ieth;
import org.nvmf4j.roce.wire.Opcode;
import org.nvmf4j.roce.wire.PcapFrame;
import org.nvmf4j.roce.wire.PcapReader;
import org.nvmf4j.roce.wire.Psn;
import org.nvmf4j.roce.wire.RoceFrame;
import org.nvmf4j.roce.wire.RocePacket;

/** The packets of one connection between two Linux kernels, as somebody between them saw them pass. */
final class CapturedConnection {
    static final String HOST = "10.77.0.3";
    static final String TARGET = "10.77.0.2";

    /** A packet, and which end it came from. */
    record Captured(String from, Packet packet) {
        boolean isRequest() {
            return (flags() & Opcode.REQUEST) != 0;
        }

        boolean isRead() {
            return (flags() & Opcode.READ_REQUEST) != 0;
        }

        int flags() {
            return Opcode.flags(packet.opcode());
        }

        int invalidatedRkey() {
            return Ieth.rKey(packet.memory(), Opcode.secondExtensionOffset(packet.opcode()));
        }
    }

    final int queuePairNumber;
    final List<Captured> packets = new ArrayList<>();

    private CapturedConnection(int queuePairNumber) {
        this.queuePairNumber = queuePairNumber;
    }

    /** Those packets of a capture whose queue pairs have this number at both ends. */
    static CapturedConnection read(String file, int queuePairNumber) throws IOException {
        CapturedConnection connection = new CapturedConnection(queuePairNumber);
        String resource = "/captures/" + file + ".pcap";
        try (InputStream in =
                Objects.requireNonNull(CapturedConnection.class.getResourceAsStream(resource), resource)) {
            PcapReader reader = new PcapReader(in);
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                RoceFrame roce = RoceFrame.find(frame);
                if (roce != null && roce.hasValidIcrc()) {
                    connection.add(roce);
                }
            }
        }
        return connection;
    }

    private void add(RoceFrame roce) {
        MemorySegment bytes =
                roce.segment().asSlice(roce.packetOffset(), roce.packetBytes() - (long) RocePacket.ICRC_BYTES);
        if (Bth.destinationQpn(bytes, 0) == queuePairNumber) {
            Packet packet = new Packet(bytes.toArray(ValueLayout.JAVA_BYTE));
            packets.add(new Captured(roce.source().getHostAddress(), packet));
        }
    }

    /** PSN of the first request that came from an end. */
    int firstPsn(String from) {
        return packets.stream()
                .filter(p -> p.from.equals(from) && p.isRequest())
                .mapToInt(p -> p.packet.psn())
                .findFirst()
                .orElseThrow();
    }

    boolean hasRequests(String from) {
        return packets.stream().anyMatch(p -> p.from.equals(from) && p.isRequest());
    }

    /** Bytes that the responses to an RDMA READ brought, put together by their PSNs. */
    byte[] readData(Captured read, int mtu) {
        byte[] data = new byte[(int) read.packet.dmaLength()];
        for (Captured captured : packets) {
            if (!captured.from.equals(read.from) && (captured.flags() & Opcode.READ_RESPONSE) != 0) {
                int at = Psn.diff(captured.packet.psn(), read.packet.psn()) * mtu;
                byte[] payload = captured.packet.payload();
                if (at >= 0 && at + payload.length <= data.length) {
                    System.arraycopy(payload, 0, data, at, payload.length);
                }
            }
        }
        return data;
    }
}
