package org.nvmf4j.roce.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PcapTest {
    private static final byte[] ACK = HexFormat.of().parseHex("1140ffff00000012000003451f0000070f1be9c9");

    private static byte[] file(String source, String destination, int id) throws Exception {
        InetAddress from = InetAddress.getByName(source);
        InetAddress to = InetAddress.getByName(destination);
        byte[] packet = ACK.clone();
        int icrc = new Icrc(from, to).compute(0xC123, id, ByteBuffer.wrap(packet), 0, 16);
        Icrc.put(MemorySegment.ofArray(packet), 16, icrc);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (PcapWriter writer = new PcapWriter(out)) {
            writer.write(1_700_000_000_123_456_789L, from, 0xC123, to, id, MemorySegment.ofArray(packet), 0, 20);
            writer.write(1_700_000_001_000_000_000L, from, 0xC124, to, id, MemorySegment.ofArray(packet), 0, 20);
            writer.flush();
        }
        return out.toByteArray();
    }

    private static PcapReader reader(byte[] file) throws IOException {
        return new PcapReader(new ByteArrayInputStream(file));
    }

    /** The Ethernet frame of an ACK over IPv4. */
    private static byte[] ackFrame() throws Exception {
        return next(reader(file("10.0.0.1", "10.0.0.2", 0))).bytes();
    }

    private static PcapFrame next(PcapReader reader) throws IOException {
        return Objects.requireNonNull(reader.next());
    }

    private static RoceFrame roce(PcapFrame frame) {
        return Objects.requireNonNull(RoceFrame.find(frame));
    }

    private static @Nullable RoceFrame tryFind(int linkType, byte[] frame) {
        return RoceFrame.find(new PcapFrame(1, 0, linkType, frame, frame.length));
    }

    private static RoceFrame find(int linkType, byte[] frame) {
        return Objects.requireNonNull(tryFind(linkType, frame));
    }

    @ParameterizedTest
    @CsvSource({"10.0.0.1, 10.0.0.2, 7, 62", "fd00::1, fd00::2, 0, 82"})
    void readsBackWhatItWrites(String source, String destination, int id, int frameBytes) throws Exception {
        PcapReader reader = reader(file(source, destination, id));
        PcapFrame first = next(reader);
        assertThat(first.number()).isOne();
        assertThat(first.timestampNanos()).isEqualTo(1_700_000_000_123_456_789L);
        assertThat(first.linkType()).isEqualTo(1);
        assertThat(first.originalLengthBytes()).isEqualTo(frameBytes);
        RoceFrame roce = roce(first);
        assertThat(roce.source()).isEqualTo(InetAddress.getByName(source));
        assertThat(roce.destination()).isEqualTo(InetAddress.getByName(destination));
        assertThat(roce.sourcePort()).isEqualTo(0xC123);
        assertThat(roce.ipv4Id()).isEqualTo(id);
        assertThat(roce.dontFragment()).isTrue();
        assertThat(roce.packetBytes()).isEqualTo(20);
        assertThat(roce.isComplete()).isTrue();
        assertThat(roce.hasValidIcrc()).isTrue();
        // Another source port, the same ICRC.
        assertThat(roce(next(reader)).hasValidIcrc()).isFalse();
        assertThat(reader.next()).isNull();
    }

    @Test
    void writesReferencePacketWithChecksum() throws Exception {
        byte[] frame = ackFrame();
        assertThat(Arrays.copyOfRange(frame, 42, 62)).isEqualTo(ACK);
        int sum = 0;
        for (int i = 14; i < 34; i += 2) {
            sum += (frame[i] & 0xFF) << 8 | (frame[i + 1] & 0xFF);
        }
        assertThat((sum & 0xFFFF) + (sum >> 16)).isEqualTo(0xFFFF);
    }

    @Test
    void writesPacketsAtAnOffset() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PcapWriter writer = new PcapWriter(out);
        byte[] at = {10, 0, 0, 1};
        byte[] to = {10, 0, 0, 2};
        MemorySegment m = MemorySegment.ofArray(new byte[70_000]);
        MemorySegment.copy(MemorySegment.ofArray(ACK), 0, m, 5, ACK.length);
        writer.write(0, at, 0xC123, to, 0, m, 5, ACK.length);
        assertThat(roce(next(reader(out.toByteArray()))).hasValidIcrc()).isTrue();
        assertThatThrownBy(() -> writer.write(0, at, 1, to, 0, m, 0, 65_508))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0xA1B2C3D4, 0xA1B23C4D, 0xD4C3B2A1, 0x4D3CB2A1})
    void readsPcapOfBothOrdersAndUnits(int magic) throws Exception {
        boolean swapped = magic == 0xD4C3B2A1 || magic == 0x4D3CB2A1;
        boolean nanos = magic == 0xA1B23C4D || magic == 0x4D3CB2A1;
        byte[] frame = ackFrame();
        ByteBuffer file = ByteBuffer.allocate(24 + 16 + frame.length).putInt(magic);
        file.order(swapped ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN).position(20);
        file.putInt(1).putInt(3).putInt(5).putInt(frame.length).putInt(99).put(frame);
        PcapFrame read = next(reader(file.array()));
        assertThat(read.timestampNanos()).isEqualTo(3_000_000_000L + (nanos ? 5 : 5000));
        assertThat(read.originalLengthBytes()).isEqualTo(99);
        assertThat(roce(read).hasValidIcrc()).isTrue();
    }

    private static byte[] block(ByteOrder order, int type, byte[] body) {
        int padded = body.length + 3 & ~3;
        return ByteBuffer.allocate(12 + padded)
                .order(order)
                .putInt(type)
                .putInt(12 + padded)
                .put(body)
                .putInt(8 + padded, 12 + padded)
                .array();
    }

    private static byte[] section(ByteOrder order) {
        return block(
                order,
                0x0A0D0D0A,
                ByteBuffer.allocate(16)
                        .order(order)
                        .putInt(0x1A2B3C4D)
                        .putInt(1)
                        .putLong(-1)
                        .array());
    }

    private static byte[] interfaceBlock(ByteOrder order, int linkType, int resolution) {
        return block(
                order,
                1,
                ByteBuffer.allocate(20)
                        .order(order)
                        .putInt(order == ByteOrder.BIG_ENDIAN ? linkType << 16 : linkType)
                        .putInt(0)
                        .putShort((short) 9)
                        .putShort((short) 1)
                        .putInt(order == ByteOrder.BIG_ENDIAN ? resolution << 24 : resolution)
                        .putInt(0)
                        .array());
    }

    private static byte[] packetBlock(ByteOrder order, int index, long time, byte[] frame) {
        ByteBuffer body = ByteBuffer.allocate(20 + frame.length).order(order);
        body.putInt(index).putInt((int) (time >>> 32)).putInt((int) time);
        return block(
                order,
                6,
                body.putInt(frame.length).putInt(frame.length).put(frame).array());
    }

    private static byte[] join(byte[]... parts) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.write(part);
        }
        return out.toByteArray();
    }

    @Test
    void readsPcapngOfBothOrders() throws Exception {
        ByteOrder big = ByteOrder.BIG_ENDIAN;
        ByteOrder little = ByteOrder.LITTLE_ENDIAN;
        byte[] frame = ackFrame();
        byte[] raw = Arrays.copyOfRange(frame, 14, frame.length);
        byte[] simple = ByteBuffer.allocate(4 + frame.length)
                .order(big)
                .putInt(frame.length)
                .put(frame)
                .array();
        PcapReader reader = reader(join(
                section(little),
                interfaceBlock(little, 1, 6),
                interfaceBlock(little, 101, 9),
                block(little, 5, new byte[30]), // statistics
                packetBlock(little, 0, 1_700_000_000_000_001L, frame),
                packetBlock(little, 1, 1_700_000_000_000_000_001L, raw),
                section(big),
                interfaceBlock(big, 1, 0x80 | 10),
                packetBlock(big, 0, 5 << 10 | 512, frame),
                block(big, 3, simple)));
        PcapFrame micros = next(reader);
        assertThat(micros.timestampNanos()).isEqualTo(1_700_000_000_000_001_000L);
        assertThat(roce(micros).hasValidIcrc()).isTrue();
        PcapFrame nanos = next(reader);
        assertThat(nanos.timestampNanos()).isEqualTo(1_700_000_000_000_000_001L);
        assertThat(nanos.linkType()).isEqualTo(101);
        assertThat(roce(nanos).hasValidIcrc()).isTrue();
        assertThat(next(reader).timestampNanos()).isEqualTo(5_500_000_000L);
        assertThat(roce(next(reader)).hasValidIcrc()).isTrue();
        assertThat(reader.next()).isNull();
    }

    @Test
    void refusesWhatIsNoCapture() throws Exception {
        assertThatThrownBy(() -> reader(new byte[0])).hasMessage("not a pcap or pcapng file");
        assertThatThrownBy(() -> reader("#!/bin/sh\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII)))
                .hasMessage("not a pcap or pcapng file");
        byte[] file = file("10.0.0.1", "10.0.0.2", 0);
        PcapReader cut = reader(Arrays.copyOf(file, file.length - 1));
        assertThat(cut.next()).isNotNull();
        assertThatThrownBy(cut::next)
                .isInstanceOf(EOFException.class)
                .hasMessage("the capture file is cut off after frame 1");
        file[24 + 11] = 0x7F;
        assertThatThrownBy(() -> reader(file).next()).hasMessageContaining("damaged capture file");
        byte[] index = join(section(ByteOrder.BIG_ENDIAN), packetBlock(ByteOrder.BIG_ENDIAN, 0, 0, new byte[4]));
        assertThatThrownBy(() -> reader(index).next()).hasMessage("damaged capture file after frame 0");
    }

    @Test
    void findsPacketsBehindEveryLinkLayer() throws Exception {
        byte[] frame = ackFrame();
        byte[] ip = Arrays.copyOfRange(frame, 14, frame.length);
        byte[] addresses = Arrays.copyOf(frame, 12);
        assertThat(find(101, ip).hasValidIcrc()).isTrue();
        assertThat(find(228, ip).hasValidIcrc()).isTrue();
        assertThat(find(0, join(new byte[4], ip)).hasValidIcrc()).isTrue();
        assertThat(find(113, join(new byte[14], new byte[] {8, 0}, ip)).hasValidIcrc())
                .isTrue();
        assertThat(find(276, join(new byte[] {8, 0}, new byte[18], ip)).hasValidIcrc())
                .isTrue();
        assertThat(find(1, join(addresses, HexFormat.of().parseHex("88a8000181000002"), new byte[] {8, 0}, ip))
                        .hasValidIcrc())
                .isTrue();
        assertThat(tryFind(1, join(addresses, new byte[] {8, 6}, ip))).isNull();
        assertThat(tryFind(147, ip)).isNull();
        // Ethernet pads short frames: the IP header says where the packet ends.
        assertThat(find(1, join(frame, new byte[6])).hasValidIcrc()).isTrue();
    }

    @Test
    void ignoresOtherTrafficAndMalformedLengths() throws Exception {
        byte[] frame = ackFrame();
        assertThat(tryFind(1, changed(frame, 23, 6))).as("TCP").isNull();
        assertThat(tryFind(1, changed(frame, 20, 0x20))).as("a fragment").isNull();
        assertThat(tryFind(1, changed(frame, 37, 0))).as("another port").isNull();
        assertThat(tryFind(1, changed(frame, 39, 7)))
                .as("UDP length below its header")
                .isNull();
        assertThat(tryFind(1, changed(frame, 39, 200)))
                .as("UDP length beyond IP")
                .isNull();
        assertThat(tryFind(1, changed(frame, 14, 0x44)))
                .as("IP header too short")
                .isNull();
        assertThat(tryFind(1, changed(frame, 14, 0x55))).as("IP version 5").isNull();
        for (int length = 0; length < frame.length; length++) {
            RoceFrame cut = tryFind(1, Arrays.copyOf(frame, length));
            assertThat(cut == null || (!cut.isComplete() && !cut.hasValidIcrc()))
                    .isTrue();
        }
    }

    private static byte[] changed(byte[] frame, int at, int value) {
        byte[] copy = frame.clone();
        copy[at] = (byte) value;
        return copy;
    }
}
