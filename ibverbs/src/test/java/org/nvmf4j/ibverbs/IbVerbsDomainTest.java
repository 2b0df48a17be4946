package org.nvmf4j.ibverbs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nvmf4j.ibverbs.FakeRdma.Call;
import org.nvmf4j.ibverbs.RdmaCore.Function;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.VerbsException;

/** Registration of memory that may vanish and of dma-bufs, on a device that is played. What real ones do is in {@link RdmaContractTest}. */
class IbVerbsDomainTest {
    private static final EnumSet<AccessFlag> MAY_VANISH = EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND);
    private static final int BYTES = 1 << 16;

    @TempDir
    Path folder;

    private final FakeRdma fake = new FakeRdma();
    private FakeEndpoint endpoint;

    @BeforeEach
    void open() throws Exception {
        endpoint = new FakeEndpoint(fake);
    }

    @AfterEach
    void close() {
        endpoint.close();
        fake.close();
    }

    private Path file() throws IOException {
        return Files.write(folder.resolve("memory"), new byte[BYTES]);
    }

    private static MemorySegment map(Path file) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            return open.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, BYTES, Arena.ofAuto());
        }
    }

    @ParameterizedTest
    @CsvSource({"14, EFAULT", "121, EREMOTEIO", "95, EOPNOTSUPP"})
    void memoryThatCannotBePinnedIsRefusedWithTheRemedy(int errno, String name) {
        fake.failures.put(Function.IBV_REG_MR, errno);
        assertThatThrownBy(() -> endpoint.domain.register(Arena.ofAuto().allocate(64), MAY_VANISH))
                .isInstanceOf(VerbsException.class)
                .hasMessageContainingAll("cannot pin", FakeRdma.NAME, name, "dma-buf", "system memory")
                .hasMessageNotContaining("\n");
    }

    @Test
    void memoryThatMayVanishIsRegisteredAsOtherMemory() throws Exception {
        MemorySegment memory = Arena.ofAuto().allocate(64);
        try (MemoryRegion region = endpoint.domain.register(memory, MAY_VANISH)) {
            assertThat(region.isOnDemand()).isTrue();
            Call call = fake.callsOf(Function.IBV_REG_MR).getFirst();
            assertThat(call.b()).isEqualTo(memory.address());
            assertThat(call.d()).as("rights").isEqualTo(1);
        }
        assertThat(fake.callsOf(Function.IBV_DEREG_MR)).hasSize(1);
    }

    private SendWorkRequest send(MemoryRegion region, long id) {
        SendWorkRequest request = endpoint.send(id);
        request.setSge(region, 0, 16);
        return request;
    }

    @Test
    void inlineDataThatVanishedFailsItsRequestAndNotTheProcess() throws Exception {
        Path file = file();
        MemoryRegion gone = endpoint.domain.register(map(file), MAY_VANISH);
        MemoryRegion other = endpoint.domain.register(Arena.ofAuto().allocate(64), Set.of());
        gone.segment().setString(0, "still there");
        other.segment().setString(0, "elsewhere");
        endpoint.connected();
        SendWorkRequest both = endpoint.send(1);
        both.setSge(gone, 0, 11);
        both.addSge(other.segment(), 0, 9, other.lkey());
        both.signaled(false);
        endpoint.pair.postSend(both);
        assertThat(both.inline()).isTrue();
        assertThat(new String(fake.posted.getFirst(), UTF_8)).isEqualTo("still thereelsewhere");
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(0);
        }
        SendWorkRequest last = send(gone, 2);
        last.next(send(other, 3));
        endpoint.pair.postSend(last);
        endpoint.await(() -> endpoint.events.size() == 3);
        assertThat(endpoint.events)
                .containsExactly("established", "SEND 2 LOCAL_PROTECTION_ERROR", "SEND 3 WORK_REQUEST_FLUSHED");
        assertThat(endpoint.pair.state()).isEqualTo(QueuePairState.ERROR);
        assertThat(fake.posted).hasSize(1);
    }

    private static int descriptorOf(Path file) throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            Path real = file.toRealPath();
            return open.filter(fd -> {
                        try {
                            return Files.readSymbolicLink(fd).equals(real);
                        } catch (IOException e) {
                            return false; // closed meanwhile
                        }
                    })
                    .mapToInt(fd -> Integer.parseInt(fd.getFileName().toString()))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void aDmaBufIsRegisteredUnderTheAddressesThatTheCpuHasItAt() throws Exception {
        Path file = file();
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            int fd = descriptorOf(file);
            MemoryRegion region = endpoint.domain.registerDmaBuf(fd, 4096, 8192, MAY_VANISH);
            Call call = fake.callsOf(Function.IBV_REG_DMABUF_MR).getFirst();
            assertThat(call.b()).as("offset").isEqualTo(4096);
            assertThat(call.c()).as("length").isEqualTo(8192);
            assertThat(call.d()).as("iova").isEqualTo(region.address());
            assertThat(call.e()).as("fd").isEqualTo(fd);
            assertThat(call.f()).as("rights").isEqualTo(1);
            assertThat(region.isOnDemand()).isTrue();
            region.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
            open.seek(4096);
            assertThat(open.read()).isEqualTo(7);
            MemorySegment mapped = region.segment();
            region.close();
            assertThat(mapped.scope().isAlive()).isFalse();
            assertThat(fake.callsOf(Function.IBV_DEREG_MR)).hasSize(1);
        }
    }

    @Test
    void aDriverWithoutDmaBufsOrAnOldLibrarySaysSo() throws Exception {
        Path file = file();
        try (RandomAccessFile _ = new RandomAccessFile(file.toFile(), "rw")) {
            int fd = descriptorOf(file);
            fake.failures.put(Function.IBV_REG_DMABUF_MR, 95);
            assertThatThrownBy(() -> endpoint.domain.registerDmaBuf(fd, 0, 4096, MAY_VANISH))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContainingAll("dma-buf", FakeRdma.NAME, "EOPNOTSUPP", "driver takes none")
                    .hasMessageNotContaining("\n");
            fake.missing.add(Function.IBV_REG_DMABUF_MR);
            assertThatThrownBy(() -> endpoint.domain.registerDmaBuf(fd, 0, 4096, MAY_VANISH))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContainingAll("too old", "ibv_reg_dmabuf_mr", "rdma-core 34");
        }
    }
}
