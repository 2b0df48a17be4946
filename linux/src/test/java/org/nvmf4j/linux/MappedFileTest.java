package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MappedFileTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @Test
    void sharesTheFilesBytesAndGoesWithItsArena() throws IOException {
        Path file = Files.write(dir.resolve("bär"), new byte[3 * 4096]);
        MemorySegment memory;
        try (Arena arena = Arena.ofShared()) {
            memory = MappedFile.map(arena, file, 4096, 2 * 4096);
            assertThat(memory.byteSize()).isEqualTo(2 * 4096);
            memory.set(ValueLayout.JAVA_BYTE, 5, (byte) 7);
            assertThat(Files.readAllBytes(file)[4096 + 5]).isEqualTo((byte) 7);
            try (Arena other = Arena.ofConfined()) {
                MemorySegment whole = MappedFile.map(other, file, 0, 3 * 4096);
                assertThat(whole.get(ValueLayout.JAVA_BYTE, 4096 + 5)).isEqualTo((byte) 7);
            }
        }
        assertThatThrownBy(() -> memory.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        assertThat(Files.size(file)).isEqualTo(3 * 4096);
    }

    @Test
    void mapsAnOpenFileAsFarAsItReaches() throws IOException {
        Path file = Files.write(dir.resolve("file"), new byte[3 * 4096]);
        int fd = open(file);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = MappedFile.map(arena, fd, 4096, 2 * 4096);
            assertThatThrownBy(() -> MappedFile.map(arena, fd, 4096, 2 * 4096 + 1))
                    .isInstanceOf(IOException.class)
                    .hasMessage(
                            "cannot map 8193 bytes at offset 4096 of file descriptor " + fd + ", which holds 12288");
            LibC.close(LibC.newErrnoState(), fd);
            memory.set(ValueLayout.JAVA_BYTE, 5, (byte) 7);
            assertThat(Files.readAllBytes(file)[4096 + 5]).isEqualTo((byte) 7);
            assertThatThrownBy(() -> MappedFile.map(arena, Integer.MAX_VALUE, 0, 4096))
                    .isInstanceOf(LinuxException.class)
                    .hasMessageStartingWith("mmap of file descriptor " + Integer.MAX_VALUE + ": EBADF");
        }
    }

    private static int open(Path file) {
        try (Arena names = Arena.ofConfined()) {
            return LibC.open(
                    LibC.newErrnoState(), names.allocateFrom(file.toString()).address(), 2);
        }
    }

    @Test
    void saysWhatTheSystemRefused() throws IOException {
        Path file = Files.write(dir.resolve("file"), new byte[4096]);
        try (Arena arena = Arena.ofConfined()) {
            Path none = dir.resolve("none");
            assertThatThrownBy(() -> MappedFile.map(arena, none, 0, 4096))
                    .isInstanceOf(LinuxException.class)
                    .hasMessageStartingWith("open of " + none + ": ENOENT");
            assertThatThrownBy(() -> MappedFile.map(arena, file, 100, 4096))
                    .isInstanceOf(LinuxException.class)
                    .hasMessageStartingWith("mmap of " + file + ": EINVAL");
            assertThatThrownBy(() -> MappedFile.map(arena, file, 0, 1L << 60))
                    .isInstanceOfSatisfying(
                            LinuxException.class, e -> assertThat(e.errno()).isEqualTo(SystemErrors.ENOMEM));
            assertThatThrownBy(() -> MappedFile.map(arena, file, 0, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> MappedFile.map(arena, file, -4096, 4096))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
