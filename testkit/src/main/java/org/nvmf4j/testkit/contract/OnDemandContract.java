package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.REMOTE_OPERATION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;
import static org.nvmf4j.verbs.WorkCompletionStatus.WORK_REQUEST_FLUSHED;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.WorkOpcode;

/**
 * Memory that is taken away while it is registered costs the queue pairs that use it, and nothing else. A device that pins it goes on with
 * what it has pinned; only what goes inline is taken by the CPU.
 */
interface OnDemandContract extends ContractSetup {
    EnumSet<AccessFlag> ON_DEMAND = EnumSet.allOf(AccessFlag.class);
    /** More than one packet at every path MTU, and more than a page. */
    int BYTES = 20_000;
    /** What a device may take inline, what it may not, and what takes several packets. */
    List<Integer> SIZES = List.of(48, 3000, BYTES);

    private RegisteredMemory memory(Node node, SharedFile file) throws IOException {
        try {
            return node.memory(node.domain.register(file.map(), ON_DEMAND));
        } catch (VerbsException e) {
            String why = String.valueOf(e.getMessage());
            Assumptions.assumeFalse(pinsMemory() && why.contains("cannot pin"), why);
            throw e;
        }
    }

    private void assertGoesOn(Link link) throws VerbsException {
        RegisteredMemory from = fabric().host.memory(BYTES);
        RegisteredMemory to = fabric().target.memory(BYTES);
        from.fill(0, BYTES, 9);
        link.target().receive(to, 0, BYTES);
        link.host().send(from, 0, BYTES);
        fabric().awaitSent(link.host(), 1);
        fabric().awaitReceived(link.target(), 1);
        assertThat(link.host().sent.getFirst().status()).isEqualTo(SUCCESS);
        assertThat(link.target().received.getFirst().status()).isEqualTo(SUCCESS);
        to.assertFilled(0, BYTES, 9);
    }

    @Test
    default void memoryThatMayVanishServesAsOtherMemory(@TempDir Path folder) throws Exception {
        Link link = fabric().link();
        try (SharedFile ours = new SharedFile(folder, 4 * BYTES);
                SharedFile theirs = new SharedFile(folder, 4 * BYTES)) {
            RegisteredMemory local = memory(fabric().host, ours);
            RegisteredMemory remote = memory(fabric().target, theirs);
            assertThat(local.region().isOnDemand()).isTrue();
            for (int bytes : SIZES) {
                local.fill(0, bytes, bytes);
                link.target().receive(remote, BYTES, BYTES);
                link.host().write(local, 0, bytes, remote, 0);
                link.host().send(local, 0, bytes);
                fabric().awaitSentId(link.host(), link.host().read(local, 2L * BYTES, bytes, remote, 0));
                remote.assertFilled(0, bytes, bytes);
                remote.assertFilled(BYTES, bytes, bytes);
                local.assertFilled(2L * BYTES, bytes, bytes);
            }
            assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
            assertThat(link.target().received).extracting(Completed::status).containsOnly(SUCCESS);
        }
    }

    private void assertFailsHere(WorkOpcode opcode, Path folder) throws Exception {
        for (int bytes : SIZES) {
            for (int left : new int[] {0, bytes == BYTES ? 8192 : 0}) {
                try (SharedFile file = new SharedFile(folder, BYTES)) {
                    RegisteredMemory local = memory(fabric().host, file);
                    RegisteredMemory remote = fabric().target.memory(BYTES);
                    RegisteredMemory good = fabric().host.memory(64);
                    RegisteredMemory room = fabric().target.memory(3L * BYTES);
                    Link link = fabric().link();
                    Link other = fabric().link();
                    link.host().write(local, 0, bytes, remote, 0);
                    fabric().awaitSent(link.host(), 1);
                    file.cutTo(left);
                    for (long at = 0; at < 3 * BYTES; at += BYTES) {
                        link.target().receive(room, at, BYTES);
                    }
                    link.host().send(good, 0, 64);
                    SendWorkRequest request = link.host().request(opcode, local, 0, bytes);
                    request.remote(remote.address(), remote.region().rkey());
                    link.host().post(request);
                    link.host().send(good, 0, 64);
                    fabric().awaitSent(link.host(), 4);
                    if (pinsMemory() && !request.inline()) {
                        fabric().awaitReceived(link.target(), opcode == WorkOpcode.SEND ? 3 : 2);
                        assertServed(link);
                        continue;
                    }
                    assertThat(link.host().sent)
                            .as("%s of %d bytes with %d left", opcode, bytes, left)
                            .extracting(Completed::status)
                            .containsExactly(SUCCESS, SUCCESS, LOCAL_PROTECTION_ERROR, WORK_REQUEST_FLUSHED);
                    assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
                    fabric().idle();
                    // What was posted behind a READ may have been executed before that ended.
                    assertThat(link.target().received)
                            .hasSizeBetween(1, opcode == WorkOpcode.RDMA_READ ? 2 : 1)
                            .allMatch(c -> c.status() == SUCCESS && c.lengthBytes() == 64);
                    assertGoesOn(other);
                    link.host().close();
                    link.target().close();
                }
            }
        }
    }

