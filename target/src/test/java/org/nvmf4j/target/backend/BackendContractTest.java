package org.nvmf4j.target.backend;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendOperation;
import org.nvmf4j.target.spi.BackendStatus;

/** What every backend that keeps data does alike. */
class BackendContractTest {
    private static final int SIZE = 3 << 20;
    private static final int MAX_LENGTH = 1 << 20;

    @TempDir
    Path folder;

    enum Kind {
        MEMORY,
        BUFFERED_FILE,
        DIRECT_FILE
    }

    private Backend open(Kind kind) throws IOException {
        FileBackendOptions file = FileBackendOptions.DEFAULT.withCreateSizeBytes(SIZE);
        return switch (kind) {
            case MEMORY -> new MemoryBackend(SIZE);
            case BUFFERED_FILE -> FileBackend.open(folder.resolve("buffered"), file.withDirectIo(DirectIo.OFF));
            case DIRECT_FILE -> FileBackend.open(folder.resolve("direct"), file);
        };
    }

    @ParameterizedTest
    @EnumSource
    void readsZeroesWhereNothingWasWritten(Kind kind) throws IOException {
        try (Backend backend = open(kind)) {
            assertThat(backend.sizeBytes()).isEqualTo(SIZE);
            TestRequest request = new TestRequest(MAX_LENGTH);
            assertThat(request.read(backend, 0, MAX_LENGTH)).containsOnly(0);
            assertThat(request.read(backend, SIZE - 4096, 4096)).containsOnly(0);
        }
    }

    @ParameterizedTest
    @EnumSource
    void compares(Kind kind) throws IOException {
        try (Backend backend = open(kind)) {
            TestRequest request = new TestRequest(MAX_LENGTH + 512);
            byte[] bytes = new byte[MAX_LENGTH];
            assertThat(request.compare(backend, SIZE - MAX_LENGTH, bytes, 0)).isEqualTo(BackendStatus.SUCCESS);
            new Random(1).nextBytes(bytes);
            assertThat(request.write(backend, 4096, bytes)).isEqualTo(BackendStatus.SUCCESS);
            for (int at : new int[] {0, 64}) {
                assertThat(request.compare(backend, 4096, bytes, at)).isEqualTo(BackendStatus.SUCCESS);
            }
            bytes[MAX_LENGTH - 1]++;
            for (int at : new int[] {0, 64}) {
                assertThat(request.compare(backend, 4096, bytes, at)).isEqualTo(BackendStatus.COMPARE_FAILURE);
            }
            assertThat(request.compare(backend, SIZE - MAX_LENGTH, bytes, 0)).isEqualTo(BackendStatus.COMPARE_FAILURE);
        }
    }

    @Test
    void theNullBackendComparesWithZeroes() {
        NullBackend backend = new NullBackend(SIZE);
        TestRequest request = new TestRequest(MAX_LENGTH);
        byte[] bytes = new byte[MAX_LENGTH];
        assertThat(request.compare(backend, 4096, bytes, 0)).isEqualTo(BackendStatus.SUCCESS);
        bytes[MAX_LENGTH - 1] = 1;
        assertThat(request.compare(backend, 4096, bytes, 0)).isEqualTo(BackendStatus.COMPARE_FAILURE);
    }

    @ParameterizedTest
    @EnumSource
    void agreesWithAnArrayOverRandomOperations(Kind kind) throws IOException {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        byte[] model = new byte[SIZE];
        try (Backend backend = open(kind)) {
            int block = backend.preferredBlockSizeBytes();
            TestRequest request = new TestRequest(MAX_LENGTH + 512);
            for (int i = 0; i < 100; i++) {
                int length = block * (1 + random.nextInt(random.nextInt(8) == 0 ? MAX_LENGTH / block : 16));
                int offset = block * random.nextInt((SIZE - length) / block + 1);
                long at = random.nextInt(4) == 0 ? 64 : 0; // memory that direct I/O does not take
                switch (random.nextInt(4)) {
                    case 0, 1 -> {
                        byte[] bytes = new byte[length];
                        random.nextBytes(bytes);
                        assertThat(request.write(backend, offset, bytes, at)).isEqualTo(BackendStatus.SUCCESS);
                        System.arraycopy(bytes, 0, model, offset, length);
                    }
                    case 2 -> {
                        assertThat(request.run(backend, BackendOperation.WRITE_ZEROES, offset, length, 0, true))
                                .isEqualTo(BackendStatus.SUCCESS);
                        Arrays.fill(model, offset, offset + length, (byte) 0);
                    }
                    default ->
                        assertThat(request.read(backend, offset, length, at))
                                .as("seed %d, operation %d", seed, i)
                                .isEqualTo(Arrays.copyOfRange(model, offset, offset + length));
                }
            }
            assertThat(request.run(backend, BackendOperation.FLUSH, 0, 0, 0, false))
                    .isEqualTo(BackendStatus.SUCCESS);
            assertThat(request.run(backend, BackendOperation.DEALLOCATE, 0, SIZE, 0, false))
                    .isEqualTo(BackendStatus.SUCCESS);
        }
    }
}
