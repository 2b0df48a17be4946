package org.nvmf4j.verbs.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class VectorTimersTest {
    private static final long HOUR = TimeUnit.HOURS.toNanos(1);

    private final VectorTimers timers = new VectorTimers();
    private final List<String> ran = new ArrayList<>();

    private VectorTimers.Timer timer(String name) {
        return timers.new Timer(() -> ran.add(name));
    }

    @Test
    void whatIsDueRunsOnce() {
        VectorTimers.Timer now = timer("now");
        VectorTimers.Timer later = timer("later");
        later.arm(HOUR);
        now.arm(0);
        assertThat(timers.run()).isEqualTo(1);
        assertThat(timers.run()).isZero();
        assertThat(ran).containsExactly("now");
        assertThat(now.isArmed()).isFalse();
        assertThat(later.isArmed()).isTrue();
    }

    @Test
    void aCancelledTimerDoesNotRunAndOneArmedAgainRunsOnce() {
        VectorTimers.Timer cancelled = timer("cancelled");
        cancelled.arm(0);
        cancelled.cancel();
        VectorTimers.Timer again = timer("again");
        again.arm(HOUR);
        again.arm(0);
        timers.run();
        timers.run();
        assertThat(ran).containsExactly("again");
    }

    @Test
    void tellsHowLongNothingIsDue() {
        assertThat(timers.remainingNanos(HOUR)).isEqualTo(HOUR);
        timer("later").arm(HOUR);
        assertThat(timers.remainingNanos(2 * HOUR)).isPositive().isLessThanOrEqualTo(HOUR);
        timer("now").arm(0);
        assertThat(timers.remainingNanos(HOUR)).isZero();
    }

    @Test
    void anActionMayForgetThemAll() {
        timer("other").arm(0);
        timers.new Timer(timers::clear).arm(0);
        timers.run();
        timers.run();
        assertThat(ran).isEmpty();
    }
}
