package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.nvmf4j.host.KeepAlive.Action;
import org.nvmf4j.nvme.NvmeStatus;

class KeepAliveTest {
    private static final int TIMEOUT_MILLIS = 4_000;

    private long completed;

    private KeepAlive start(boolean trafficBased) {
        return new KeepAlive(TIMEOUT_MILLIS, trafficBased, () -> completed, 0);
    }

    private static long millis(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Test
    void sendsTwiceInATimeoutWithoutTrafficBasedSupport() {
        KeepAlive timer = start(false);
        completed = 7;
        assertThat(timer.onTime(millis(1_999))).isEqualTo(Action.NONE);
        assertThat(timer.onTime(millis(2_000))).isEqualTo(Action.SEND);
        assertThat(timer.onAnswer(NvmeStatus.SUCCESS, millis(2_010))).isTrue();
        assertThat(timer.nextDeadlineNanos()).isEqualTo(millis(4_010));
        assertThat(timer.onTime(millis(4_010))).isEqualTo(Action.SEND);
    }

    @Test
    void sendsFourTimesInATimeoutWithTrafficBasedSupportWhenIdle() {
        KeepAlive timer = start(true);
        assertThat(timer.onTime(millis(999))).isEqualTo(Action.NONE);
        assertThat(timer.onTime(millis(1_000))).isEqualTo(Action.SEND);
    }

    @Test
    void skipsWhileTheControllerAnswersOtherCommands() {
        KeepAlive timer = start(true);
        completed++;
        assertThat(timer.onTime(millis(1_000))).isEqualTo(Action.NONE);
        assertThat(timer.nextDeadlineNanos()).isEqualTo(millis(2_000));
        assertThat(timer.onTime(millis(2_000))).isEqualTo(Action.SEND);
    }

    @Test
    void expiresWithoutAnswerAfterTheWholeTimeout() {
        KeepAlive timer = start(false);
        assertThat(timer.onTime(millis(2_000))).isEqualTo(Action.SEND);
        assertThat(timer.onTime(millis(5_999))).isEqualTo(Action.NONE);
        assertThat(timer.onTime(millis(6_000))).isEqualTo(Action.EXPIRED);
    }

    @Test
    void saysThatAControllerIsUnwellThatAnswersWithAnError() {
        KeepAlive timer = start(false);
        timer.onTime(millis(2_000));
        assertThat(timer.onAnswer(NvmeStatus.KEEP_ALIVE_TIMEOUT_INVALID, millis(2_001)))
                .isFalse();
    }
}
