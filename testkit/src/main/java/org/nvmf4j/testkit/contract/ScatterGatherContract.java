package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkOpcode;
import org.nvmf4j.verbs.WorkRequest;

/** Scatter/gather lists, and what goes inline. */
interface ScatterGatherContract extends ContractSetup {
    /** Pieces of a message on the one side and on the other; their sums are equal. */
    List<Integer> OUT = List.of(1, 0, 4095, 100, 5000, 3, 7000);

    List<Integer> IN = List.of(4096, 1, 2, 0, 10_000, 2000, 100);

    /** Fills a request's list with pieces that lie in reverse order from the end, one byte apart. */
    private static void addPieces(WorkRequest request, RegisteredMemory memory, List<Integer> pieces) {
        long end = memory.region().lengthBytes();
        for (int piece : pieces) {
            end -= piece + 1;
            request.addSge(memory.segment(), end, piece, memory.region().lkey());
        }
    }

    private static void assertGapsFresh(RegisteredMemory memory, List<Integer> pieces) {
        long end = memory.region().lengthBytes();
        for (int piece : pieces) {
            memory.assertFresh(end - 1, 1);
            end -= piece + 1;
        }
        memory.assertFresh(0, end);
    }

    private static int sum(List<Integer> pieces) {
        int sum = 0;
        for (int piece : pieces) {
            sum += piece;
        }
        return sum;
    }

    /** Writes a contiguous pattern to the pieces' places. */
    private static void fillPieces(RegisteredMemory memory, RegisteredMemory whole, List<Integer> pieces) {
        copyPieces(whole, memory, pieces, true);
    }

    private static void collectPieces(RegisteredMemory memory, RegisteredMemory whole, List<Integer> pieces) {
        copyPieces(whole, memory, pieces, false);
    }

    private static void copyPieces(
            RegisteredMemory whole, RegisteredMemory memory, List<Integer> pieces, boolean toPieces) {
        long end = memory.region().lengthBytes();
        long at = 0;
        for (int piece : pieces) {
            end -= piece + 1;
            if (toPieces) {
                memory.segment().asSlice(end, piece).copyFrom(whole.segment().asSlice(at, piece));
            } else {
                whole.segment().asSlice(at, piece).copyFrom(memory.segment().asSlice(end, piece));
            }
            at += piece;
        }
    }

    @Test
    default void gathersAndScattersAMessage() throws Exception {
        int total = sum(OUT);
        assertThat(sum(IN)).isEqualTo(total);
        Link link = fabric().link();
        RegisteredMemory whole = fabric().host.memory(total);
        RegisteredMemory out = fabric().host.memory(total + 64);
        RegisteredMemory in = fabric().target.memory(total + 64);
        whole.fill(0, total, 1);
        fillPieces(out, whole, OUT);
        ReceiveWorkRequest receive = new ReceiveWorkRequest(Endpoint.MAX_SGE);
        addPieces(receive, in, IN);
        link.target().queuePair.postReceive(receive);
        SendWorkRequest send = new SendWorkRequest(Endpoint.MAX_SGE);
        addPieces(send, out, OUT);
        link.host().post(send);
        fabric().awaitReceived(link.target(), 1);
        assertThat(link.target().received.getFirst().lengthBytes()).isEqualTo(total);
        whole.clear();
        collectPieces(in, whole, IN);
        whole.assertFilled(0, total, 1);
        assertGapsFresh(in, IN);
    }

