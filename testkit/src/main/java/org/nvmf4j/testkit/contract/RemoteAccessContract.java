package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_ACCESS_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import java.util.EnumSet;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** Every RDMA WRITE and READ that is not allowed fails, touches nothing, and ends that connection alone. */
interface RemoteAccessContract extends ContractSetup {
    /** More than one packet at every path MTU. */
    int BYTES = 10_000;

    private void assertRefused(WorkOpcode opcode, RegisteredMemory victim, long address, int rkey)
            throws VerbsException {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(BYTES);
        RegisteredMemory room = fabric().target.memory(64);
        long receive = link.target().receive(room, 0, 64);
        SendWorkRequest request = link.host().request(opcode, local, 0, BYTES);
        request.remote(address, rkey);
        SendWorkRequest behind = link.host().request(WorkOpcode.SEND, local, 0, 64);
        request.next(behind);
        link.host().post(request);
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent)
                .as("%s to %x with key %x", opcode, address, rkey)
                .extracting(Completed::status)
                .containsExactly(REMOTE_ACCESS_ERROR, WORK_REQUEST_FLUSHED);
        fabric().await("the peer's error", () -> link.target().state() == QueuePairState.ERROR);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
        fabric().awaitReceived(link.target(), 1);
        assertThat(link.target().received).hasSize(1);
        assertThat(link.target().received.getFirst().id()).isEqualTo(receive);
        assertThat(link.target().received.getFirst().status()).isEqualTo(WORK_REQUEST_FLUSHED);
        victim.assertFresh();
        room.assertFresh();
        local.assertFresh();
        link.host().close();
        link.target().close();
    }

    private void assertBothRefused(RegisteredMemory victim, long address, int rkey) throws VerbsException {
        assertRefused(WorkOpcode.RDMA_WRITE, victim, address, rkey);
        assertRefused(WorkOpcode.RDMA_READ, victim, address, rkey);
    }

    @Test
    default void refusesARkeyThatNamesNothing() throws Exception {
        RegisteredMemory victim = fabric().target.memory(BYTES);
        assertBothRefused(victim, victim.address(), victim.region().rkey() ^ 1);
        assertBothRefused(victim, victim.address(), victim.region().rkey() ^ 0x4000_0000);
        assertBothRefused(victim, victim.address(), 0);
    }

    @Test
    default void refusesALocalKey() throws Exception {
        RegisteredMemory local = fabric().target.memory(BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE));
        assertThat(local.region().rkey()).isZero();
        assertBothRefused(local, local.address(), local.region().lkey());
    }

    @Test
    default void refusesAKeyOfAnotherProtectionDomain() throws Exception {
        ProtectionDomain other = fabric().target.device.allocateProtectionDomain();
        RegisteredMemory victim = fabric().target.memory(other, BYTES, Node.ALL);
        assertBothRefused(victim, victim.address(), victim.region().rkey());
    }

    @Test
    default void refusesEveryAddressOutsideTheRegion() throws Exception {
        RegisteredMemory victim = fabric().target.memory(BYTES);
        int rkey = victim.region().rkey();
        assertBothRefused(victim, victim.address() + 1, rkey);
        assertBothRefused(victim, victim.address() - 1, rkey);
        assertBothRefused(victim, victim.address() + BYTES, rkey);
        assertBothRefused(victim, victim.address() - BYTES, rkey);
        assertBothRefused(victim, 0, rkey);
    }

    @Test
    default void refusesRangesThatWrap() throws Exception {
        RegisteredMemory victim = fabric().target.memory(BYTES);
        int rkey = victim.region().rkey();
        assertBothRefused(victim, -1, rkey);
        assertBothRefused(victim, -BYTES, rkey);
        assertBothRefused(victim, Long.MAX_VALUE, rkey);
        assertBothRefused(victim, Long.MIN_VALUE, rkey);
        assertBothRefused(victim, victim.address() + Long.MIN_VALUE, rkey);
    }

    @Test
    default void refusesARightThatWasNotGranted() throws Exception {
        RegisteredMemory readable =
                fabric().target.memory(BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ));
        assertRefused(
                WorkOpcode.RDMA_WRITE,
                readable,
                readable.address(),
                readable.region().rkey());
        RegisteredMemory writable =
                fabric().target.memory(BYTES, EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        assertRefused(
                WorkOpcode.RDMA_READ,
                writable,
                writable.address(),
                writable.region().rkey());
    }

    @Test
    default void refusesTheKeyOfAClosedRegion() throws Exception {
        RegisteredMemory victim = fabric().target.memory(BYTES);
        int rkey = victim.region().rkey();
        victim.close();
        assertBothRefused(victim, victim.address(), rkey);
    }

    @Test
    default void refusesAKeyThatWasReplaced() throws Exception {
        RegisteredMemory victim = fabric().target.memory(BYTES);
        int old = victim.region().rkey();
        int fresh = victim.region().renewRkey();
        assertThat(fresh).isNotEqualTo(old).isEqualTo(victim.region().rkey());
        assertBothRefused(victim, victim.address(), old);
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(BYTES);
        local.fill(0, BYTES, 1);
        Completed done = fabric().awaitSentId(link.host(), link.host().write(local, 0, BYTES, victim, 0));
        assertThat(done.status()).isEqualTo(SUCCESS);
        victim.assertFilled(0, BYTES, 1);
    }

    @Test
    default void requestsBeforeARefusedOneAreDone() throws Exception {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(BYTES);
        RegisteredMemory remote = fabric().target.memory(BYTES);
        RegisteredMemory room = fabric().target.memory(BYTES);
        local.fill(0, BYTES, 3);
        link.target().receive(room, 0, BYTES);
        link.host().write(local, 0, BYTES, remote, 0);
        link.host().send(local, 0, BYTES);
        link.host().write(local, 0, BYTES, remote, 1);
        link.host().send(local, 0, BYTES);
        fabric().awaitSent(link.host(), 4);
        assertThat(link.host().sent)
                .extracting(Completed::status)
                .containsExactly(SUCCESS, SUCCESS, REMOTE_ACCESS_ERROR, WORK_REQUEST_FLUSHED);
        fabric().awaitReceived(link.target(), 1);
        assertThat(link.target().received.getFirst().status()).isEqualTo(SUCCESS);
        remote.assertFilled(0, BYTES, 3);
        room.assertFilled(0, BYTES, 3);
    }

    @Test
    default void otherConnectionsDoNotSuffer() throws Exception {
        Link bystander = fabric().link();
        RegisteredMemory victim = fabric().target.memory(BYTES);
        assertBothRefused(victim, victim.address() + 1, victim.region().rkey());
        RegisteredMemory local = fabric().host.memory(BYTES);
        local.fill(0, BYTES, 9);
        Completed done = fabric().awaitSentId(bystander.host(), bystander.host().write(local, 0, BYTES, victim, 0));
        assertThat(done.status()).isEqualTo(SUCCESS);
        victim.assertFilled(0, BYTES, 9);
    }
}
