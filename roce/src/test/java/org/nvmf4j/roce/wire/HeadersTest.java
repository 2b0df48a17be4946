package org.nvmf4j.roce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class HeadersTest {
    private static final int OFFSET = 3; // unaligned on purpose

    private final MemorySegment m = MemorySegment.ofArray(new byte[64]);

    private String hex(int bytes) {
        return HexFormat.of().formatHex(m.asSlice(OFFSET, bytes).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE));
    }

    @Test
    void writesBthAsHardwareDoes() {
        Bth.write(m, OFFSET, Opcode.RC_ACKNOWLEDGE, Bth.MIGRATION_REQUEST, 0, 0x12, false, 0x345);
        Aeth.write(m, OFFSET + Bth.LENGTH, AethSyndrome.ACK, 7);
        assertThat(hex(16)).isEqualTo("1140ffff00000012000003451f000007");
    }

    @Property
    void readsBackBth(
            @ForAll @IntRange(max = 255) int opcode,
            @ForAll @IntRange(max = 3) int pad,
            @ForAll @IntRange(max = Psn.MASK) int qpn,
            @ForAll @IntRange(max = Psn.MASK) int psn,
            @ForAll boolean ackRequest,
            @ForAll boolean solicited) {
        Bth.write(m, OFFSET, opcode, solicited ? Bth.SOLICITED_EVENT : 0, pad, qpn, ackRequest, psn);
        assertThat(Bth.opcode(m, OFFSET)).isEqualTo(opcode);
        assertThat(Bth.solicitedEvent(m, OFFSET)).isEqualTo(solicited);
        assertThat(Bth.migrationRequest(m, OFFSET)).isFalse();
        assertThat(Bth.padCount(m, OFFSET)).isEqualTo(pad);
        assertThat(Bth.transportVersion(m, OFFSET)).isZero();
        assertThat(Bth.pKey(m, OFFSET)).isEqualTo(Bth.DEFAULT_P_KEY);
        assertThat(Bth.destinationQpn(m, OFFSET)).isEqualTo(qpn);
        assertThat(Bth.ackRequest(m, OFFSET)).isEqualTo(ackRequest);
        assertThat(Bth.psn(m, OFFSET)).isEqualTo(psn);
        Bth.setAckRequest(m, OFFSET, !ackRequest);
        Bth.setPsn(m, OFFSET, ~psn);
        assertThat(Bth.ackRequest(m, OFFSET)).isNotEqualTo(ackRequest);
        assertThat(Bth.psn(m, OFFSET)).isEqualTo(~psn & Psn.MASK);
    }

    @Property
    void readsBackExtensions(@ForAll long a, @ForAll int b, @ForAll int c, @ForAll long d) {
        Reth.write(m, OFFSET, a, b, c);
        assertThat(Reth.virtualAddress(m, OFFSET)).isEqualTo(a);
        assertThat(Reth.rKey(m, OFFSET)).isEqualTo(b);
        assertThat(Reth.dmaLengthBytes(m, OFFSET)).isEqualTo(Integer.toUnsignedLong(c));
        AtomicEth.write(m, OFFSET, a, b, d, ~d);
        assertThat(AtomicEth.virtualAddress(m, OFFSET)).isEqualTo(a);
        assertThat(AtomicEth.rKey(m, OFFSET)).isEqualTo(b);
        assertThat(AtomicEth.swapOrAdd(m, OFFSET)).isEqualTo(d);
        assertThat(AtomicEth.compare(m, OFFSET)).isEqualTo(~d);
        Deth.write(m, OFFSET, b, c);
        assertThat(Deth.qKey(m, OFFSET)).isEqualTo(b);
        assertThat(Deth.sourceQpn(m, OFFSET)).isEqualTo(c & Psn.MASK);
        Ieth.write(m, OFFSET, b);
        assertThat(Ieth.rKey(m, OFFSET)).isEqualTo(b);
        ImmDt.write(m, OFFSET, c);
        assertThat(ImmDt.data(m, OFFSET)).isEqualTo(c);
        AtomicAckEth.write(m, OFFSET, d);
        assertThat(AtomicAckEth.originalValue(m, OFFSET)).isEqualTo(d);
        Aeth.write(m, OFFSET, b & 0xFF, c);
        assertThat(Aeth.syndrome(m, OFFSET)).isEqualTo(b & 0xFF);
        assertThat(Aeth.msn(m, OFFSET)).isEqualTo(c & Psn.MASK);
    }

    @Property
    void countsSequenceNumbersInACircle(
            @ForAll @IntRange(max = Psn.MASK) int psn, @ForAll @IntRange(min = -(1 << 23), max = (1 << 23) - 1) int d) {
        int other = Psn.add(psn, d);
        assertThat(other).isBetween(0, Psn.MASK);
        assertThat(Psn.diff(other, psn)).isEqualTo(d);
        assertThat(Psn.isAfter(other, psn)).isEqualTo(d > 0);
        assertThat(Psn.isBefore(other, psn)).isEqualTo(d < 0);
    }

    @Test
    void countsPacketsOfAMessage() {
        assertThat(Psn.packets(0, 1024)).isEqualTo(1);
        assertThat(Psn.packets(1, 1024)).isEqualTo(1);
        assertThat(Psn.packets(1024, 1024)).isEqualTo(1);
        assertThat(Psn.packets(1025, 1024)).isEqualTo(2);
        assertThat(Psn.packets(Reth.MAX_DMA_LENGTH_BYTES, 256)).isEqualTo(1 << 23);
    }

    @Test
    void laysOutHeadersByOpcode() {
        assertThat(Opcode.headerBytes(Opcode.RC_SEND_ONLY)).isEqualTo(12);
        assertThat(Opcode.headerBytes(Opcode.RC_WRITE_ONLY_WITH_IMMEDIATE)).isEqualTo(32);
        assertThat(Opcode.secondExtensionOffset(Opcode.RC_WRITE_ONLY_WITH_IMMEDIATE))
                .isEqualTo(28);
        assertThat(Opcode.secondExtensionOffset(Opcode.RC_SEND_ONLY_WITH_INVALIDATE))
                .isEqualTo(12);
        assertThat(Opcode.headerBytes(Opcode.RC_READ_RESPONSE_MIDDLE)).isEqualTo(12);
        assertThat(Opcode.headerBytes(Opcode.RC_READ_RESPONSE_LAST)).isEqualTo(16);
        assertThat(Opcode.headerBytes(Opcode.RC_ATOMIC_ACKNOWLEDGE)).isEqualTo(24);
        assertThat(Opcode.headerBytes(Opcode.UD_SEND_ONLY)).isEqualTo(20);
        assertThat(Opcode.headerBytes(Opcode.CNP)).isEqualTo(28);
        assertThat(Opcode.headerBytes(0x15)).isZero();
        assertThat(Opcode.isKnown(0x1D)).isFalse();
        assertThat(Opcode.transport(Opcode.UD_SEND_ONLY)).isEqualTo(Opcode.TRANSPORT_UD);
        assertThat(Opcode.name(0x15)).isEqualTo("opcode 0x15");
    }

    @Test
    void checksPackets() {
        MemorySegment p = MemorySegment.ofArray(new byte[64]);
        Bth.write(p, 0, Opcode.RC_SEND_ONLY, 0, 3, 2, true, 1);
        assertThat(RocePacket.check(p, 0, 12 + 8 + 4)).isEqualTo(5);
        assertThat(RocePacket.check(p, 0, 12 + 4)).isEqualTo(RocePacket.BAD_PAYLOAD);
        assertThat(RocePacket.check(p, 0, 12 + 3)).isEqualTo(RocePacket.BAD_LENGTH);
        assertThat(RocePacket.check(p, 0, 12 + 9 + 4)).isEqualTo(RocePacket.BAD_LENGTH);
        Bth.write(p, 0, Opcode.RC_ACKNOWLEDGE, 0, 0, 2, false, 1);
        assertThat(RocePacket.check(p, 0, 20)).isZero();
        assertThat(RocePacket.check(p, 0, 16)).isEqualTo(RocePacket.BAD_LENGTH);
        assertThat(RocePacket.check(p, 0, 24)).isEqualTo(RocePacket.BAD_PAYLOAD);
        Bth.write(p, 0, 0x15, 0, 0, 2, false, 1);
        assertThat(RocePacket.check(p, 0, 20)).isEqualTo(RocePacket.UNKNOWN_OPCODE);
        Bth.write(p, 0, Opcode.RC_SEND_ONLY, 1, 0, 2, false, 1);
        assertThat(RocePacket.check(p, 0, 20)).isEqualTo(RocePacket.BAD_VERSION);
    }

    @Test
    void knowsSyndromes() {
        assertThat(AethSyndrome.rnrTimerNanos(0)).isEqualTo(655_360_000L);
        assertThat(AethSyndrome.rnrTimerNanos(1)).isEqualTo(10_000L);
        assertThat(AethSyndrome.rnrTimerNanos(0x19)).isEqualTo(61_440_000L);
        assertThat(AethSyndrome.rnrTimerNanos(AethSyndrome.rnrNak(31))).isEqualTo(491_520_000L);
        assertThat(AethSyndrome.rnrTimerCode(10_001)).isEqualTo(2);
        assertThat(AethSyndrome.rnrTimerCode(500_000_000L)).isZero();
        assertThat(AethSyndrome.isAck(AethSyndrome.ACK)).isTrue();
        assertThat(AethSyndrome.isAck(0)).isTrue();
        assertThat(AethSyndrome.isRnrNak(0x3F)).isTrue();
        assertThat(AethSyndrome.isNak(0x7F)).isTrue();
        assertThat(AethSyndrome.isNak(0xE0)).isFalse();
        assertThat(AethSyndrome.isNak(0x45) || AethSyndrome.isAck(0x45) || AethSyndrome.isRnrNak(0x45))
                .isFalse();
        assertThat(List.of(0, 1, 2, 5, 9, 0x10, 0x1D, 0x1E, 0x1F))
                .extracting(AethSyndrome::credits)
                .containsExactly(0, 1, 2, 6, 24, 256, 24_576, 32_768, -1);
        assertThat(AethSyndrome.words(0x60)).isEqualTo("NAK PSN sequence error");
    }

    @Test
    void choosesPathMtuAsLinuxDoes() {
        assertThat(PathMtu.ofLinkMtu(1500)).isEqualTo(1024);
        assertThat(PathMtu.ofLinkMtu(4200)).isEqualTo(4096);
        assertThat(PathMtu.ofLinkMtu(65536)).isEqualTo(4096);
        assertThat(PathMtu.ofLinkMtu(576)).isEqualTo(256);
        assertThat(PathMtu.ofLinkMtu(335)).isZero();
        for (int code = 1; code <= 5; code++) {
            assertThat(PathMtu.code(PathMtu.bytes(code))).isEqualTo(code);
        }
        assertThat(PathMtu.bytes(5)).isEqualTo(4096);
    }

    @Test
    void derivesUdpSourcePort() {
        assertThat(FlowLabel.udpSourcePort(0x6a6c4)).isEqualTo(0xC000 | ((0x6a6c4 & 0x3FFF) ^ 0x6a6c4 >> 14));
        assertThat(FlowLabel.udpSourcePort(0)).isEqualTo(0xC000);
        assertThat(FlowLabel.udpSourcePort(FlowLabel.MASK)).isEqualTo(0xC000 | 0x3FC0);
        assertThat(FlowLabel.ofQpns(0x12, 0x345678)).isEqualTo(FlowLabel.ofQpns(0x345678, 0x12));
        assertThat(FlowLabel.ofPorts(40_000, 4420)).isEqualTo((40_000 * 31 + 4420) & FlowLabel.MASK);
    }
}
