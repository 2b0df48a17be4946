package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.WorkCompletionStatus.LOCAL_PROTECTION_ERROR;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;
import org.nvmf4j.verbs.VerbsException;

/** Registration of a dma-buf, for which any file stands in; or its refusal. */
interface DmaBufContract extends ContractSetup {
    /** A multiple of every page size. */
    int OFFSET = 1 << 16;

    int BYTES = 50_000;

    @Test
    default void aDmaBufIsSharedWithThePeerOrRefused(@TempDir Path folder) throws Exception {
        ProtectionDomain domain = fabric().target.domain;
        try (SharedFile file = new SharedFile(folder, OFFSET + BYTES)) {
            int fd = file.fd();
            if (!registersDmaBuf()) {
                assertOneLine(() -> domain.registerDmaBuf(fd, OFFSET, BYTES, Node.ALL), "dma-buf");
                return;
            }
            MemoryRegion region = domain.registerDmaBuf(fd, OFFSET, BYTES, Node.ALL);
            file.closeDescriptor();
            assertThat(region.isOnDemand()).isTrue();
            assertThat(region.lengthBytes()).isEqualTo(BYTES);
            RegisteredMemory remote = fabric().target.memory(region);
            RegisteredMemory local = fabric().host.memory(2L * BYTES);
            Link link = fabric().link();
            local.fill(0, BYTES, 5);
            link.host().write(local, 0, BYTES, remote, 0);
            fabric().awaitSentId(link.host(), link.host().read(local, BYTES, BYTES, remote, 0));
            assertThat(link.host().sent).extracting(Completed::status).containsOnly(SUCCESS);
            remote.assertFilled(0, BYTES, 5);
            local.assertFilled(BYTES, BYTES, 5);
            byte[] inFile = file.bytes();
            assertThat(Arrays.copyOfRange(inFile, OFFSET, OFFSET + BYTES))
                    .isEqualTo(local.segment().asSlice(0, BYTES).toArray(ValueLayout.JAVA_BYTE));
            assertThat(Arrays.copyOf(inFile, OFFSET)).containsOnly(0);
            assertThat(file.isMapped()).isTrue();
            MemorySegment memory = region.segment();
            region.close();
            assertThat(file.isMapped()).isFalse();
            assertThat(memory.scope().isAlive()).isFalse();
            region.close();
        }
    }

    @Test
    default void aDmaBufMayVanish(@TempDir Path folder) throws Exception {
        try (SharedFile file = new SharedFile(folder, OFFSET + BYTES)) {
            needsDmaBuf();
            RegisteredMemory local =
                    fabric().host.memory(fabric().host.domain.registerDmaBuf(file.fd(), OFFSET, BYTES, Node.ALL));
            RegisteredMemory remote = fabric().target.memory(BYTES);
            Link link = fabric().link();
            file.cutTo(OFFSET);
            long id = link.host().write(local, 0, BYTES, remote, 0);
            assertThat(fabric().awaitSentId(link.host(), id).status()).isEqualTo(LOCAL_PROTECTION_ERROR);
        }
    }

    @Test
    default void aDmaBufThatCannotBeRegisteredIsRefusedInOneLine(@TempDir Path folder) throws Exception {
        ProtectionDomain domain = fabric().host.domain;
        try (SharedFile file = new SharedFile(folder, 2 * OFFSET)) {
            needsDmaBuf();
            int fd = file.fd();
            assertOneLine(() -> domain.registerDmaBuf(Integer.MAX_VALUE, 0, OFFSET, Node.ALL), "EBADF");
            assertOneLine(() -> domain.registerDmaBuf(fd, OFFSET, OFFSET + 1, Node.ALL), "which holds " + 2 * OFFSET);
            assertOneLine(() -> domain.registerDmaBuf(fd, 4L * OFFSET, 1, Node.ALL), "which holds " + 2 * OFFSET);
            assertThatThrownBy(() -> domain.registerDmaBuf(fd, 100, OFFSET, Node.ALL))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("page size");
            assertThatThrownBy(() -> domain.registerDmaBuf(fd, 0, 0, Node.ALL))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> domain.registerDmaBuf(fd, 0, OFFSET, EnumSet.of(AccessFlag.REMOTE_WRITE)))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(file.isMapped()).isFalse();
        }
    }

    private void needsDmaBuf() {
        Assumptions.assumeTrue(registersDmaBuf(), "this provider, or the driver of this device, registers no dma-buf");
    }

    private static void assertOneLine(ThrowingCallable call, String part) {
        assertThatThrownBy(call)
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining(part)
                .message()
                .doesNotContain("\n");
    }
}
