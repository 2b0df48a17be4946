package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DeadlineQueueTest {
    private static final class Timer extends DeadlineQueue.Entry {
        long at;
    }

    @Test
    void comesUpInOrderOfDeadlines() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        long start = Long.MAX_VALUE - 500; // nanoTime may wrap
        DeadlineQueue queue = new DeadlineQueue();
        List<Timer> timers = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            Timer timer = new Timer();
            timer.at = start + random.nextInt(1000);
            timers.add(timer);
            queue.schedule(timer, timer.at);
        }
        for (int i = 0; i < 100; i++) {
            queue.remove(timers.remove(random.nextInt(timers.size())));
        }
        timers.sort(Comparator.comparingLong(t -> t.at - start));
        for (Timer expected : timers) {
            assertThat(queue.isDue(expected.at - 1)).as("seed %d", seed).isFalse();
            assertThat(queue.remainingNanos(start)).isEqualTo(expected.at - start);
            assertThat(queue.isDue(expected.at)).isTrue();
            Timer first = (Timer) queue.removeFirst();
            assertThat(first.at).as("seed %d", seed).isEqualTo(expected.at);
            queue.schedule(first, start + 5000); // out of the way, and back in
        }
        assertThat(queue.remainingNanos(start)).isEqualTo(5000);
    }

    @Test
    void onlyAnEarlierDeadlineMovesAnEntry() {
        DeadlineQueue queue = new DeadlineQueue();
        Timer timer = new Timer();
        queue.schedule(timer, 100);
        queue.schedule(timer, 200);
        assertThat(queue.remainingNanos(0)).isEqualTo(100);
        queue.schedule(timer, 50);
        assertThat(queue.remainingNanos(0)).isEqualTo(50);
        queue.removeFirst();
        assertThat(queue.isEmpty()).isTrue();
        assertThat(queue.remainingNanos(0)).isEqualTo(Long.MAX_VALUE);
    }
}
