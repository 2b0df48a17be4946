package org.nvmf4j.roce.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Holds codecs to what Linux kernels sent to each other. */
class CapturesTest {
    @Test
    void everyIcrcIsRightAndSolvesForTheIdentification() throws Exception {
        int packets = 0;
        for (Path file : Captures.all()) {
            for (RoceFrame frame : Captures.frames(file)) {
                assertThat(frame.hasValidIcrc())
                        .as("%s frame %d", file, frame.frame().number())
                        .isTrue();
                Icrc icrc = new Icrc(frame.source(), frame.destination());
                ByteBuffer bytes = ByteBuffer.wrap(frame.frame().bytes());
                assertThat(icrc.check(frame.sourcePort(), bytes, frame.packetOffset(), frame.packetBytes()))
                        .isEqualTo(frame.ipv4Id());
                packets++;
            }
        }
        assertThat(packets).isEqualTo(1498);
    }

    @Test
    void everyPacketIsWellFormed() throws Exception {
        for (Path file : Captures.all()) {
            for (RoceFrame frame : Captures.frames(file)) {
                assertThat(RocePacket.check(frame.segment(), frame.packetOffset(), frame.packetBytes()))
                        .as("%s frame %d", file, frame.frame().number())
                        .isNotNegative();
                assertThat(PacketText.describe(frame.segment(), frame.packetOffset(), frame.packetBytes()))
                        .doesNotContain("malformed")
                        .doesNotContain("reserved");
            }
        }
    }

    @Test
    void everyCmMessageIsWrittenBackAsItWas() throws Exception {
        int messages = 0;
        for (Path file : Captures.all()) {
            for (RoceFrame frame : Captures.frames(file)) {
                if (!GsiPacket.isValid(frame.segment(), frame.packetOffset(), frame.packetBytes())) {
                    continue;
                }
                int mad = frame.packetOffset() + GsiPacket.MAD_OFFSET;
                CmMessage message = Objects.requireNonNull(CmMessage.parse(frame.segment(), mad));
                byte[] written = new byte[Mad.LENGTH];
                message.write(MemorySegment.ofArray(written), 0, Mad.transactionId(frame.segment(), mad));
                assertThat(written)
                        .isEqualTo(frame.segment().asSlice(mad, Mad.LENGTH).toArray(ValueLayout.JAVA_BYTE));
                messages++;
            }
        }
        assertThat(messages).isEqualTo(45);
    }

    @Test
    void readsTheRequestOfALinuxHost() throws Exception {
        RoceFrame frame = Captures.frames("b-connect").getFirst();
        CmMessage.Req req = (CmMessage.Req)
                Objects.requireNonNull(CmMessage.parse(frame.segment(), frame.packetOffset() + GsiPacket.MAD_OFFSET));
        assertThat(IpCmHeader.port(req.serviceId())).isEqualTo(4420);
        assertThat(req.responderResources()).isEqualTo(128);
        assertThat(req.initiatorDepth()).isZero();
        assertThat(req.remoteResponseTimeout()).isEqualTo(20);
        assertThat(req.localResponseTimeout()).isEqualTo(20);
        assertThat(req.retryCount()).isEqualTo(7);
        assertThat(req.rnrRetryCount()).isEqualTo(7);
        assertThat(PathMtu.bytes(req.pathMtuCode())).isEqualTo(1024);
        assertThat(req.maxCmRetries()).isEqualTo(15);
        assertThat(req.path().localAckTimeout()).isEqualTo(19);
        assertThat(req.path().hopLimit()).isEqualTo(64);
        assertThat(req.path().localGid()).isEqualTo(frame.source());
        assertThat(req.path().remoteGid()).isEqualTo(frame.destination());
        IpCmHeader header = Objects.requireNonNull(IpCmHeader.parse(req.privateData()));
        assertThat(header.source()).isEqualTo(frame.source());
        assertThat(header.destination()).isEqualTo(frame.destination());
    }

    @Test
    void derivesTheSourcePortThatLinuxUses() throws Exception {
        List<RoceFrame> frames = Captures.frames("b-connect");
        int checked = 0;
        for (RoceFrame cm : frames) {
            if (cm.isComplete()
                    && GsiPacket.isValid(cm.segment(), cm.packetOffset(), cm.packetBytes())
                    && CmMessage.parse(cm.segment(), cm.packetOffset() + GsiPacket.MAD_OFFSET)
                            instanceof CmMessage.Req req) {
                checked += (int) frames.stream()
                        .filter(f -> Bth.destinationQpn(f.segment(), f.packetOffset()) == req.qpn()
                                && f.destination().equals(cm.source()))
                        .filter(f -> f.sourcePort()
                                == FlowLabel.udpSourcePort(req.path().flowLabel()))
                        .limit(1)
                        .count();
            }
        }
        assertThat(checked).isPositive();
    }

    @Test
    void describesPackets() throws Exception {
        assertThat(texts("c2-read4k").stream().limit(3))
                .containsExactly(
                        "SEND Only QP 0x16 PSN 876502 AckReq payload 64",
                        "Acknowledge QP 0x16 PSN 876502 ACK MSN 6",
                        "RDMA WRITE First QP 0x16 PSN 4811950 VA 0xffff88800751d000 R_Key 0x165a1 length 4096 payload 1024");
        assertThat(texts("g1-loss-host-read128k")).anyMatch(text -> text.contains(" NAK PSN sequence error MSN "));
        assertThat(texts("a-discovery"))
                .anyMatch(text -> text.contains("SEND Only with Invalidate") && text.contains(" invalidate R_Key 0x"));
        assertThat(texts("e2-closed-port").getLast())
                .contains("CM REJ comm ID 0x0 to 0x")
                .endsWith(" reason 8 (invalid service ID: nobody listens on that port) for REQ");
        assertThat(texts("b-connect").getFirst())
                .startsWith("UD SEND Only QP 0x1 PSN ")
                .contains(" payload 256 CM REQ comm ID 0x")
                .contains(" port 4420 local QP 0x")
                .contains(
                        " responder resources 128 initiator depth 0 path MTU 1024 retries 7 RNR retries 7 ACK timeout 19")
                .contains(" GIDs 10.77.0.3 > 10.77.0.2 source port ");
    }

    private static List<String> texts(String name) throws Exception {
        return Captures.frames(name).stream()
                .map(f -> PacketText.describe(f.segment(), f.packetOffset(), f.packetBytes()))
                .toList();
    }
}
