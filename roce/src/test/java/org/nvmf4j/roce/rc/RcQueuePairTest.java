package org.nvmf4j.roce.rc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.util.List;
import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** Two queue pairs wired to each other without a network between. */
class RcQueuePairTest {
    private static final int MTU = 256;

    private final RcEnd a = new RcEnd(0xA, RcTuning.DEFAULT);
    private final RcEnd b = new RcEnd(0xB, RcTuning.DEFAULT);

    RcQueuePairTest() {
        a.queuePair.connect(parameters(0xB, 0xFF_FFF0, 0x10));
        b.queuePair.connect(parameters(0xA, 0x10, 0xFF_FFF0));
    }

    private static RcParameters parameters(int remote, int sendPsn, int receivePsn) {
        return new RcParameters(remote, sendPsn, receivePsn, MTU, 4, 4, 7, 7, 1_000_000, 1);
    }

    private void exchange() {
        boolean idle = false;
        while (!idle) {
            List<Packet> fromA = a.transmit();
            fromA.forEach(b::receive);
            List<Packet> fromB = b.transmit();
            fromB.forEach(a::receive);
            idle = fromA.isEmpty() && fromB.isEmpty();
        }
    }

    /** Exchanges packets, and once more after acknowledgements that may wait have become due. */
    private void settle() {
        exchange();
        a.pass(50_000);
        b.pass(50_000);
        exchange();
    }

    @Test
    void carriesSendWriteAndReadAcrossThePsnWrap() {
        MemoryRegion source = a.pattern(10_000);
        MemoryRegion sink = b.region(10_000);
        MemoryRegion back = a.region(10_000);
        b.postReceive(7, sink, 0, 3000);
        a.queuePair.postSend(a.send(1, WorkOpcode.SEND, source, 0, 3000));
        SendWorkRequest write = a.send(2, WorkOpcode.RDMA_WRITE, source, 0, 9999);
        write.remote(sink.address(), sink.rkey());
        SendWorkRequest read = a.send(3, WorkOpcode.RDMA_READ, back, 0, 9999);
        read.remote(sink.address(), sink.rkey());
        write.next(read);
        settle();
        a.queuePair.postSend(write);
        settle();
        assertThat(RcEnd.read(back, 0, 9999)).isEqualTo(RcEnd.bytes(9999));
        assertThat(a.takeCompletions())
                .containsExactly(
                        new RcEnd.Completion(1, WorkCompletionStatus.SUCCESS, WorkOpcode.SEND, 0, 0),
                        new RcEnd.Completion(2, WorkCompletionStatus.SUCCESS, WorkOpcode.RDMA_WRITE, 0, 0),
                        new RcEnd.Completion(3, WorkCompletionStatus.SUCCESS, WorkOpcode.RDMA_READ, 9999, 0));
        assertThat(b.takeCompletions())
                .containsExactly(new RcEnd.Completion(7, WorkCompletionStatus.SUCCESS, WorkOpcode.RECEIVE, 3000, 0));
        assertThat(a.queuePair.statistics().retransmittedPackets()).isZero();
        assertThat(a.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
        assertThat(b.queuePair.nextDeadlineNanos()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void flushesEverythingOnErrorAndLaterPostsToo() {
        MemoryRegion region = a.region(100);
        a.postReceive(1, region, 0, 100);
        a.queuePair.postSend(a.send(2, WorkOpcode.SEND, region, 0, 100));
        a.queuePair.toError();
        a.postReceive(3, region, 0, 100);
        a.queuePair.postSend(a.send(4, WorkOpcode.RDMA_WRITE, region, 0, 100));
        assertThat(a.queuePair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(a.takeCompletions())
                .extracting(RcEnd.Completion::id, RcEnd.Completion::status, RcEnd.Completion::opcode)
                .containsExactly(
                        flushed(2, WorkOpcode.SEND),
                        flushed(1, WorkOpcode.RECEIVE),
                        flushed(3, WorkOpcode.RECEIVE),
                        flushed(4, WorkOpcode.RDMA_WRITE));
        assertThat(a.transmit()).isEmpty();
    }

    private static Tuple flushed(long id, WorkOpcode opcode) {
        return tuple(id, WorkCompletionStatus.WORK_REQUEST_FLUSHED, opcode);
    }
}
