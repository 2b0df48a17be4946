package org.nvmf4j.verbs.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.nvmf4j.verbs.AccessFlag.LOCAL_WRITE;
import static org.nvmf4j.verbs.AccessFlag.REMOTE_READ;
import static org.nvmf4j.verbs.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.nvmf4j.verbs.AccessFlag;
import org.nvmf4j.verbs.MemoryRegion;
import org.nvmf4j.verbs.ProtectionDomain;

class MemoryTableTest {
    private final MemoryTable table = new MemoryTable(new SplittableRandom(7));
    private final ProtectionDomain domain = new Domain();
    private final MemorySegment memory = Arena.ofAuto().allocate(4096);

    private static final class Domain implements ProtectionDomain {
        @Override
        public MemoryRegion register(MemorySegment segment, Set<AccessFlag> access) {
            throw new AssertionError("not used here");
        }

        @Override
        public void close() {}
    }

    @Test
    void grantsExactlyTheRegisteredRange() throws Exception {
        MemoryRegion region = table.register(domain, memory, EnumSet.of(LOCAL_WRITE, REMOTE_READ));
        long base = region.address();
        assertThat(table.local(domain, region.lkey(), base, 4096, true)).isSameAs(region);
        assertThat(table.local(domain, region.lkey(), base + 4096, 0, true)).isSameAs(region);
        assertThat(table.local(domain, region.lkey(), base + 1, 4096, true)).isNull();
        assertThat(table.local(domain, region.lkey(), base - 1, 1, true)).isNull();
        assertThat(table.local(domain, region.lkey(), base + 8, Long.MAX_VALUE, false))
                .isNull();
        assertThat(table.local(domain, region.lkey(), Long.MIN_VALUE, 1, false)).isNull();
    }

    @Test
    void grantsOnlyTheRightsAndTheDomainThatWereRegistered() throws Exception {
        MemoryRegion readable = table.register(domain, memory, EnumSet.of(REMOTE_READ));
        assertThat(table.remote(domain, readable.rkey(), readable.address(), 1, false))
                .isSameAs(readable);
        assertThat(table.remote(domain, readable.rkey(), readable.address(), 1, true))
                .isNull();
        assertThat(table.local(domain, readable.lkey(), readable.address(), 1, true))
                .isNull();
        assertThat(table.remote(new Domain(), readable.rkey(), readable.address(), 1, false))
                .isNull();
        assertThat(table.remote(domain, readable.lkey(), readable.address(), 1, false))
                .isNull();
    }

    @Test
    void forgetsKeysThatWereInvalidatedRenewedOrClosed() throws Exception {
        MemoryRegion region = table.register(domain, memory, EnumSet.of(LOCAL_WRITE, REMOTE_WRITE));
        int first = region.rkey();
        assertThat(table.invalidate(domain, first)).isTrue();
        assertThat(table.invalidate(domain, first)).isFalse();
        assertThat(table.remote(domain, first, region.address(), 1, true)).isNull();
        int second = region.renewRkey();
        assertThat(second).isNotEqualTo(first);
        assertThat(table.remote(domain, second, region.address(), 1, true)).isSameAs(region);
        region.close();
        assertThat(table.remote(domain, second, region.address(), 1, true)).isNull();
        assertThat(table.local(domain, region.lkey(), region.address(), 1, false))
                .isNull();
    }

    @Test
    void aRegionWithoutRemoteRightsHasNoRkey() throws Exception {
        MemoryRegion region = table.register(domain, memory, EnumSet.of(LOCAL_WRITE));
        assertThat(region.rkey()).isZero();
        assertThat(table.remote(domain, 0, region.address(), 1, false)).isNull();
        assertThat(table.invalidate(domain, 0)).isFalse();
    }

    @Test
    void refusesHeapMemoryAndContradictingRights() {
        assertThatThrownBy(() -> table.register(domain, MemorySegment.ofArray(new byte[8]), EnumSet.of(LOCAL_WRITE)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> table.register(domain, memory, EnumSet.of(REMOTE_WRITE)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
