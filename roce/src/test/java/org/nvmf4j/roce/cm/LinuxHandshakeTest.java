package org.nvmf4j.roce.cm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.nvmf4j.roce.wire.Captures;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.FlowLabel;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.RoceFrame;
import org.nvmf4j.verbs.ConnectionParameters;

/** Plays the target of a captured Linux host. */
class LinuxHandshakeTest {
    private static final int LINUX_READS = 128;

    private static CmMessage message(RoceFrame frame) {
        return Objects.requireNonNull(
                CmMessage.parse(frame.segment(), (long) frame.packetOffset() + GsiPacket.MAD_OFFSET));
    }

    @Test
    void answersTheRequestOfALinuxHostAsALinuxTargetDoes() throws Exception {
        var frames = Captures.frames("b-connect");
        RoceFrame first = frames.getFirst();
        CmMessage.Req req = (CmMessage.Req) message(first);
        CmMessage.Rep linux = (CmMessage.Rep) message(frames.get(1));
        ConnectionManager target =
                new ConnectionManager(CmOptions.of(first.destination(), 1, 1024), new SplittableRandom(1));
        target.listen(4420);
        target.onPacket(first.segment(), first.packetOffset(), first.packetBytes(), first.source(), 0);
        CmEvent.RequestReceived request = (CmEvent.RequestReceived) Objects.requireNonNull(target.pollEvent());
        assertThat(request.remoteAddress().getAddress()).isEqualTo(first.source());
        assertThat(request.parameters().responderResources()).isEqualTo(LINUX_READS);
        ConnectionParameters own = new ConnectionParameters(linux.privateData(), 16, LINUX_READS, 7, 7);
        PathParameters path = request.path(0x777, 5, own);
        assertThat(path.remoteQpn()).isEqualTo(req.qpn());
        assertThat(path.sendPsn()).isEqualTo(req.startingPsn());
        assertThat(path.pathMtuBytes()).isEqualTo(1024);
        assertThat(path.initiatorDepth()).isEqualTo(LINUX_READS);
        assertThat(path.responderResources()).isZero();
        assertThat(path.ackTimeoutNanos()).isEqualTo(4096L << 19);
        assertThat(path.udpSourcePort())
                .isEqualTo(FlowLabel.udpSourcePort(req.path().flowLabel()));
        assertThat(target.accept(request.connectionId(), 0x777, 5, own, 0)).isTrue();

        CmTransmit answer = Objects.requireNonNull(target.pollTransmit());
        assertThat(answer.destination()).isEqualTo(first.source());
        CmMessage.Rep rep =
                (CmMessage.Rep) Objects.requireNonNull(CmMessage.parse(MemorySegment.ofArray(answer.mad()), 0));
        assertThat(rep.remoteCommId()).isEqualTo(linux.remoteCommId());
        assertThat(rep)
                .usingRecursiveComparison()
                .ignoringFields("localCommId", "qpn", "startingPsn", "caGuid", "targetAckDelay")
                .isEqualTo(linux);
    }
}
