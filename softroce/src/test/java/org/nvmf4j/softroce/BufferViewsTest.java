package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BufferViewsTest {
    private static final long GIBIBYTE = 1 << 30;

    private final BufferViews views = new BufferViews();

    @Test
    void showsTheSegmentsBytes() {
        MemorySegment segment = Arena.ofAuto().allocate(100);
        segment.set(ValueLayout.JAVA_BYTE, 42, (byte) 7);
        assertThat(views.view(segment, 42).get(BufferViews.position(42))).isEqualTo((byte) 7);
    }

    @Test
    void makesOneViewForEqualSegments() {
        MemorySegment whole = Arena.ofAuto().allocate(100);
        ByteBuffer view = views.view(whole.asSlice(10, 50), 0);
        assertThat(views.view(whole.asSlice(10, 50), 20)).isSameAs(view);
        assertThat(views.view(whole.asSlice(10, 51), 0)).isNotSameAs(view);
        assertThat(views.view(whole.asSlice(11, 50), 0)).isNotSameAs(view);
    }

    @Test
    void doesNotTakeFreedMemoryForWhatIsThereNow() {
        byte[] bytes = {1, 2, 3};
        MemorySegment block = Arena.ofAuto().allocate(100);
        ByteBuffer stale;
        try (Arena arena = Arena.ofConfined()) {
            stale = views.view(block.reinterpret(arena, null), 0);
        }
        ByteBuffer view = views.view(block, 0); // same address, same size
        assertThat(view).isNotSameAs(stale);
        assertThat(view.put(bytes).position()).isEqualTo(bytes.length);
    }

    @Test
    void reachesIntoSegmentsLongerThanABuffer(@TempDir Path folder) throws IOException {
        long size = 3 * GIBIBYTE;
        try (Arena arena = Arena.ofConfined();
                FileChannel sparse = FileChannel.open(
                        folder.resolve("sparse"),
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.SPARSE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            MemorySegment segment = sparse.map(FileChannel.MapMode.READ_WRITE, 0, size, arena);
            for (long at : new long[] {0, GIBIBYTE - 2, GIBIBYTE, 2 * GIBIBYTE + 5, size - 4}) {
                segment.set(ValueLayout.JAVA_INT_UNALIGNED, at, (int) at | 1);
                ByteBuffer view = views.view(segment, at).order(java.nio.ByteOrder.nativeOrder());
                int position = BufferViews.position(at);
                assertThat(view.getInt(position)).as("at %d", at).isEqualTo((int) at | 1);
                assertThat(view.limit() - position).isGreaterThanOrEqualTo((int) Math.min(size - at, 1 << 16));
            }
        }
    }
}
