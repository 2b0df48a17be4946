package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_LENGTH_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_QP_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_INVALID_REQUEST;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/** Registration, and the checks of lkeys and lengths on the side that posts. */
interface LocalAccessContract extends ContractSetup {
    int BYTES = 10_000;

    private void assertLocalError(Completed completed, WorkCompletionStatus status) {
        if (tellsLocalErrorsApart()) {
            assertThat(completed.status()).isEqualTo(status);
        } else {
            assertThat(completed.status()).isIn(status, LOCAL_QP_OPERATION_ERROR);
        }
    }

    private void assertRefusedHere(SendWorkRequest request, Link link) throws VerbsException {
        RegisteredMemory good = fabric().host.memory(64);
        RegisteredMemory room = fabric().target.memory(64);
        link.target().receive(room, 0, 64);
        link.host().send(good, 0, 64);
        link.host().post(request);
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent).hasSize(2);
        assertThat(link.host().sent.getFirst().status()).isEqualTo(SUCCESS);
        assertLocalError(link.host().sent.getLast(), LOCAL_PROTECTION_ERROR);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
        fabric().awaitReceived(link.target(), 1);
        assertThat(link.target().received.getFirst().status()).isEqualTo(SUCCESS);
    }

    private SendWorkRequest request(WorkOpcode opcode, RegisteredMemory local, long offset, int bytes, int lkey)
            throws VerbsException {
        RegisteredMemory remote = fabric().target.memory(BYTES);
        SendWorkRequest request = new SendWorkRequest(1);
        request.id(77);
        request.opcode(opcode);
        request.remote(remote.address(), remote.region().rkey());
        request.addSge(local.segment(), offset, bytes, lkey);
        return request;
    }

    @Test
    default void refusesToSendFromMemoryWithAWrongKey() throws Exception {
        RegisteredMemory local = fabric().host.memory(BYTES);
        int wrong = local.region().lkey() ^ 1;
        assertRefusedHere(request(WorkOpcode.SEND, local, 0, BYTES, wrong), fabric().link());
        assertRefusedHere(request(WorkOpcode.RDMA_WRITE, local, 0, BYTES, wrong), fabric().link());
        assertRefusedHere(request(WorkOpcode.RDMA_READ, local, 0, BYTES, wrong), fabric().link());
        local.assertFresh();
    }

    @Test
    default void refusesToSendMoreThanTheRegionHolds() throws Exception {
        RegisteredMemory local = fabric().host.memory(BYTES);
        int lkey = local.region().lkey();
        assertRefusedHere(request(WorkOpcode.SEND, local, 1, BYTES, lkey), fabric().link());
    }

    @Test
    default void refusesToReadToBeforeTheRegion() throws Exception {
        RegisteredMemory local = fabric().host.memory(BYTES);
        int lkey = local.region().lkey();
        assertRefusedHere(request(WorkOpcode.RDMA_READ, local, -1, BYTES, lkey), fabric().link());
    }

    @Test
    default void refusesALocalKeyOfAnotherProtectionDomain() throws Exception {
        ProtectionDomain other = fabric().host.device.allocateProtectionDomain();
        RegisteredMemory local = fabric().host.memory(other, BYTES, Node.ALL);
        assertRefusedHere(
                request(WorkOpcode.SEND, local, 0, BYTES, local.region().lkey()), fabric().link());
    }

    @Test
    default void refusesToReadIntoMemoryThatTheDeviceMayNotWrite() throws Exception {
        RegisteredMemory local = fabric().host.memory(BYTES, EnumSet.noneOf(AccessFlag.class));
        assertRefusedHere(
                request(WorkOpcode.RDMA_READ, local, 0, BYTES, local.region().lkey()), fabric().link());
        local.assertFresh();
    }

    @Test
    default void readingIsAllowedWithoutAnyRight() throws Exception {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(BYTES, EnumSet.noneOf(AccessFlag.class));
        RegisteredMemory remote = fabric().target.memory(BYTES);
        local.fill(0, BYTES, 4);
        Completed done = fabric().awaitSentId(link.host(), link.host().write(local, 0, BYTES, remote, 0));
        assertThat(done.status()).isEqualTo(SUCCESS);
        remote.assertFilled(0, BYTES, 4);
    }

    @Test
    default void aReceiveWithAWrongKeyFailsBothEnds() throws Exception {
        RegisteredMemory room = fabric().target.memory(BYTES);
        RegisteredMemory readOnly = fabric().target.memory(BYTES, EnumSet.noneOf(AccessFlag.class));
        assertReceiveFails(room, room.region().lkey() ^ 1);
        assertReceiveFails(readOnly, readOnly.region().lkey());
    }

    private void assertReceiveFails(RegisteredMemory room, int lkey) throws VerbsException {
        Link link = fabric().link();
        RegisteredMemory from = fabric().host.memory(BYTES);
        from.fill(0, BYTES, 1);
        ReceiveWorkRequest receive = new ReceiveWorkRequest(1);
        receive.addSge(room.segment(), 0, BYTES, lkey);
        link.target().queuePair.postReceive(receive);
        link.host().send(from, 0, BYTES);
        fabric().awaitReceived(link.target(), 1);
        fabric().awaitSent(link.host(), 1);
        assertLocalError(link.target().received.getFirst(), LOCAL_PROTECTION_ERROR);
        assertThat(link.host().sent.getFirst().status()).isEqualTo(REMOTE_OPERATION_ERROR);
        assertThat(link.target().state()).isEqualTo(QueuePairState.ERROR);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
        room.assertFresh();
    }

    @Test
    default void aMessageLongerThanItsReceiveFailsBothEnds() throws Exception {
        for (int size : new int[] {65, 5000, BYTES}) {
            Link link = fabric().link();
            RegisteredMemory from = fabric().host.memory(BYTES);
            RegisteredMemory room = fabric().target.memory(BYTES);
            long receive = link.target().receive(room, 0, 64);
            long next = link.target().receive(room, 0, 64);
            link.host().send(from, 0, size);
            fabric().awaitReceived(link.target(), 2);
            fabric().awaitSent(link.host(), 1);
            assertThat(link.target().received).extracting(Completed::id).containsExactly(receive, next);
            assertLocalError(link.target().received.getFirst(), LOCAL_LENGTH_ERROR);
            assertThat(link.target().received.getLast().status()).isEqualTo(WORK_REQUEST_FLUSHED);
            assertThat(link.host().sent.getFirst().status())
                    .isIn(
                            REMOTE_INVALID_REQUEST,
                            tellsLocalErrorsApart() ? REMOTE_INVALID_REQUEST : REMOTE_OPERATION_ERROR);
            assertThat(link.target().state()).isEqualTo(QueuePairState.ERROR);
            assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
            room.assertFresh(64, BYTES - 64);
        }
    }

    @Test
    default void registersOnlyNativeMemoryOfSomeSize() throws Exception {
        ProtectionDomain domain = fabric().host.domain;
        assertThatThrownBy(() -> domain.register(MemorySegment.ofArray(new byte[64]), Node.ALL))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> domain.register(Arena.ofAuto().allocate(0), Node.ALL))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> domain.register(Arena.ofAuto().allocate(64), EnumSet.of(AccessFlag.REMOTE_WRITE)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    default void regionsHaveDifferentKeysAndKnowTheirMemory() throws Exception {
        MemorySegment memory = Arena.ofAuto().allocate(8192);
        try (MemoryRegion one = fabric().host.domain.register(memory, Node.ALL);
                MemoryRegion two = fabric().host.domain.register(memory.asSlice(4096), Node.ALL)) {
            assertThat(one.lkey()).isNotEqualTo(two.lkey());
            assertThat(one.rkey()).isNotZero().isNotEqualTo(two.rkey());
            assertThat(one.address()).isEqualTo(memory.address());
            assertThat(two.address()).isEqualTo(memory.address() + 4096);
            assertThat(two.lengthBytes()).isEqualTo(4096);
        }
    }
}
