package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_ACCESS_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkOpcode;

/** SEND with invalidate. */
interface InvalidateContract extends ContractSetup {
    private static long sendWithInvalidate(Endpoint from, RegisteredMemory memory, int bytes, int rkey) {
        SendWorkRequest send = from.request(WorkOpcode.SEND_WITH_INVALIDATE, memory, 0, bytes);
        send.invalidateRkey(rkey);
        return from.post(send);
    }

    private void assumeInvalidates() {
        Assumptions.assumeTrue(invalidatesRegions(), "this provider's regions cannot be invalidated by a message");
    }

    @Test
    default void invalidatesAKeyAndSaysWhich() throws Exception {
        assumeInvalidates();
        for (int size : new int[] {0, 16, 10_000}) {
            Link link = fabric().link();
            RegisteredMemory from = fabric().target.memory(10_000);
            RegisteredMemory room = fabric().host.memory(10_000);
            RegisteredMemory exposed = fabric().host.memory(4096);
            int rkey = exposed.region().rkey();
            from.fill(0, size, size);
            link.host().receive(room, 0, 10_000);
            Completed sent = fabric().awaitSentId(link.target(), sendWithInvalidate(link.target(), from, size, rkey));
            fabric().awaitReceived(link.host(), 1);
            assertThat(sent.status()).isEqualTo(SUCCESS);
            assertThat(sent.opcode()).isEqualTo(WorkOpcode.SEND_WITH_INVALIDATE);
            Completed received = link.host().received.getFirst();
            assertThat(received.status()).isEqualTo(SUCCESS);
            assertThat(received.lengthBytes()).isEqualTo(size);
            assertThat(received.invalidatedRkey()).isEqualTo(rkey);
            assertThat(exposed.region().rkey()).isZero();
            room.assertFilled(0, size, size);
        }
    }

    @Test
    default void anInvalidatedKeyOpensNothingAnyMore() throws Exception {
        assumeInvalidates();
        Link link = fabric().link();
        RegisteredMemory from = fabric().target.memory(4096);
        RegisteredMemory room = fabric().host.memory(64);
        RegisteredMemory exposed = fabric().host.memory(4096);
        int rkey = exposed.region().rkey();
        link.host().receive(room, 0, 64);
        sendWithInvalidate(link.target(), from, 16, rkey);
        SendWorkRequest write = link.target().request(WorkOpcode.RDMA_WRITE, from, 0, 4096);
        write.remote(exposed.address(), rkey);
        link.target().post(write);
        fabric().awaitSent(link.target(), 2);
        assertThat(link.target().sent).extracting(Completed::status).containsExactly(SUCCESS, REMOTE_ACCESS_ERROR);
        exposed.assertFresh();
    }

    @Test
    default void aNewKeyOpensTheRegionAgain() throws Exception {
        assumeInvalidates();
        Link link = fabric().link();
        RegisteredMemory from = fabric().target.memory(4096);
        RegisteredMemory room = fabric().host.memory(64);
        RegisteredMemory exposed = fabric().host.memory(4096);
        from.fill(0, 4096, 1);
        for (int i = 0; i < 50; i++) {
            int rkey = exposed.region().rkey();
            assertThat(rkey).isNotZero();
            link.host().receive(room, 0, 64);
            exposed.clear();
            link.target().write(from, 0, 4096, exposed, 0);
            long last = sendWithInvalidate(link.target(), from, 16, rkey);
            assertThat(fabric().awaitSentId(link.target(), last).status()).isEqualTo(SUCCESS);
            fabric().awaitReceived(link.host(), i + 1);
            exposed.assertFilled(0, 4096, 1);
            assertThat(exposed.region().renewRkey()).isNotEqualTo(rkey);
        }
    }

    @Test
    default void aKeyThatNamesNothingFailsBothEnds() throws Exception {
        assumeInvalidates();
        RegisteredMemory exposed = fabric().host.memory(4096);
        assertCannotInvalidate(exposed.region().rkey() ^ 1);
        ProtectionDomain other = fabric().host.device.allocateProtectionDomain();
        RegisteredMemory foreign = fabric().host.memory(other, 4096, Node.ALL);
        assertCannotInvalidate(foreign.region().rkey());
        assertThat(foreign.region().rkey()).as("another domain's key").isNotZero();
        assertThat(exposed.region().rkey()).isNotZero();
    }

    private void assertCannotInvalidate(int rkey) throws VerbsException {
        Link link = fabric().link(Fabric.parameters(1, 7));
        RegisteredMemory from = fabric().target.memory(64);
        RegisteredMemory room = fabric().host.memory(64);
        link.host().receive(room, 0, 64);
        sendWithInvalidate(link.target(), from, 64, rkey);
        fabric().awaitSent(link.target(), 1);
        fabric().awaitReceived(link.host(), 1);
        // Devices differ in whether they answer: some leave the sender to its retries.
        assertThat(link.target().sent.getFirst().status()).isNotEqualTo(SUCCESS);
        assertThat(link.host().received.getFirst().status()).isNotEqualTo(SUCCESS);
        assertThat(link.target().state()).isEqualTo(QueuePairState.ERROR);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
    }
}
