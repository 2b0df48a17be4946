package org.nvmf4j.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class FileRangeLockTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path dir;

    @SuppressWarnings("NullAway.Init")
    private Path file;

    @BeforeEach
    void makeFile() throws IOException {
        file = Files.write(dir.resolve("bär"), new byte[4 * 4096]);
    }

    /** Another process that wants the second page. */
    static final class Other {
        private Other() {}

        public static void main(String[] args) throws Exception {
            System.out.print(FileRangeLock.tryLock(Path.of(args[0]), 4096, 4096) == null ? "taken" : "free");
        }
    }

    private String asAnotherProcessSeesIt() throws Exception {
        List<String> access = List.of("--enable-native-access=ALL-UNNAMED");
        return ChildJvm.run(List.of(), access, Other.class, file.toString());
    }

    private static FileRangeLock lock(Path file, long offset, long lengthBytes) throws IOException {
        return Objects.requireNonNull(FileRangeLock.tryLock(file, offset, lengthBytes));
    }

    @Test
    void holdsAgainstOtherProcessesWhoeverClosesTheFileHere() throws Exception {
        try (FileRangeLock _ = lock(file, 0, 2 * 4096)) {
            assertThat(Files.readAllBytes(file)).hasSize(4 * 4096);
            try (Arena arena = Arena.ofConfined()) {
                MappedFile.map(arena, file, 4096, 4096);
            }
            assertThat(asAnotherProcessSeesIt()).isEqualTo("taken");
        }
        assertThat(asAnotherProcessSeesIt()).isEqualTo("free");
    }

    @Test
    void holdsWithinAProcessForItsPartAlone() throws IOException {
        FileRangeLock held = lock(file, 4096, 4096);
        assertThat(FileRangeLock.tryLock(file, 0, 4097)).isNull();
        assertThat(FileRangeLock.tryLock(file, 8191, 1)).isNull();
        lock(file, 0, 4096).close();
        lock(file, 8192, 1L << 40).close();
        held.close();
        FileRangeLock next = lock(file, 0, 8192);
        held.close();
        assertThat(FileRangeLock.tryLock(file, 4096, 1)).as("a second close").isNull();
        next.close();
    }

    /** Run without native access. */
    static final class Denied {
        private Denied() {}

        public static void main(String[] args) throws Exception {
            Path file = Path.of(args[0]);
            try (FileRangeLock _ = lock(file, 0, 4096)) {
                assertThat(FileRangeLock.tryLock(file, 0, 4096)).isNull();
            }
            lock(file, 0, 4096).close();
        }
    }

    @Test
    void isTheJdksWhereNativeAccessIsDenied() throws Exception {
        ChildJvm.run(List.of(), List.of("--illegal-native-access=deny"), Denied.class, file.toString());
    }

    @Test
    void saysWhatCannotBeLocked() {
        assertThatThrownBy(() -> FileRangeLock.tryLock(dir.resolve("none"), 0, 4096))
                .isInstanceOf(LinuxException.class)
                .hasMessageContaining("ENOENT");
        assertThatThrownBy(() -> FileRangeLock.tryLock(file, 0, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