    @Test
    default void gathersAWriteAndScattersARead() throws Exception {
        int total = sum(OUT);
        Link link = fabric().link();
        RegisteredMemory whole = fabric().host.memory(total);
        RegisteredMemory local = fabric().host.memory(total + 64);
        RegisteredMemory remote = fabric().target.memory(total);
        whole.fill(0, total, 1);
        fillPieces(local, whole, OUT);
        SendWorkRequest write = new SendWorkRequest(Endpoint.MAX_SGE);
        write.opcode(WorkOpcode.RDMA_WRITE);
        write.remote(remote.address(), remote.region().rkey());
        addPieces(write, local, OUT);
        link.host().post(write);
        fabric().awaitSent(link.host(), 1);
        assertThat(link.host().sent.getLast().status()).isEqualTo(SUCCESS);
        remote.assertFilled(0, total, 1);

        local.clear();
        SendWorkRequest read = new SendWorkRequest(Endpoint.MAX_SGE);
        read.opcode(WorkOpcode.RDMA_READ);
        read.remote(remote.address(), remote.region().rkey());
        addPieces(read, local, IN);
        link.host().post(read);
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent.getLast().status()).isEqualTo(SUCCESS);
        assertThat(link.host().sent.getLast().lengthBytes()).isEqualTo(total);
        whole.clear();
        collectPieces(local, whole, IN);
        whole.assertFilled(0, total, 1);
        assertGapsFresh(local, IN);
    }

    @Test
    default void requestsWithoutDataNeedNoList() throws Exception {
        Link link = fabric().link();
        link.target().queuePair.postReceive(new ReceiveWorkRequest(0));
        link.host().post(new SendWorkRequest(0));
        fabric().awaitReceived(link.target(), 1);
        fabric().awaitSent(link.host(), 1);
        assertThat(link.target().received.getFirst().status()).isEqualTo(SUCCESS);
        assertThat(link.target().received.getFirst().lengthBytes()).isZero();
    }

    @Test
    default void remoteAccessOfNoBytesNeedsNoKey() throws Exception {
        Link link = fabric().link();
        for (WorkOpcode opcode : new WorkOpcode[] {WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ}) {
            SendWorkRequest request = new SendWorkRequest(0);
            request.opcode(opcode);
            request.remote(0x1234, 0xdead);
            link.host().post(request);
        }
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
    }

    @Test
    default void aBufferPostedInlineIsFreeAtOnceAndNeedsNoKey() throws Exception {
        Link link = fabric().link();
        int inline = link.host().inlineBytes();
        if (inline == 0) {
            return; // this device grants none: everything goes by reference
        }
        RegisteredMemory from = fabric().host.memory(inline);
        RegisteredMemory to = fabric().target.memory(2L * inline);
        from.fill(0, inline, 1);
        link.target().receive(to, 0, inline);
        SendWorkRequest send = new SendWorkRequest(2);
        send.addSge(from.segment(), 0, inline / 2, 0xdead);
        send.addSge(from.segment(), inline / 2, inline - inline / 2, 0xbeef);
        SendWorkRequest write = new SendWorkRequest(1);
        write.opcode(WorkOpcode.RDMA_WRITE);
        write.remote(to.address() + inline, to.region().rkey());
        write.addSge(from.segment(), 0, inline, 0xdead);
        send.next(write);
        link.host().post(send);
        from.clear();
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
        to.assertFilled(0, inline, 1);
        to.assertFilled(inline, inline, 1);
    }

    @Test
    default void aWorkRequestMayBeChangedWhenItIsPosted() throws Exception {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(3 * 5000);
        RegisteredMemory to = fabric().target.memory(3 * 5000);
        SendWorkRequest send = new SendWorkRequest(1);
        ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
        for (int i = 0; i < 3; i++) {
            from.fill(i * 5000L, 5000, i);
            receive.id(100 + i);
            receive.setSge(to.region(), i * 5000L, 5000);
            link.target().queuePair.postReceive(receive);
            send.id(200 + i);
            send.setSge(from.region(), i * 5000L, 5000);
            link.host().post(send);
        }
        fabric().awaitReceived(link.target(), 3);
        fabric().awaitSent(link.host(), 3);
        assertThat(link.target().received).extracting(Completed::id).containsExactly(100L, 101L, 102L);
        assertThat(link.host().sent).extracting(Completed::id).containsExactly(200L, 201L, 202L);
        for (int i = 0; i < 3; i++) {
            to.assertFilled(i * 5000L, 5000, i);
        }
    }
}
