package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DescriptorsTest {
    private static final long FIONREAD = 0x541b;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @BeforeEach
    void needsSystemCalls() {
        Assumptions.assumeTrue(NativeAccess.isAvailable(), NativeAccess.problem());
    }

    @Test
    void readsAndWritesAtOffsets() throws IOException {
        Path file = Files.write(dir.resolve("file"), new byte[] {0, 1, 2, 3, 4, 5, 6, 7});
        int fd = Descriptors.open(file);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(4);
            Descriptors.read(fd, 3, memory);
            assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).containsExactly(3, 4, 5, 6);
            Descriptors.write(fd, 1, memory);
            assertThat(Files.readAllBytes(file)).containsExactly(0, 3, 4, 5, 6, 5, 6, 7);
            assertThatThrownBy(() -> Descriptors.read(fd, 6, memory)).hasMessage("pread: only 2 of 4 bytes");
        } finally {
            Descriptors.close(fd);
        }
    }

    @Test
    void asksADriver() throws IOException {
        int fd = Descriptors.open(Files.write(dir.resolve("file"), new byte[1234]));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment readable = arena.allocate(ValueLayout.JAVA_INT);
            assertThat(Descriptors.ioctl(fd, FIONREAD, readable)).isZero();
            assertThat(readable.get(ValueLayout.JAVA_INT, 0)).isEqualTo(1234);
            assertThatThrownBy(() -> Descriptors.ioctl(fd, 0x3b64, 0)).hasMessageStartingWith("ioctl: ENOTTY");
        } finally {
            Descriptors.close(fd);
        }
        assertThatThrownBy(() -> Descriptors.open(dir.resolve("none")))
                .isInstanceOfSatisfying(
                        LinuxException.class, e -> assertThat(e.errno()).isEqualTo(SystemErrors.ENOENT));
    }

    @Test
    void countsEvents() throws Exception {
        EventCounter counter = new EventCounter();
        try (DescriptorWaiter waiter = new DescriptorWaiter(counter.fd())) {
            assertThat(counter.take()).isZero();
            counter.add();
            counter.add();
            waiter.await(TimeUnit.SECONDS.toNanos(60));
            assertThat(counter.take()).isEqualTo(2);
            assertThat(counter.take()).isZero();
        } finally {
            counter.close();
        }
        assertThat(counter.take()).isZero();
    }
}
