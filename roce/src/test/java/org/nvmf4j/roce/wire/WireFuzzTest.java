package org.nvmf4j.roce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;

class WireFuzzTest {
    /** Whatever passes the check can be read by every accessor, and any bytes can be described. */
    @FuzzTest(maxDuration = "10s")
    void readsAnyPacket(byte[] packet) {
        MemorySegment m = MemorySegment.ofArray(packet);
        String text = PacketText.describe(m, 0, packet.length);
        int payload = packet.length < Bth.LENGTH ? RocePacket.BAD_LENGTH : RocePacket.check(m, 0, packet.length);
        assertThat(text.contains("malformed")).isEqualTo(payload < 0);
        if (payload >= 0) {
            int headers = Opcode.headerBytes(Bth.opcode(m, 0));
            assertThat(headers + payload + Bth.padCount(m, 0) + RocePacket.ICRC_BYTES)
                    .isEqualTo(packet.length);
        }
        Icrc icrc = new Icrc(new byte[] {10, 0, 0, 1}, new byte[] {10, 0, 0, 2});
        assertThat(icrc.check(1, ByteBuffer.wrap(packet), 0, packet.length)).isBetween(Icrc.BAD, 0xFFFF);
    }

    /** What is read of any CM message is written so that it reads the same. */
    @FuzzTest(maxDuration = "10s")
    void readsAnyMad(byte[] bytes) {
        byte[] mad = new byte[Mad.LENGTH];
        System.arraycopy(bytes, 0, mad, 0, Math.min(bytes.length, mad.length));
        CmMessage message = CmMessage.parse(MemorySegment.ofArray(mad), 0);
        if (message == null) {
            return;
        }
        byte[] first = new byte[Mad.LENGTH];
        message.write(MemorySegment.ofArray(first), 0, 1);
        CmMessage again = Objects.requireNonNull(CmMessage.parse(MemorySegment.ofArray(first), 0));
        byte[] second = new byte[Mad.LENGTH];
        again.write(MemorySegment.ofArray(second), 0, 1);
        assertThat(second).isEqualTo(first);
        IpCmHeader.parse(message.privateData());
    }

    /** Any file is read to its end or refused in one line. */
    @FuzzTest(maxDuration = "10s")
    void readsAnyCaptureFile(byte[] file) {
        try {
            PcapReader reader = new PcapReader(new ByteArrayInputStream(file));
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                RoceFrame roce = RoceFrame.find(frame);
                if (roce != null && roce.isComplete()) {
                    assertThat(roce.source()).isNotNull();
                    assertThat(roce.destination()).isNotNull();
                    roce.hasValidIcrc();
                    assertThat(PacketText.describe(roce.segment(), roce.packetOffset(), roce.packetBytes()))
                            .isNotEmpty();
                }
            }
        } catch (IOException e) {
            assertThat(e.getMessage()).doesNotContain("\n").isNotEmpty();
        }
    }
}
