package org.nvmf4j.roce.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * A communication management message, read from or written into a {@link Mad}. IBTA volume 1, section 12.6; reserved fields and the
 * alternate path are written as zeros and not read.
 *
 * <p>Numbers are as on the wire: comm IDs any 32 bits, queue pair and sequence numbers 24, timeouts 5-bit codes for 4.096 µs ·
 * 2<sup>code</sup>. Private data that is read has the full size the message has room for, zero-padded; what is written may be shorter.
 * Private data arrays are not copied.
 */
@SuppressWarnings("ArrayRecordComponent") // private data is a few bytes, handed through once
public sealed interface CmMessage {
    /** Which message this is: one of the constants of {@link Mad}. */
    int attributeId();

    /** The sender's name of the connection. */
    int localCommId();

    /** The receiver's name of the connection; 0 in a REQ. */
    int remoteCommId();

    /** What the users of both sides say to each other. */
    byte[] privateData();

    /**
     * Writes the whole MAD.
     *
     * @param offset of the MAD in the segment
     * @throws IllegalArgumentException if there is more private data than the message has room for
     */
    default void write(MemorySegment m, long offset, long transactionId) {
        Mad.write(m, offset, attributeId(), transactionId);
        long body = offset + Mad.HEADER_LENGTH;
        BigEndian.putInt(m, body, localCommId());
        if (attributeId() != Mad.REQ) {
            BigEndian.putInt(m, body + 4, remoteCommId());
        }
        writeFields(m, body);
        byte[] data = privateData();
        int at = privateDataOffset(attributeId());
        if (data.length > BODY_LENGTH - at) {
            throw new IllegalArgumentException("private data of a " + Mad.name(attributeId()) + " is at most "
                    + (BODY_LENGTH - at) + " bytes, not " + data.length);
        }
        MemorySegment.copy(data, 0, m, ValueLayout.JAVA_BYTE, body + at, data.length);
    }

    /** Writes what lies between comm IDs and private data. */
    void writeFields(MemorySegment m, long body);

    /** Bytes of a MAD behind its header. */
    int BODY_LENGTH = Mad.LENGTH - Mad.HEADER_LENGTH;

    /** Bytes of private data that a kind of message has room for; 0 if it is unknown. */
    static int privateDataBytes(int attributeId) {
        return BODY_LENGTH - privateDataOffset(attributeId);
    }

    private static int privateDataOffset(int attributeId) {
        return switch (attributeId) {
            case Mad.REQ -> 140;
            case Mad.MRA -> 10;
            case Mad.REJ -> 84;
            case Mad.REP -> 36;
            case Mad.RTU, Mad.DREP -> 8;
            case Mad.DREQ -> 12;
            default -> BODY_LENGTH;
        };
    }

    /**
     * Reads the CM message in a MAD.
     *
     * @param offset of the MAD, all 256 bytes of which are inside the segment
     * @return null if it is another class, version or method, or a message that is not here
     */
    static @Nullable CmMessage parse(MemorySegment m, long offset) {
        if (!Mad.isCm(m, offset)) {
            return null;
        }
        int attributeId = Mad.attributeId(m, offset);
        long body = offset + Mad.HEADER_LENGTH;
        int local = BigEndian.getInt(m, body);
        int remote = BigEndian.getInt(m, body + 4);
        byte[] data = bytes(m, body + privateDataOffset(attributeId), privateDataBytes(attributeId));
        return switch (attributeId) {
            case Mad.REQ -> Req.read(m, body, local, data);
            case Mad.MRA -> new Mra(local, remote, byteAt(m, body + 8) >>> 6, byteAt(m, body + 9) >>> 3, data);
            case Mad.REJ -> Rej.read(m, body, local, remote, data);
            case Mad.REP -> Rep.read(m, body, local, remote, data);
            case Mad.RTU -> new Rtu(local, remote, data);
            case Mad.DREQ -> new Dreq(local, remote, BigEndian.getInt(m, body + 8) >>> 8, data);
            case Mad.DREP -> new Drep(local, remote, data);
            default -> null;
        };
    }

    private static int byteAt(MemorySegment m, long offset) {
        return BigEndian.getByte(m, offset);
    }

