package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** Nothing is allocated once two queue pairs are connected: not for a packet, not for an operation, not for a loss. */
class AllocationTest {
    private static final int MTU = 1024;
    private static final int ROUNDS = 20_000;

    private final Side a = new Side(0xA);
    private final Side b = new Side(0xB);
    private final MemoryRegion aMemory = a.region;
    private final MemoryRegion bMemory = b.region;
    private final SendWorkRequest read = new SendWorkRequest(4);
    private final SendWorkRequest write = new SendWorkRequest(4);
    private final SendWorkRequest send = new SendWorkRequest(4);
    private final SendWorkRequest inline = new SendWorkRequest(4);
    private final ReceiveWorkRequest receive = new ReceiveWorkRequest(4);
    private long now;
    private int packets;

    /** A queue pair whose completions are only counted. */
    private static final class Side implements CompletionSink {
        final RcEnd memory;
        final RcQueuePair queuePair;
        final MemoryRegion region;
        final BatchSink sink;
        long completions;
        long failures;

        Side(int number) {
            memory = new RcEnd(number, RcTuning.DEFAULT);
            region = memory.pattern(1 << 16);
            sink = memory.sink;
            queuePair = new RcQueuePair(
                    number,
                    new RcSizes(64, 64, 4, 64),
                    RcTuning.DEFAULT,
                    memory.domain,
                    memory.table,
                    this,
                    memory.arena.allocate(64 * 64));
        }

        @Override
        public void complete(long id, WorkCompletionStatus status, WorkOpcode opcode, int length, int rkey) {
            completions++;
            failures += status == WorkCompletionStatus.SUCCESS ? 0 : 1;
        }
    }

    AllocationTest() {
        a.queuePair.connect(new RcParameters(0xB, 1, 2, MTU, 4, 4, 7, 7, 1_000_000, 1));
        b.queuePair.connect(new RcParameters(0xA, 2, 1, MTU, 4, 4, 7, 7, 1_000_000, 1));
        read.opcode(WorkOpcode.RDMA_READ);
        read.setSge(aMemory, 0, 3 * MTU + 1);
        read.remote(bMemory.address(), bMemory.rkey());
        write.opcode(WorkOpcode.RDMA_WRITE);
        write.addSge(aMemory.segment(), 0, MTU + 5, aMemory.lkey());
        write.addSge(aMemory.segment(), 9000, 2 * MTU, aMemory.lkey());
        write.remote(bMemory.address(), bMemory.rkey());
        write.next(send);
        send.setSge(aMemory, 0, 200);
        send.next(inline);
        inline.setSge(aMemory, 0, 64);
        InlineMark.set(inline, true);
        receive.setSge(bMemory, 8192, 256);
    }

    private void pass(Side from, Side to) {
        from.queuePair.onTimeout(now);
        boolean more = true;
        while (more) {
            more = from.queuePair.pollTransmit(from.sink, now);
            for (int i = 0; i < from.sink.count(); i++) {
                if (++packets % 101 != 0) { // the others are lost
                    to.queuePair.onPacket(from.sink.buffer(), from.sink.offset(i), from.sink.length(i), now);
                }
            }
            from.sink.clear();
        }
    }

    private void round() {
        b.queuePair.postReceive(receive);
        a.queuePair.postSend(write);
        a.queuePair.postSend(read);
        long done = a.completions + 4;
        long rnrNaks = b.queuePair.statistics().rnrNaksSent();
        boolean posted = false;
        while (a.completions < done) {
            now += 100_000;
            pass(a, b);
            pass(b, a);
            if (!posted && b.queuePair.statistics().rnrNaksSent() > rnrNaks) {
                posted = true;
                b.queuePair.postReceive(receive); // the second receive comes late
            }
        }
    }

    @Test
    void allocatesNothingPerPacketOrOperation() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (int i = 0; i < ROUNDS; i++) {
            round();
        }
        long sentBefore = a.queuePair.statistics().packetsSent()
                + b.queuePair.statistics().packetsSent();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < ROUNDS; i++) {
            round();
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        long sent = a.queuePair.statistics().packetsSent()
                + b.queuePair.statistics().packetsSent()
                - sentBefore;
        assertThat(sent).isGreaterThan(10L * ROUNDS);
        assertThat(a.queuePair.state()).isEqualTo(QueuePairState.READY_TO_SEND);
        assertThat(a.failures + b.failures).isZero();
        assertThat(b.completions).isEqualTo(4L * ROUNDS);
        assertThat(a.queuePair.statistics().retransmittedPackets()).isPositive();
        assertThat(a.queuePair.statistics().rnrNaksReceived()).isPositive();
        assertThat(allocated).as("bytes allocated for %s packets", sent).isLessThan(sent / 100);
    }
}
