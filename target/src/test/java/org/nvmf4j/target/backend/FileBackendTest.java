package org.nvmf4j.target.backend;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;

class FileBackendTest {
    @TempDir
    Path folder;

    private Path file(long size) throws IOException {
        Path file = folder.resolve("disk.img");
        try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
            made.setLength(size);
        }
        return file;
    }

    @Test
    void namesAMissingFileAndTheWayToMakeOne() {
        assertThatThrownBy(() -> FileBackend.open(folder.resolve("none"), FileBackendOptions.DEFAULT))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no file '")
                .hasMessageContaining("size=1G");
    }

    @Test
    void refusesFolderAndFileWithoutOneBlock() throws IOException {
        assertThatThrownBy(() -> FileBackend.open(folder, FileBackendOptions.DEFAULT))
                .hasMessageContaining("is a directory");
        Path file = file(511);
        assertThatThrownBy(() -> FileBackend.open(file, FileBackendOptions.DEFAULT))
                .hasMessageContaining("less than one block")
                .hasMessageContaining("truncate");
    }

    @Test
    void refusesAFileWhoseEndWouldNotBeServed() throws IOException {
        Path file = file(8192 + 1000);
        assertThatThrownBy(() -> FileBackend.open(file, FileBackendOptions.DEFAULT))
                .hasMessageContaining("has 9192 bytes, no multiple of the block size 512")
                .hasMessageContaining("truncate -s %512 ");
    }

    @Test
    void takesLargeBlocksWhereTheSizeAllows() throws IOException {
        try (FileBackend backend = FileBackend.open(file(8192), FileBackendOptions.DEFAULT)) {
            assertThat(backend.preferredBlockSizeBytes()).isEqualTo(4096);
        }
        try (FileBackend backend = FileBackend.open(file(8192 + 512), FileBackendOptions.DEFAULT)) {
            assertThat(backend.preferredBlockSizeBytes()).isEqualTo(512);
            assertThat(backend.sizeBytes()).isEqualTo(8192 + 512);
            assertThat(backend.directIo()).isFalse();
            assertThat(backend.description()).contains("through the page cache, because the file system wants blocks");
        }
    }

    @Test
    void saysWhyDirectIoCannotBe() throws IOException {
        Path file = file(8192);
        assertThatThrownBy(() -> FileBackend.open(
                        file, FileBackendOptions.DEFAULT.withBlockSizeBytes(512).withDirectIo(DirectIo.ON)))
                .hasMessageContaining("no direct I/O on '")
                .hasMessageContaining("leave direct=on out");
        // The refusal let go of the file.
        FileBackend.open(file, FileBackendOptions.DEFAULT).close();
    }

    @Test
    void refusesAFileThatAnotherTargetServes() throws IOException {
        Path file = file(8192);
        try (FileBackend backend = FileBackend.open(file, FileBackendOptions.DEFAULT)) {
            assertThat(backend.readOnly()).isFalse();
            assertThatThrownBy(() -> FileBackend.open(file, FileBackendOptions.DEFAULT))
                    .hasMessageContaining("exported by this process already");
        }
    }

    @Test
    void readsThroughAReadOnlyFileWithoutPermissionToWrite() throws IOException {
        Path file = file(8192);
        Files.write(file, "nvmf4j".repeat(2000).substring(0, 8192).getBytes(US_ASCII));
        try (FileBackend backend = FileBackend.open(file, FileBackendOptions.DEFAULT.withReadOnly(true))) {
            assertThat(backend.readOnly()).isTrue();
            assertThat(backend.description()).contains("read-only");
            assertThat(new TestRequest(4096).read(backend, 4096, 4096))
                    .isEqualTo(Arrays.copyOfRange(Files.readAllBytes(file), 4096, 8192));
        }
    }

    @Test
    void failsAReadBehindTheEndOfAFileThatWasCutAndCountsIt() throws IOException {
        Path file = file(1 << 20);
        try (FileBackend backend = FileBackend.open(file, FileBackendOptions.DEFAULT);
                RandomAccessFile cut = new RandomAccessFile(file.toFile(), "rw")) {
            cut.setLength(4096);
            assertThat(new TestRequest(8192).run(backend, BackendOperation.READ, 8192, 8192, 0, false))
                    .isEqualTo(BackendStatus.MEDIA_ERROR);
            assertThat(backend.errors()).isEqualTo(1);
        }
    }

    @Test
    void endsEveryRequestOfManyAtATime() throws Exception {
        try (FileBackend backend = FileBackend.open(file(1 << 20), FileBackendOptions.DEFAULT.withThreads(3))) {
            List<Thread> lanes = new ArrayList<>();
            List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
            for (int lane = 0; lane < 3; lane++) {
                long base = lane * (256L << 10);
                byte fill = (byte) (lane + 1);
                lanes.add(Thread.ofPlatform()
                        .uncaughtExceptionHandler((t, e) -> failures.add(e))
                        .start(() -> {
                            TestRequest request = new TestRequest(4096);
                            byte[] bytes = new byte[4096];
                            Arrays.fill(bytes, fill);
                            for (int i = 0; i < 500; i++) {
                                long offset = base + 4096L * (i % 64);
                                assertThat(request.write(backend, offset, bytes))
                                        .isEqualTo(BackendStatus.SUCCESS);
                                assertThat(request.read(backend, offset, 4096)).isEqualTo(bytes);
                            }
                        }));
            }
            for (Thread lane : lanes) {
                lane.join();
            }
            assertThat(failures).isEmpty();
        }
    }
}
