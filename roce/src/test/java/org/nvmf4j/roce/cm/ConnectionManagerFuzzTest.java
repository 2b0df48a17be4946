package org.nvmf4j.roce.cm;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.nvmf4j.roce.wire.GsiPacket;
import org.nvmf4j.roce.wire.Mad;
import org.nvmf4j.verbs.ConnectionParameters;

class ConnectionManagerFuzzTest {
    private static final int MAX_HALF_OPEN = 8;
    private static final int MAX_CONNECTIONS = 16;
    private static final int MAX_TIME_WAIT = 4;

    /** Any bytes from the network, after any course of the user's calls, never throw and keep memory in bounds. */
    @FuzzTest(maxDuration = "10s")
    void survivesAnyPackets(FuzzedDataProvider data) throws Exception {
        InetAddress local = InetAddress.getByAddress(new byte[] {10, 0, 0, 1});
        InetAddress peer = InetAddress.getByAddress(new byte[] {10, 0, 0, 2});
        CmOptions options = new CmOptions(
                local, 1, 1024, 17, 3, 2, 16, 13, MAX_HALF_OPEN, MAX_CONNECTIONS, MAX_TIME_WAIT, 1_000_000_000L);
        ConnectionManager cm = new ConnectionManager(options, new SplittableRandom(1));
        ConnectionParameters own = new ConnectionParameters(new byte[8], 1, 1, 7, 7);
        cm.listen(4420);
        List<Integer> ids = new ArrayList<>();
        int connects = 0;
        long now = 0;
        byte[] last = new byte[Mad.LENGTH];
        while (data.remainingBytes() > 0) {
            int id = ids.isEmpty() ? 0 : ids.get(data.consumeInt(0, ids.size() - 1));
            switch (data.consumeInt(0, 8)) {
                case 0 -> {
                    ids.add(cm.connect(new InetSocketAddress(peer, 4420), 2 + connects, 1, own, now));
                    connects++;
                }
                case 1 -> cm.accept(id, data.consumeInt(2, 20), 1, own, now);
                case 2 -> cm.confirm(id);
                case 3 -> cm.reject(id, 28, new byte[4]);
                case 4 -> cm.disconnect(id, now);
                case 5 -> cm.abandon(id, now);
                case 6 -> cm.onRcPacketReceived(data.consumeInt(2, 20));
                case 7 -> {
                    now += data.consumeInt(0, Integer.MAX_VALUE);
                    cm.onTimeout(now);
                }
                default -> {
                    // One of its own messages with some bytes changed, so that comm IDs fit now and then.
                    byte[] packet = new byte[GsiPacket.LENGTH];
                    MemorySegment m = MemorySegment.ofArray(packet);
                    GsiPacket.writeHeaders(m, 0, 0);
                    System.arraycopy(last, 0, packet, GsiPacket.MAD_OFFSET, Mad.LENGTH);
                    int changes = data.consumeInt(0, 40);
                    for (int i = 0; i < changes; i++) {
                        packet[data.consumeInt(0, packet.length - 1)] = data.consumeByte();
                    }
                    cm.onPacket(
                            m, 0, data.consumeBoolean() ? packet.length : data.consumeInt(0, packet.length), peer, now);
                }
            }
            for (CmTransmit t = cm.pollTransmit(); t != null; t = cm.pollTransmit()) {
                last = t.mad();
                assertThat(last).hasSize(Mad.LENGTH);
            }
            for (CmEvent e = cm.pollEvent(); e != null; e = cm.pollEvent()) {
                if (e instanceof CmEvent.RequestReceived) {
                    ids.add(e.connectionId());
                }
            }
            assertThat(cm.connectionCount()).isLessThanOrEqualTo(MAX_CONNECTIONS + MAX_TIME_WAIT + connects);
        }
    }
}