    private void assertServed(Link link) throws VerbsException {
        assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
        assertThat(link.target().received).allMatch(completed -> completed.status() == SUCCESS);
        assertThat(link.host().state()).isEqualTo(QueuePairState.READY_TO_SEND);
        link.host().close();
        link.target().close();
    }

    @Test
    default void aSendFromMemoryThatIsGoneFails(@TempDir Path folder) throws Exception {
        assertFailsHere(WorkOpcode.SEND, folder);
    }

    @Test
    default void anRdmaWriteFromMemoryThatIsGoneFails(@TempDir Path folder) throws Exception {
        assertFailsHere(WorkOpcode.RDMA_WRITE, folder);
    }

    @Test
    default void anRdmaReadIntoMemoryThatIsGoneFails(@TempDir Path folder) throws Exception {
        assertFailsHere(WorkOpcode.RDMA_READ, folder);
    }

    @Test
    default void aReceiveIntoMemoryThatIsGoneFailsBothEnds(@TempDir Path folder) throws Exception {
        for (int bytes : SIZES) {
            try (SharedFile file = new SharedFile(folder, BYTES)) {
                RegisteredMemory room = memory(fabric().target, file);
                RegisteredMemory from = fabric().host.memory(BYTES);
                Link link = fabric().link();
                Link other = fabric().link();
                file.cutTo(bytes == BYTES ? 4096 : 0);
                link.target().receive(room, 0, BYTES);
                link.target().receive(room, 0, BYTES);
                link.host().send(from, 0, bytes);
                link.host().send(from, 0, bytes);
                if (pinsMemory()) {
                    fabric().awaitSent(link.host(), 2);
                    fabric().awaitReceived(link.target(), 2);
                    assertServed(link);
                    continue;
                }
                assertBothFail(link);
                fabric().awaitReceived(link.target(), 2);
                assertThat(link.target().received)
                        .extracting(Completed::status)
                        .containsExactly(LOCAL_PROTECTION_ERROR, WORK_REQUEST_FLUSHED);
                assertGoesOn(other);
            }
        }
    }

    private void assertBothFail(Link link) throws VerbsException {
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent)
                .extracting(Completed::status)
                .containsExactly(REMOTE_OPERATION_ERROR, WORK_REQUEST_FLUSHED);
        fabric().await("the peer's error", () -> link.target().state() == QueuePairState.ERROR);
        assertThat(link.host().state()).isEqualTo(QueuePairState.ERROR);
    }

    @Test
    default void aPeerIsRefusedMemoryThatIsGone(@TempDir Path folder) throws Exception {
        for (int bytes : SIZES) {
            for (boolean write : new boolean[] {true, false}) {
                try (SharedFile file = new SharedFile(folder, BYTES)) {
                    RegisteredMemory remote = memory(fabric().target, file);
                    RegisteredMemory local = fabric().host.memory(BYTES);
                    Link link = fabric().link();
                    Link other = fabric().link();
                    file.cutTo(bytes == BYTES ? 4096 : 0);
                    if (write) {
                        link.host().write(local, 0, bytes, remote, 0);
                    } else {
                        link.host().read(local, 0, bytes, remote, 0);
                    }
                    if (pinsMemory()) {
                        fabric().awaitSent(link.host(), 1);
                        assertServed(link);
                        continue;
                    }
                    link.host().send(local, 0, 64);
                    assertBothFail(link);
                    assertGoesOn(other);
                }
            }
        }
    }

    /** The packets may be about to leave, on their way, or about to be sent again. */
    @Test
    default void memoryMayGoAtAnyTime(@TempDir Path folder) throws Exception {
        for (int turns = 0; turns < 24; turns++) {
            try (SharedFile file = new SharedFile(folder, 200_000)) {
                RegisteredMemory local = memory(fabric().host, file);
                RegisteredMemory remote = fabric().target.memory(200_000);
                Link link = fabric().link();
                link.target().receive(remote, 100_000, 100_000);
                link.host().write(local, 0, 100_000, remote, 0);
                link.host().read(local, 100_000, 100_000, remote, 0);
                link.host().send(local, 0, 100_000);
                for (int i = 0; i < turns; i++) {
                    (i % 2 == 0 ? fabric().host : fabric().target).progress();
                }
                file.cutTo(0);
                fabric().awaitSent(link.host(), 3);
                List<WorkCompletionStatus> ends =
                        link.host().sent.stream().map(Completed::status).toList();
                int done = (int) ends.stream().filter(SUCCESS::equals).count();
                assertThat(ends.subList(0, done)).allMatch(SUCCESS::equals);
                if (done < 3) {
                    assertThat(ends.get(done)).isEqualTo(LOCAL_PROTECTION_ERROR);
                    assertThat(ends.subList(done + 1, 3)).allMatch(WORK_REQUEST_FLUSHED::equals);
                }
                link.host().close();
                link.target().close();
            }
        }
    }
}
