package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Sending and receiving allocates nothing once compiled. In a class, and so a process, of its own for each implementation: what the compiler
 * can do away with depends on what else it has seen.
 */
@Timeout(120)
abstract class UdpAllocationContract extends UdpSocketFixture {
    @Test
    void allocatesNothingToSendAndReceive() throws IOException {
        TransmitQueue queue = newQueue(64, 256);
        ReceiveBatch batch = receiver.newReceiveBatch(arena, 16);
        UdpPeer peer = receiverPeer();
        UdpPeer source = UdpPeer.of(sender.localAddress());
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        // How many rounds the compiler takes to do away with temporary objects depends on the machine's load.
        while (least > 0) {
            pause("an exchange that allocates nothing; the best one allocated " + least + " bytes");
            long before = threads.getCurrentThreadAllocatedBytes();
            exchange(queue, batch, peer, source, 500);
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(least).as("bytes allocated by 500 exchanges").isZero();
    }

    private void exchange(TransmitQueue queue, ReceiveBatch batch, UdpPeer peer, UdpPeer source, int rounds)
            throws IOException {
        for (int i = 0; i < rounds; i++) {
            for (int n = 0; n < 4; n++) {
                queue.begin(peer, 12 + 1024);
                queue.append(memory, 0, 12);
                queue.append(memory, 4096, 1024);
            }
            queue.flush();
            queueDatagram(queue, peer, 0, 12 + 1024);
            queue.flush();
            long missing = 5 * (12 + 1024);
            while (missing > 0) {
                int filled = batch.receive();
                pause("an exchange");
                for (int slot = 0; slot < filled; slot++) {
                    if (batch.isFrom(source, slot) && batch.segmentBytes(slot) == 12 + 1024) {
                        missing -= batch.lengthBytes(slot);
                    }
                }
            }
        }
    }
}
