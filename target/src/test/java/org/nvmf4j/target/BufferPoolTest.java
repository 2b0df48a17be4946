package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

class BufferPoolTest {
    private final FakeDomain domain = new FakeDomain();

    @Test
    void growsToItsLimitThenRefusesUntilABufferComesBack() {
        BufferPool pool = new BufferPool(domain, 1 << 20, 16 << 20);
        Deque<DataBuffer> taken = new ArrayDeque<>();
        for (DataBuffer buffer = pool.take(1 << 20); buffer != null; buffer = pool.take((1 << 20) - 1)) {
            assertThat(buffer.segment().address() + buffer.offset())
                    .isGreaterThan(0)
                    .matches(a -> a % 4096 == 0);
            taken.add(buffer);
        }
        assertThat(taken).hasSize(16);
        assertThat(pool.capacityBytes()).isEqualTo(16 << 20);
        assertThat(pool.take(1)).isNull();
        taken.remove().release();
        DataBuffer small = pool.take(1);
        assertThat(small).isNotNull();
        taken.add(small);
        assertThat(pool.take(1 << 20)).isNull();
        assertThatThrownBy(pool::close).hasMessageContaining("16 data buffers were not given back");
        taken.forEach(DataBuffer::release);
        assertThat(pool.taken()).isZero();
        pool.close();
        assertThat(domain.registered).isZero();
    }

    @Test
    void refusesABufferThatComesBackTwice() {
        BufferPool pool = new BufferPool(domain, 1 << 20, 1);
        DataBuffer buffer = pool.take(4096);
        assertThat(buffer).isNotNull();
        buffer.release();
        assertThatThrownBy(buffer::release).isInstanceOf(IllegalStateException.class);
        pool.close();
    }

    @Test
    void staysAsItIsWhenTheDeviceHasNoRoom() {
        domain.room = 1;
        BufferPool pool = new BufferPool(domain, 1 << 20, 64 << 20);
        Deque<DataBuffer> taken = new ArrayDeque<>();
        for (DataBuffer buffer = pool.take(1 << 20); buffer != null; buffer = pool.take(1 << 20)) {
            taken.add(buffer);
        }
        assertThat(taken).hasSize(8);
        taken.forEach(DataBuffer::release);
        pool.close();
    }
}
