package org.nvmf4j.roce.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.nvmf4j.roce.wire.CmMessage;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.Mad;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.RejectReason;

class ConnectionManagerTest {
    private static final int PORT = 4420;
    private static final byte[] NOTHING = {};
    private static final long RETRY_NANOS = 4096L << 17;
    private static final InetAddress HOST = address(1);
    private static final InetAddress TARGET = address(2);

    private final ConnectionManager host = manager(HOST, 0x1111);
    private final ConnectionManager target = manager(TARGET, 0x2222);
    private long now = Long.MAX_VALUE - 1000; // the clock may wrap

    private static InetAddress address(int last) {
        try {
            return InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) last});
        } catch (java.net.UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private static ConnectionManager manager(InetAddress address, long guid) {
        return new ConnectionManager(CmOptions.of(address, guid, 4096), new SplittableRandom(guid));
    }

    private static ConnectionParameters parameters(int responderResources, int initiatorDepth) {
        return new ConnectionParameters(new byte[] {1, 2, 3}, responderResources, initiatorDepth, 7, 6);
    }

    private int connect() {
        return host.connect(new InetSocketAddress(TARGET, PORT), 0x100, 0x111, parameters(16, 0), now);
    }

    private static <E extends CmEvent> E event(ConnectionManager from, Class<E> kind) {
        CmEvent event = from.pollEvent();
        assertThat(event).isInstanceOf(kind);
        return kind.cast(Objects.requireNonNull(event));
    }

    /** Takes the one message that waits to be sent. */
    private static byte[] one(ConnectionManager from) {
        List<byte[]> all = all(from);
        assertThat(all).hasSize(1);
        return all.getFirst();
    }

    private static List<byte[]> all(ConnectionManager from) {
        List<byte[]> result = new ArrayList<>();
        for (CmTransmit t = from.pollTransmit(); t != null; t = from.pollTransmit()) {
            result.add(t.mad());
        }
        return result;
    }

    private static CmMessage parse(byte[] mad) {
        CmMessage message = CmMessage.parse(MemorySegment.ofArray(mad), 0);
        return Objects.requireNonNull(message);
    }

    private static byte[] mad(CmMessage message) {
        byte[] mad = new byte[Mad.LENGTH];
        message.write(MemorySegment.ofArray(mad), 0, 99);
        return mad;
    }

    private void toTarget(byte[] mad) {
        target.onMad(MemorySegment.ofArray(mad), 0, HOST, now);
    }

    private void toHost(byte[] mad) {
        host.onMad(MemorySegment.ofArray(mad), 0, TARGET, now);
    }

    private CmEvent.RequestReceived request() {
        target.listen(PORT);
        connect();
        toTarget(one(host));
        return event(target, CmEvent.RequestReceived.class);
    }

    /** Both sides established; the host's ID. */
    private int establish() {
        CmEvent.RequestReceived request = request();
        assertThat(target.accept(request.connectionId(), 0x200, 0x222, parameters(4, 32), now))
                .isTrue();
        toHost(one(target));
        CmEvent.ReplyReceived reply = event(host, CmEvent.ReplyReceived.class);
        assertThat(host.confirm(reply.connectionId())).isTrue();
        toTarget(one(host));
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Established.class);
        return reply.connectionId();
    }

    /** Lets time pass until a manager wants to be called, and calls it. */
    private void passTo(ConnectionManager manager) {
        assertThat(manager.nextDeadlineNanos()).isNotEqualTo(ConnectionManager.NO_DEADLINE);
        now = manager.nextDeadlineNanos();
        manager.onTimeout(now);
    }

    @Test
    void agreesOnEverything() {
        CmEvent.RequestReceived request = request();
        assertThat(request.parameters().responderResources()).isEqualTo(16);
        assertThat(request.parameters().privateData()).hasSize(56).startsWith(1, 2, 3, 0);
        assertThat(request.localAddress()).isEqualTo(new InetSocketAddress(TARGET, PORT));
        assertThat(request.remoteAddress().getAddress()).isEqualTo(HOST);
        ConnectionParameters accepting = parameters(4, 32);
        PathParameters passive = request.path(0x200, 0x222, accepting);
        target.accept(request.connectionId(), 0x200, 0x222, accepting, now);
        toHost(one(target));
        CmEvent.ReplyReceived reply = event(host, CmEvent.ReplyReceived.class);
        assertThat(host.localAddress(reply.connectionId())).isEqualTo(request.remoteAddress());
        int sport = passive.udpSourcePort();
        long timer = 4096L << 16;
        assertThat(passive)
                .isEqualTo(new PathParameters(0x200, 0x100, HOST, sport, 0x111, 0x222, 4096, 16, 0, 7, 6, timer));
        assertThat(reply.path())
                .isEqualTo(new PathParameters(0x100, 0x200, TARGET, sport, 0x222, 0x111, 4096, 0, 16, 7, 6, timer));
        assertThat(sport).isBetween(0xC000, 0xFFFF);
        assertThat(reply.peer().privateData()).hasSize(196).startsWith(1, 2, 3, 0);
        assertThat(reply.peer().initiatorDepth()).isEqualTo(16);
        assertThat(reply.peer().responderResources()).isZero();
        assertThat(host.nextDeadlineNanos()).isEqualTo(ConnectionManager.NO_DEADLINE);
    }

    @Test
    void repeatsRequestUntilItGivesUp() {
        int id = connect();
        byte[] req = one(host);
        long start = now;
        for (int i = 1; i <= 15; i++) {
            passTo(host);
            assertThat(now - start).isEqualTo(i * RETRY_NANOS);
            assertThat(one(host)).isEqualTo(req);
        }
        passTo(host);
        CmMessage.Rej rej = (CmMessage.Rej) parse(one(host));
        assertThat(rej.reason()).isEqualTo(RejectReason.TIMEOUT);
        assertThat(rej.additionalGuid()).isEqualTo(0x1111);
        assertThat(host.pollEvent())
                .isEqualTo(new CmEvent.Failed(
                        id,
                        "no answer from 10.0.0.2 port 4420 to the connection request, sent 16 times: is anything listening"
                                + " there, and does UDP port 4791 get through?"));
        assertThat(host.connectionCount()).isZero();
        assertThat(host.nextDeadlineNanos()).isEqualTo(ConnectionManager.NO_DEADLINE);
    }

    @Test
    void answersRepeatedRequestWithTheSameReply() {
        target.listen(PORT);
        connect();
        byte[] req = one(host);
        toTarget(req);
        CmEvent event = event(target, CmEvent.RequestReceived.class);
        toTarget(req);
        assertThat(target.pollEvent()).isNull();
        assertThat(all(target)).isEmpty();
        target.accept(event.connectionId(), 0x200, 1, parameters(0, 1), now);
        byte[] rep = one(target);
        toTarget(req);
        assertThat(one(target)).isEqualTo(rep);
        passTo(target);
        assertThat(one(target)).isEqualTo(rep);
    }

    @Test
    void repeatsReadyToUseForRepeatedReply() {
        CmEvent.RequestReceived request = request();
        target.accept(request.connectionId(), 0x200, 1, parameters(0, 1), now);
        byte[] rep = one(target);
        toHost(rep);
        toHost(rep);
        assertThat(all(host)).isEmpty();
        host.confirm(event(host, CmEvent.ReplyReceived.class).connectionId());
        byte[] rtu = one(host);
        toHost(rep);
        assertThat(one(host)).isEqualTo(rtu);
        assertThat(host.pollEvent()).isNull();
    }

    @Test
    void takesFirstPacketForReadyToUse() {
        CmEvent.RequestReceived request = request();
        target.accept(request.connectionId(), 0x200, 1, parameters(0, 1), now);
        target.onRcPacketReceived(0x201);
        assertThat(target.pollEvent()).isNull();
        target.onRcPacketReceived(0x200);
        target.onRcPacketReceived(0x200);
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Established.class);
        assertThat(target.pollEvent()).isNull();
        assertThat(target.nextDeadlineNanos()).isEqualTo(ConnectionManager.NO_DEADLINE);
    }

    @Test
    void waitsLongerWhenAskedTo() {
        int id = connect();
        all(host);
        toHost(mad(new CmMessage.Mra(7, id, CmMessage.ANSWERS_REQ, 20, NOTHING)));
        assertThat(host.nextDeadlineNanos()).isEqualTo(now + (4096L << 20) + RETRY_NANOS);
        toHost(mad(new CmMessage.Mra(7, id, CmMessage.ANSWERS_REQ, 31, NOTHING)));
        assertThat(host.nextDeadlineNanos()).isEqualTo(now + (4096L << 24) + RETRY_NANOS);
        for (int i = 0; i < 20; i++) {
            now += 1000;
            toHost(mad(new CmMessage.Mra(7, id, CmMessage.ANSWERS_REQ, 31, NOTHING)));
        }
        assertThat(host.nextDeadlineNanos()).isLessThan(now + (4096L << 24) + RETRY_NANOS);
    }

    @Test
    void refusesUnknownPort() {
        int id = connect();
        toTarget(one(host));
        byte[] rej = one(target);
        assertThat(target.pollEvent()).isNull();
        toHost(rej);
        CmEvent.Rejected rejected = event(host, CmEvent.Rejected.class);
        assertThat(rejected.connectionId()).isEqualTo(id);
        assertThat(rejected.reason()).isEqualTo(RejectReason.INVALID_SERVICE_ID);
        toHost(rej);
        assertThat(host.pollEvent()).isNull();
        assertThat(host.connectionCount() + target.connectionCount()).isZero();
    }

    @Test
    void refusesWithTheUsersReason() {
        CmEvent.RequestReceived request = request();
        target.reject(request.connectionId(), RejectReason.CONSUMER_DEFINED, new byte[] {0, 0, 4, 0});
        assertThat(target.accept(request.connectionId(), 2, 1, parameters(1, 1), now))
                .isFalse();
        toHost(one(target));
        CmEvent.Rejected rejected = event(host, CmEvent.Rejected.class);
        assertThat(rejected.reason()).isEqualTo(28);
        assertThat(rejected.privateData()).hasSize(148).startsWith(0, 0, 4, 0);
    }

    @Test
    void refusesReplyThatTheUserCannotTake() {
        CmEvent.RequestReceived request = request();
        target.accept(request.connectionId(), 0x200, 1, parameters(0, 1), now);
        toHost(one(target));
        CmEvent reply = event(host, CmEvent.ReplyReceived.class);
        host.reject(reply.connectionId(), RejectReason.NO_RESOURCES, NOTHING);
        assertThat(host.confirm(reply.connectionId())).isFalse();
        toTarget(one(host));
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Rejected.class);
        assertThat(target.connectionCount()).isZero();
    }

    private int reasonFor(UnaryOperator<CmMessage.Req> change) {
        ConnectionManager fresh = manager(TARGET, 3);
        fresh.listen(PORT);
        connect();
        byte[] changed = mad(change.apply((CmMessage.Req) parse(one(host))));
        fresh.onMad(MemorySegment.ofArray(changed), 0, HOST, now);
        if (fresh.pollEvent() != null) {
            return 0;
        }
        return ((CmMessage.Rej) parse(one(fresh))).reason();
    }

    private static CmMessage.Req req(
            CmMessage.Req r, int transportType, int qpn, int mtu, CmMessage.Path path, byte[] privateData) {
        return new CmMessage.Req(
                r.localCommId(),
                r.serviceId(),
                r.caGuid(),
                qpn,
                1,
                1,
                20,
                transportType,
                true,
                5,
                20,
                7,
                0xFFFF,
                mtu,
                7,
                15,
                false,
                path,
                privateData);
    }

    private static CmMessage.Path path(InetAddress local, InetAddress remote) {
        return new CmMessage.Path(0xFFFF, 0xFFFF, local, remote, 1, 0, 0, 64, 0, false, 17);
    }

    @Test
    void refusesRequestsThatMakeNoSense() {
        assertThat(reasonFor(r -> req(r, 0, r.qpn(), 5, r.path(), r.privateData())))
                .isZero();
        assertThat(reasonFor(r -> req(r, 3, r.qpn(), 5, r.path(), r.privateData())))
                .isEqualTo(RejectReason.INVALID_TRANSPORT_TYPE);
        assertThat(reasonFor(r -> req(r, 0, 1, 5, r.path(), r.privateData())))
                .isEqualTo(RejectReason.UNSUPPORTED_REQUEST);
        assertThat(reasonFor(r -> req(r, 0, r.qpn(), 6, r.path(), r.privateData())))
                .isEqualTo(RejectReason.INVALID_MTU);
        assertThat(reasonFor(r -> req(r, 0, r.qpn(), 0, r.path(), r.privateData())))
                .isEqualTo(RejectReason.INVALID_MTU);
        assertThat(reasonFor(r -> req(r, 0, r.qpn(), 5, path(address(3), TARGET), r.privateData())))
                .isEqualTo(RejectReason.INVALID_GID);
        assertThat(reasonFor(r -> req(r, 0, r.qpn(), 5, path(HOST, address(3)), r.privateData())))
                .isEqualTo(RejectReason.INVALID_GID);
        assertThat(reasonFor(r -> req(r, 0, r.qpn(), 5, r.path(), new byte[36])))
                .isEqualTo(RejectReason.CONSUMER_DEFINED);
    }

    @Test
    void refusesLargerPathMtuThanItsLink() {
        ConnectionManager small = new ConnectionManager(CmOptions.of(TARGET, 5, 1024), new SplittableRandom(1));
        small.listen(PORT);
        connect();
        small.onMad(MemorySegment.ofArray(one(host)), 0, HOST, now);
        assertThat(((CmMessage.Rej) parse(one(small))).reason()).isEqualTo(RejectReason.INVALID_MTU);
    }

    @Test
    void dropsOldConnectionWhenItsQueuePairComesBack() {
        establish();
        ConnectionManager restarted = manager(HOST, 0x1111);
        restarted.connect(new InetSocketAddress(TARGET, PORT), 0x100, 1, parameters(1, 1), now);
        for (int i = 0; i < 3; i++) { // another comm ID than that of the first
            all(restarted);
            restarted.connect(new InetSocketAddress(TARGET, PORT), 0x100, 1, parameters(1, 1), now);
        }
        toTarget(one(restarted));
        List<byte[]> answers = all(target);
        assertThat(answers).hasSize(2);
        assertThat(parse(answers.getFirst())).isInstanceOf(CmMessage.Dreq.class);
        assertThat(((CmMessage.Rej) parse(answers.getLast())).reason()).isEqualTo(RejectReason.STALE_CONNECTION);
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Disconnected.class);
        restarted.connect(new InetSocketAddress(TARGET, PORT), 0x100, 1, parameters(1, 1), now);
        toTarget(one(restarted));
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.RequestReceived.class);
    }

    @Test
    void disconnectsBothEnds() {
        int id = establish();
        host.disconnect(id, now);
        byte[] dreq = one(host);
        assertThat(((CmMessage.Dreq) parse(dreq)).remoteQpn()).isEqualTo(0x200);
        toTarget(dreq);
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Disconnected.class);
        byte[] drep = one(target);
        toHost(drep);
        assertThat(host.pollEvent()).isEqualTo(new CmEvent.Disconnected(id));
        // In time-wait a repeated DREQ is answered again, and nothing more happens.
        toTarget(dreq);
        assertThat(one(target)).isEqualTo(drep);
        assertThat(target.pollEvent()).isNull();
        passTo(target);
        passTo(host);
        assertThat(host.connectionCount() + target.connectionCount()).isZero();
        // So it is when all is forgotten.
        toTarget(dreq);
        assertThat(one(target)).isEqualTo(drep);
    }

    @Test
    void endsWithoutAnswerFromThePeer() {
        int id = establish();
        host.disconnect(id, now);
        for (int i = 0; i < 6; i++) {
            assertThat(parse(one(host))).isInstanceOf(CmMessage.Dreq.class);
            assertThat(host.pollEvent()).isNull();
            passTo(host);
        }
        assertThat(host.pollEvent()).isEqualTo(new CmEvent.Disconnected(id));
        assertThat(all(host)).isEmpty();
    }

    @Test
    void ignoresDisconnectForAnotherQueuePair() {
        int id = establish();
        host.disconnect(id, now);
        CmMessage.Dreq dreq = (CmMessage.Dreq) parse(one(host));
        toTarget(mad(new CmMessage.Dreq(dreq.localCommId(), dreq.remoteCommId(), 0x201, NOTHING)));
        assertThat(all(target)).isEmpty();
        assertThat(target.pollEvent()).isNull();
        assertThat(target.droppedMads()).isOne();
    }

    @Test
    void ignoresMessagesFromElsewhere() {
        int id = establish();
        host.disconnect(id, now);
        byte[] dreq = one(host);
        target.onMad(MemorySegment.ofArray(dreq), 0, address(9), now);
        assertThat(target.pollEvent()).isNull();
        assertThat(target.connectionCount()).isOne();
    }

    @Test
    void establishesAndEndsWhenOnlyTheDisconnectArrives() {
        CmEvent.RequestReceived request = request();
        target.accept(request.connectionId(), 0x200, 1, parameters(0, 1), now);
        toHost(one(target));
        int id = event(host, CmEvent.ReplyReceived.class).connectionId();
        host.confirm(id);
        host.disconnect(id, now);
        toTarget(all(host).getLast());
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Established.class);
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.Disconnected.class);
    }

    @Test
    void tellsPeerOfAReplyToNobody() {
        CmEvent.RequestReceived request = request();
        target.accept(request.connectionId(), 0x200, 1, parameters(0, 1), now);
        byte[] rep = one(target);
        ConnectionManager restarted = manager(HOST, 0x3333);
        restarted.onMad(MemorySegment.ofArray(rep), 0, TARGET, now);
        toTarget(one(restarted));
        CmEvent.Rejected rejected = event(target, CmEvent.Rejected.class);
        assertThat(rejected.reason()).isEqualTo(RejectReason.INVALID_COMM_ID);
        assertThat(target.connectionCount()).isZero();
    }

    @Test
    void withdrawsRequestThatThePeerGaveUp() {
        CmEvent.RequestReceived request = request();
        for (int i = 0; i < 16; i++) {
            passTo(host);
        }
        toTarget(all(host).getLast());
        assertThat(target.pollEvent()).isEqualTo(new CmEvent.RequestWithdrawn(request.connectionId()));
        assertThat(target.accept(request.connectionId(), 0x200, 1, parameters(0, 1), now))
                .isFalse();
    }

    @Test
    void withdrawsRequestThatNobodyAnswers() {
        CmEvent.RequestReceived request = request();
        passTo(target);
        assertThat(target.pollEvent()).isEqualTo(new CmEvent.RequestWithdrawn(request.connectionId()));
        assertThat(((CmMessage.Rej) parse(one(target))).reason()).isEqualTo(RejectReason.NO_RESOURCES);
    }

    @Test
    void saysNothingAfterAbandon() {
        int id = establish();
        host.abandon(id, now);
        toTarget(one(host));
        toHost(one(target));
        assertThat(host.pollEvent()).isNull();
        int second = connect();
        toTarget(one(host));
        host.abandon(second, now);
        toTarget(one(host));
        assertThat(host.pollEvent()).isNull();
        passTo(host);
        assertThat(host.connectionCount()).isZero();
    }

    @Test
    void boundsHandshakesUnderWay() {
        target.listen(PORT);
        for (int i = 0; i < 300; i++) {
            host.connect(new InetSocketAddress(TARGET, PORT), 2 + i, 1, parameters(1, 1), now);
            toTarget(one(host));
        }
        assertThat(target.connectionCount()).isEqualTo(256);
        assertThat(all(target))
                .hasSize(44)
                .allSatisfy(
                        mad -> assertThat(((CmMessage.Rej) parse(mad)).reason()).isEqualTo(RejectReason.NO_RESOURCES));
    }

    @Test
    void takesOnlyWholePacketsToItsQueuePair() {
        target.listen(PORT);
        connect();
        MemorySegment packet = MemorySegment.ofArray(new byte[GsiPacket.LENGTH]);
        GsiPacket.writeHeaders(packet, 0, 7);
        MemorySegment.copy(MemorySegment.ofArray(one(host)), 0, packet, GsiPacket.MAD_OFFSET, Mad.LENGTH);
        target.onPacket(packet, 0, GsiPacket.LENGTH - 4, HOST, now);
        packet.set(java.lang.foreign.ValueLayout.JAVA_BYTE, 7, (byte) 2);
        target.onPacket(packet, 0, GsiPacket.LENGTH, HOST, now);
        assertThat(target.pollEvent()).isNull();
        assertThat(target.droppedMads()).isEqualTo(2);
        packet.set(java.lang.foreign.ValueLayout.JAVA_BYTE, 7, (byte) 1);
        target.onPacket(packet, 0, GsiPacket.LENGTH, HOST, now);
        assertThat(target.pollEvent()).isInstanceOf(CmEvent.RequestReceived.class);
    }

    @Test
    void ignoresOtherVersionsAndClasses() {
        target.listen(PORT);
        connect();
        byte[] req = one(host);
        for (int at = 0; at < 4; at++) {
            byte[] changed = req.clone();
            changed[at]++;
            toTarget(changed);
        }
        byte[] attribute = req.clone();
        attribute[17] = 0x19; // load alternate path
        toTarget(attribute);
        assertThat(target.pollEvent()).isNull();
        assertThat(all(target)).isEmpty();
        assertThat(target.droppedMads()).isEqualTo(5);
    }

    @Test
    void listensOncePerPort() {
        assertThat(host.listen(4420)).isEqualTo(4420);
        assertThatThrownBy(() -> host.listen(4420))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("port 4420 has a listener already on 10.0.0.1");
        assertThat(host.listen(0)).isBetween(0x8000, 0xFFFF);
        host.stopListening(4420);
        assertThat(host.listen(4420)).isEqualTo(4420);
    }

    @Test
    void refusesWhatItCannotSay() throws Exception {
        InetSocketAddress ipv6 = new InetSocketAddress(InetAddress.getByName("fd00::1"), PORT);
        assertThatThrownBy(() -> host.connect(ipv6, 2, 1, parameters(1, 1), now))
                .isInstanceOf(IllegalArgumentException.class);
        ConnectionParameters tooMuch = new ConnectionParameters(new byte[57], 1, 1, 7, 7);
        assertThatThrownBy(() -> host.connect(new InetSocketAddress(TARGET, PORT), 2, 1, tooMuch, now))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("private data of a connection request is at most 56 bytes, not 57");
        assertThatThrownBy(() -> mad(new CmMessage.Rtu(1, 2, new byte[225])))
                .hasMessage("private data of a RTU is at most 224 bytes, not 225");
    }
}
