package org.nvmf4j.roce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class IcrcTest {
    private static final byte[] A = {10, 0, 0, 1};
    private static final byte[] B = {10, 0, 0, 2};

    private static ByteBuffer packet(String hex) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(hex));
    }

    private static String hex(int icrc) {
        MemorySegment m = MemorySegment.ofArray(new byte[4]);
        Icrc.put(m, 0, icrc);
        assertThat(Icrc.get(m, 0)).isEqualTo(icrc);
        return HexFormat.of().formatHex(m.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE));
    }

    @Test
    void matchesReferencePackets() throws Exception {
        ByteBuffer ack = packet("1140ffff00000012000003451f000007");
        assertThat(hex(new Icrc(A, B).compute(0xC123, 0, ack, 0, 16))).isEqualTo("0f1be9c9");
        Icrc v6 = new Icrc(InetAddress.getByName("fd00::1"), InetAddress.getByName("fd00::2"));
        assertThat(hex(v6.compute(0xC123, 0, ack, 0, 16))).isEqualTo("38de826e");
        assertThat(v6.isIpv4()).isFalse();
    }

    @Test
    void ignoresCongestionMarks() {
        Icrc icrc = new Icrc(A, B);
        int plain = icrc.compute(1, 0, packet("1140ffff00000012000003451f000007"), 0, 16);
        assertThat(icrc.compute(1, 0, packet("1140ffffc0000012000003451f000007"), 0, 16))
                .isEqualTo(plain);
    }

    @Test
    void addsUpPieces() {
        Icrc icrc = new Icrc(A, B);
        ByteBuffer whole = ByteBuffer.allocateDirect(64);
        for (int i = 0; i < 45; i++) {
            whole.put(i, (byte) (i * 7));
        }
        int expected = icrc.compute(2, 5, whole, 0, 48);
        ByteBuffer headers = ByteBuffer.allocate(20).put(3, whole, 0, 16);
        ByteBuffer payload = ByteBuffer.allocateDirect(40).put(1, whole, 16, 29);
        icrc.begin(2, 5, 52, headers, 3, 16);
        icrc.update(payload, 1, 29);
        icrc.pad(3);
        assertThat(icrc.finish()).isEqualTo(expected);
    }

    @Property
    void solvesForIdentification(
            @ForAll @IntRange(max = 0xFFFF) int id,
            @ForAll @IntRange(min = 12, max = 5000) int size,
            @ForAll @IntRange(max = 0xFFFF) int expectedId,
            @ForAll @IntRange(max = 0xFFFF) int port,
            @ForAll byte filler) {
        int covered = size & ~3;
        Icrc icrc = new Icrc(A, B);
        ByteBuffer p = ByteBuffer.allocate(covered + 4 + 2);
        for (int i = 0; i < covered; i++) {
            p.put(2 + i, (byte) (filler * i));
        }
        put(p, 2 + covered, icrc.compute(port, id, p, 2, covered));
        assertThat(icrc.check(port, p, 2, covered + 4)).isEqualTo(id);
        assertThat(icrc.check(port, expectedId, p, 2, covered + 4)).isEqualTo(id);
        assertThat(icrc.check(port, id, p, 2, covered + 4)).isEqualTo(id);
    }

    @Property
    void refusesDamage(
            @ForAll @IntRange(max = 0xFFFF) int id,
            @ForAll @IntRange(max = 67) int position,
            @ForAll @IntRange(max = 7) int bit) {
        Icrc icrc = new Icrc(A, B);
        ByteBuffer p = ByteBuffer.allocate(68);
        put(p, 64, icrc.compute(9, id, p, 0, 64));
        p.put(position, (byte) (p.get(position) ^ 1 << bit));
        if (position == 4) { // masked by the ICRC
            assertThat(icrc.check(9, p, 0, 68)).isEqualTo(id);
        } else {
            // One flipped bit in the packet is never the image of a 16-bit identification at this length.
            assertThat(icrc.check(9, p, 0, 68)).isEqualTo(Icrc.BAD);
        }
    }

    @Test
    void refusesWrongEndsAndLengths() {
        Icrc icrc = new Icrc(A, B);
        ByteBuffer p = ByteBuffer.allocate(20_008);
        put(p, 16, icrc.compute(9, 0, p, 0, 16));
        assertThat(icrc.check(9, p, 0, 20)).isZero();
        assertThat(icrc.check(10, p, 0, 20)).isEqualTo(Icrc.BAD);
        assertThat(new Icrc(B, A).check(9, p, 0, 20)).isEqualTo(Icrc.BAD);
        icrc.setAddresses(A, A);
        assertThat(icrc.check(9, p, 0, 20)).isEqualTo(Icrc.BAD);
        for (int length : new int[] {0, 3, 15, 17, 18, 19, 20_008}) {
            assertThat(icrc.check(9, p, 0, length)).isEqualTo(Icrc.BAD);
        }
    }

    @Test
    void checksAllBitsOfIpv6() throws Exception {
        Icrc v6 = new Icrc(InetAddress.getByName("fd00::1"), InetAddress.getByName("fd00::2"));
        ByteBuffer p = ByteBuffer.allocate(40);
        put(p, 36, v6.compute(9, 77, p, 0, 36));
        assertThat(v6.check(9, p, 0, 40)).isZero();
        for (int bit = 0; bit < 32; bit++) {
            p.putInt(36, p.getInt(36) ^ 1 << bit);
            assertThat(v6.check(9, p, 0, 40)).isEqualTo(Icrc.BAD);
            p.putInt(36, p.getInt(36) ^ 1 << bit);
        }
    }

    private static void put(ByteBuffer p, int position, int icrc) {
        p.putInt(position, Integer.reverseBytes(icrc));
    }
}
