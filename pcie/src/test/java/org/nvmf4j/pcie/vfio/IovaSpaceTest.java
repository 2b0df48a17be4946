package org.nvmf4j.pcie.vfio;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.Seeds;

class IovaSpaceTest {
    private static final long GIB = 1L << 30;

    @Test
    void prefersAddressesAboveFourGigabytesAndThenTakesWhatThereIs() throws IOException {
        IovaSpace space =
                new IovaSpace(List.of(new IovaSpace.Range(0, 8192), new IovaSpace.Range(GIB, 4 * GIB + 8192)));
        assertThat(space.allocate(4096)).isEqualTo(4 * GIB);
        assertThat(space.allocate(4096)).isEqualTo(4 * GIB + 4096);
        assertThat(space.allocate(4096))
                .as("not 0, which as a PRP entry is none")
                .isEqualTo(4096);
        assertThat(space.allocate(4 << 20)).isEqualTo(GIB);
        assertThatThrownBy(() -> space.allocate(3 * GIB))
                .isInstanceOf(IOException.class)
                .hasMessage("no room for 3221225472 bytes in the addresses that the IOMMU translates");
    }

    @Test
    void keepsOutWhatIsExcludedAndRefusesToExcludeWhatIsTaken() throws IOException {
        IovaSpace space = new IovaSpace(List.of(new IovaSpace.Range(0, Long.MAX_VALUE)));
        space.exclude(new IovaSpace.Range(4 * GIB, 5 * GIB));
        space.exclude(new IovaSpace.Range(4 * GIB, 5 * GIB));
        long taken = space.allocate(4096);
        assertThat(taken).isEqualTo(5 * GIB);
        assertThatThrownBy(() -> space.exclude(new IovaSpace.Range(taken + 100, taken + 200)))
                .hasMessageContaining("memory is mapped where a device has come to be");
        space.free(taken, 4096);
        assertThatThrownBy(() -> space.free(taken, 4096)).isInstanceOf(IllegalArgumentException.class);
        space.exclude(new IovaSpace.Range(taken, taken + 1));
        assertThat(space.allocate(4096)).isEqualTo(taken + 4096);
    }

    @Test
    void alignsLargePiecesForLargePages() throws IOException {
        IovaSpace space = new IovaSpace(List.of(new IovaSpace.Range(4 * GIB, 5 * GIB)));
        assertThat(space.allocate(4096)).isEqualTo(4 * GIB);
        assertThat(space.allocate(2 << 20)).isEqualTo(4 * GIB + (2 << 20));
    }

    @Test
    void neverGivesAnythingTwiceNorWhatIsKeptOut() {
        Seeds.each(300, IovaSpaceTest::allocateAndFree);
    }

    private static void allocateAndFree(long seed) {
        Random random = new Random(seed);
        List<IovaSpace.Range> ranges = new ArrayList<>();
        long at = random.nextInt(1 << 24);
        for (int i = 0; i < 3; i++) {
            long end = at + random.nextInt(1 << 26);
            ranges.add(new IovaSpace.Range(at, end));
            at = end + 1 + random.nextInt(1 << 20) + (random.nextBoolean() ? 4 * GIB : 0);
        }
        IovaSpace space = new IovaSpace(ranges);
        List<IovaSpace.Range> out = new ArrayList<>();
        List<IovaSpace.Range> taken = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            switch (random.nextInt(8)) {
                case 0 -> {
                    IovaSpace.Range of = ranges.get(random.nextInt(ranges.size()));
                    long start = of.start() + random.nextInt(1 << 24);
                    IovaSpace.Range range = new IovaSpace.Range(start, start + 1 + random.nextInt(1 << 18));
                    try {
                        space.exclude(range);
                        assertThat(taken).noneMatch(piece -> overlap(piece, range));
                        out.add(range);
                    } catch (IOException e) {
                        assertThat(taken).anyMatch(piece -> overlap(piece, pages(range)));
                    }
                }
                case 1, 2, 3 -> {
                    if (!taken.isEmpty()) {
                        IovaSpace.Range piece = taken.remove(random.nextInt(taken.size()));
                        space.free(piece.start(), piece.end() - piece.start());
                    }
                }
                default -> {
                    long bytes = 4096L * (1 + random.nextInt(random.nextInt(8) == 0 ? 2000 : 20));
                    try {
                        long start = space.allocate(bytes);
                        IovaSpace.Range piece = new IovaSpace.Range(start, start + bytes);
                        assertThat(start % 4096).isZero();
                        assertThat(start).isPositive();
                        assertThat(ranges).anyMatch(r -> r.start() <= piece.start() && piece.end() <= r.end());
                        assertThat(taken).noneMatch(other -> overlap(other, piece));
                        assertThat(out).noneMatch(other -> overlap(other, piece));
                        taken.add(piece);
                    } catch (IOException e) {
                        assertThat(e).hasMessageStartingWith("no room for ");
                    }
                }
            }
        }
    }

    private static IovaSpace.Range pages(IovaSpace.Range range) {
        return new IovaSpace.Range(range.start() & -4096, range.end() + 4095 & -4096);
    }

    private static boolean overlap(IovaSpace.Range one, IovaSpace.Range other) {
        return one.start() < other.end() && other.start() < one.end();
    }
}