    private static byte[] bytes(MemorySegment m, long offset, int length) {
        return m.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Kinds of message that a REJ or MRA answers. */
    int ANSWERS_REQ = 0;

    int ANSWERS_REP = 1;
    int ANSWERS_OTHER = 2;

    /**
     * The path that a REQ proposes. Local is the sender of the REQ.
     *
     * @param flowLabel 20 bits, from which both sides derive their UDP source port
     * @param packetRate 6-bit code, 0 for what the port has
     * @param localAckTimeout code for the receiver's transport timer
     */
    record Path(
            int localLid,
            int remoteLid,
            InetAddress localGid,
            InetAddress remoteGid,
            int flowLabel,
            int packetRate,
            int trafficClass,
            int hopLimit,
            int serviceLevel,
            boolean subnetLocal,
            int localAckTimeout) {
        private static Path read(MemorySegment m, long at) {
            int flow = BigEndian.getInt(m, at + 36);
            int level = byteAt(m, at + 42);
            return new Path(
                    BigEndian.getShort(m, at),
                    BigEndian.getShort(m, at + 2),
                    Gid.get(m, at + 4),
                    Gid.get(m, at + 20),
                    flow >>> 12,
                    flow & 0x3F,
                    byteAt(m, at + 40),
                    byteAt(m, at + 41),
                    level >>> 4,
                    (level & 8) != 0,
                    byteAt(m, at + 43) >>> 3);
        }

        private void write(MemorySegment m, long at) {
            BigEndian.putShort(m, at, localLid);
            BigEndian.putShort(m, at + 2, remoteLid);
            Gid.put(m, at + 4, localGid);
            Gid.put(m, at + 20, remoteGid);
            BigEndian.putInt(m, at + 36, flowLabel << 12 | (packetRate & 0x3F));
            BigEndian.putByte(m, at + 40, trafficClass);
            BigEndian.putByte(m, at + 41, hopLimit);
            BigEndian.putByte(m, at + 42, serviceLevel << 4 | (subnetLocal ? 8 : 0));
            BigEndian.putByte(m, at + 43, localAckTimeout << 3);
        }
    }

    /**
     * Request for communication, from the active side.
     *
     * @param caGuid tells endpoints apart, together with comm ID or queue pair number
     * @param responderResources RDMA READs that the sender serves at a time
     * @param initiatorDepth RDMA READs that the sender wants to have outstanding
     * @param remoteResponseTimeout code: when the receiver must have answered
     * @param transportType 0 for reliable connections
     * @param startingPsn with which the <em>receiver</em> of this message begins to send
     * @param localResponseTimeout code: how soon the sender answers a REP
     * @param retryCount transport retries of both sides
     * @param pathMtuCode see {@link PathMtu}
     * @param rnrRetryCount RNR retries of the receiver
     * @param privateData up to 92 bytes, of which RDMA CM takes the first {@link IpCmHeader#LENGTH}
     */
    record Req(
            int localCommId,
            long serviceId,
            long caGuid,
            int qpn,
            int responderResources,
            int initiatorDepth,
            int remoteResponseTimeout,
            int transportType,
            boolean flowControl,
            int startingPsn,
            int localResponseTimeout,
            int retryCount,
            int pKey,
            int pathMtuCode,
            int rnrRetryCount,
            int maxCmRetries,
            boolean srq,
            Path path,
            byte[] privateData)
            implements CmMessage {
        private static Req read(MemorySegment m, long body, int localCommId, byte[] privateData) {
            return new Req(
                    localCommId,
                    BigEndian.getLong(m, body + 8),
                    BigEndian.getLong(m, body + 16),
                    BigEndian.getInt(m, body + 32) >>> 8,
                    byteAt(m, body + 35),
                    byteAt(m, body + 39),
                    byteAt(m, body + 43) >>> 3,
                    byteAt(m, body + 43) >>> 1 & 3,
                    (byteAt(m, body + 43) & 1) != 0,
                    BigEndian.getInt(m, body + 44) >>> 8,
                    byteAt(m, body + 47) >>> 3,
                    byteAt(m, body + 47) & 7,
                    BigEndian.getShort(m, body + 48),
                    byteAt(m, body + 50) >>> 4,
                    byteAt(m, body + 50) & 7,
                    byteAt(m, body + 51) >>> 4,
                    (byteAt(m, body + 51) & 8) != 0,
                    Path.read(m, body + 52),
                    privateData);
        }

        @Override
        public int attributeId() {
            return Mad.REQ;
        }

        @Override
        public int remoteCommId() {
            return 0;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            BigEndian.putLong(m, body + 8, serviceId);
            BigEndian.putLong(m, body + 16, caGuid);
            BigEndian.putInt(m, body + 32, qpn << 8 | responderResources);
            BigEndian.putByte(m, body + 39, initiatorDepth);
            BigEndian.putByte(m, body + 43, remoteResponseTimeout << 3 | transportType << 1 | (flowControl ? 1 : 0));
            BigEndian.putInt(m, body + 44, startingPsn << 8 | localResponseTimeout << 3 | retryCount);
            BigEndian.putShort(m, body + 48, pKey);
            BigEndian.putByte(m, body + 50, pathMtuCode << 4 | rnrRetryCount);
            BigEndian.putByte(m, body + 51, maxCmRetries << 4 | (srq ? 8 : 0));
            path.write(m, body + 52);
        }
    }

    /**
     * Reply to a REQ, from the passive side. Fields are as in {@link Req}.
     *
     * @param targetAckDelay code: how long this side may take to acknowledge
     * @param rnrRetryCount RNR retries of the receiver
     * @param privateData up to 196 bytes
     */
    record Rep(
            int localCommId,
            int remoteCommId,
            int qpn,
            int startingPsn,
            int responderResources,
            int initiatorDepth,
            int targetAckDelay,
            boolean flowControl,
            int rnrRetryCount,
            boolean srq,
            long caGuid,
            byte[] privateData)
            implements CmMessage {
        private static Rep read(MemorySegment m, long body, int localCommId, int remoteCommId, byte[] privateData) {
            return new Rep(
                    localCommId,
                    remoteCommId,
                    BigEndian.getInt(m, body + 12) >>> 8,
                    BigEndian.getInt(m, body + 20) >>> 8,
                    byteAt(m, body + 24),
                    byteAt(m, body + 25),
                    byteAt(m, body + 26) >>> 3,
                    (byteAt(m, body + 26) & 1) != 0,
                    byteAt(m, body + 27) >>> 5,
                    (byteAt(m, body + 27) & 0x10) != 0,
                    BigEndian.getLong(m, body + 28),
                    privateData);
        }

        @Override
        public int attributeId() {
            return Mad.REP;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            BigEndian.putInt(m, body + 12, qpn << 8);
            BigEndian.putInt(m, body + 20, startingPsn << 8);
            BigEndian.putByte(m, body + 24, responderResources);
            BigEndian.putByte(m, body + 25, initiatorDepth);
            BigEndian.putByte(m, body + 26, targetAckDelay << 3 | (flowControl ? 1 : 0));
            BigEndian.putByte(m, body + 27, rnrRetryCount << 5 | (srq ? 0x10 : 0));
            BigEndian.putLong(m, body + 28, caGuid);
        }
    }

    /** Ready to use: the active side has taken the REP. Up to 224 bytes of private data. */
    record Rtu(int localCommId, int remoteCommId, byte[] privateData) implements CmMessage {
        @Override
        public int attributeId() {
            return Mad.RTU;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            // nothing but comm IDs and private data
        }
    }

    /**
     * Refusal.
     *
     * @param localCommId 0 where the sender has given none
     * @param messageRejected {@link #ANSWERS_REQ}, {@link #ANSWERS_REP} or {@link #ANSWERS_OTHER}
     * @param reason IBTA table 111
     * @param additionalInfo up to 72 bytes whose meaning depends on the reason; read without the padding
     * @param privateData up to 148 bytes
     */
    record Rej(
            int localCommId,
            int remoteCommId,
            int messageRejected,
            int reason,
            byte[] additionalInfo,
            byte[] privateData)
            implements CmMessage {
        private static final int MAX_INFO_BYTES = 72;

        private static Rej read(MemorySegment m, long body, int localCommId, int remoteCommId, byte[] privateData) {
            int infoBytes = Math.min(byteAt(m, body + 9) >>> 1, MAX_INFO_BYTES);
            return new Rej(
                    localCommId,
                    remoteCommId,
                    byteAt(m, body + 8) >>> 6,
                    BigEndian.getShort(m, body + 10),
                    bytes(m, body + 12, infoBytes),
                    privateData);
        }

        @Override
        public int attributeId() {
            return Mad.REJ;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            if (additionalInfo.length > MAX_INFO_BYTES) {
                throw new IllegalArgumentException("additional reject information is at most " + MAX_INFO_BYTES
                        + " bytes, not " + additionalInfo.length);
            }
            BigEndian.putByte(m, body + 8, messageRejected << 6);
            BigEndian.putByte(m, body + 9, additionalInfo.length << 1);
            BigEndian.putShort(m, body + 10, reason);
            MemorySegment.copy(additionalInfo, 0, m, ValueLayout.JAVA_BYTE, body + 12, additionalInfo.length);
        }

        /** The CA GUID with which a {@code TIMEOUT} names its connection, or 0. */
        public long additionalGuid() {
            return additionalInfo.length < Long.BYTES ? 0 : BigEndian.getLong(MemorySegment.ofArray(additionalInfo), 0);
        }
    }

    /**
     * Disconnect request. Up to 220 bytes of private data.
     *
     * @param remoteQpn the queue pair of the <em>receiver</em>, which checks it
     */
    record Dreq(int localCommId, int remoteCommId, int remoteQpn, byte[] privateData) implements CmMessage {
        @Override
        public int attributeId() {
            return Mad.DREQ;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            BigEndian.putInt(m, body + 8, remoteQpn << 8);
        }
    }

    /** Disconnect reply. Up to 224 bytes of private data. */
    record Drep(int localCommId, int remoteCommId, byte[] privateData) implements CmMessage {
        @Override
        public int attributeId() {
            return Mad.DREP;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            // nothing but comm IDs and private data
        }
    }

    /**
     * Message receipt acknowledgement: the answer takes longer. Up to 222 bytes of private data.
     *
     * @param messageAcknowledged {@link #ANSWERS_REQ}, {@link #ANSWERS_REP} or {@link #ANSWERS_OTHER}
     * @param serviceTimeout code: how much longer
     */
    record Mra(int localCommId, int remoteCommId, int messageAcknowledged, int serviceTimeout, byte[] privateData)
            implements CmMessage {
        @Override
        public int attributeId() {
            return Mad.MRA;
        }

        @Override
        public void writeFields(MemorySegment m, long body) {
            BigEndian.putByte(m, body + 8, messageAcknowledged << 6);
            BigEndian.putByte(m, body + 9, serviceTimeout << 3);
        }
    }
}
