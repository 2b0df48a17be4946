package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.backend.FileBackend;
import org.nvmf4j.target.backend.FileBackendOptions;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;

/** Peer memory whose mapping goes, as that of a device that is unplugged: a mapped file that is cut off behaves the same. */
class VanishingMemoryTest {
    private static final int BYTES = 1 << 20;
    private static final int BLOCKS = 64;

    @TempDir
    Path folder;

    /** One block, of a file; its device claims to be there all the time, so that the accesses alone tell. */
    private static final class MappedMemory implements PeerMemory, PeerMemoryProvider, AutoCloseable {
        private final FileChannel file;
        private final Arena arena = Arena.ofShared();
        private final MemorySegment mapping;
        private int blocks;

        MappedMemory(Path path) throws IOException {
            file = FileChannel.open(
                    path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
            mapping = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
        }

        void vanish() throws IOException {
            file.truncate(0);
        }

        @Override
        public String pciAddress() {
            return "0000:03:00.0";
        }

        @Override
        public long sizeBytes() {
            return BYTES;
        }

        @Override
        public long freeBytes() {
            return blocks == 0 ? BYTES : 0;
        }

        @Override
        public boolean isPublished() {
            return true;
        }

        @Override
        public boolean isPresent() {
            return true;
        }

        @Override
        public String publisher() {
            return "a test";
        }

        @Override
        public PeerBlock allocate(long bytes) {
            blocks++;
            return new PeerBlock() {
                @Override
                public MemorySegment segment() {
                    return mapping.asSlice(0, bytes);
                }

                @Override
                public void close() {
                    blocks--;
                }
            };
        }

        @Override
        public List<MappedMemory> memories() {
            return List.of(this);
        }

        @Override
        public Reach reach(PeerMemory memory, PeerClient client) {
            return Reach.peerToPeer(4);
        }

        @Override
        public void close() throws IOException {
            arena.close();
            file.close();
        }
    }

    private interface Scenario {
        void run(MappedMemory memory, RawHost host) throws IOException;
    }

    private void with(Backend backend, Scenario scenario) throws IOException {
        Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
        subsystem.addNamespace(Namespace.builder(1, backend)
                .blockSizeBytes(512)
                .peerMemory(PeerMemoryChoice.AUTO)
                .build());
        try (MappedMemory memory = new MappedMemory(folder.resolve("bar"));
                RawHost host = new RawHost(
                        TargetOptions.defaults(),
                        1,
                        false,
                        builder -> builder.peerMemory(memory).aside(Runnable::run),
                        subsystem)) {
            host.connectAdmin();
            scenario.run(memory, host);
        }
    }

    private void endsRequestsSoThatTheHostTriesAgain(Backend backend) throws IOException {
        with(backend, (memory, host) -> {
            RawQueue io = host.connectIo(1, 8);
            byte[] bytes = new byte[BLOCKS * 512];
            bytes[77] = 1;
            assertThat(host.write(io, 1, 0, BLOCKS, bytes).status()).isZero();
            assertThat(host.target.peerMemoryStatistics().buffers()).isOne();

            memory.vanish();
            RawQueue.Answer lost = io.await(host.sendRead(io, 1, 0, BLOCKS, 0, bytes.length));
            assertThat(NvmeStatus.describe(lost.status())).startsWith("Data Transfer Error");
            assertThat(lost.status() & NvmeStatus.DNR).isZero();
            assertThat(host.read(io, 1, 0, BLOCKS, bytes.length)).isEqualTo(bytes);
            assertThat(host.target.peerMemoryStatistics().lost()).isOne();
            host.pumpUntilQuiet();
            assertThat(memory.blocks).isZero();
        });
    }

    @Test
    void underMemory() throws IOException {
        endsRequestsSoThatTheHostTriesAgain(new MemoryBackend(BYTES));
    }

    @Test
    void underAFile() throws IOException {
        endsRequestsSoThatTheHostTriesAgain(FileBackend.open(
                folder.resolve("disk.img"),
                FileBackendOptions.DEFAULT
                        .withDirectIo(DirectIo.OFF)
                        .withBlockSizeBytes(512)
                        .withCreateSizeBytes(BYTES)));
    }

    /** The target learns of it from its device, which ends the queue; another one works. */
    @Test
    void underTheDevice() throws IOException {
        with(new MemoryBackend(BYTES), (memory, host) -> {
            RawQueue io = host.connectIo(1, 8);
            RawQueue other = host.connectIo(2, 8);
            memory.vanish();
            host.sendWrite(io, 1, 0, BLOCKS, 0, BLOCKS * 512);
            host.pumpUntil("end of the queue", () -> io.ended || io.broken);
            assertThat(host.write(other, 1, 0, BLOCKS, new byte[BLOCKS * 512]).status())
                    .isZero();
        });
    }
}
