package org.nvmf4j.verbs.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class VectorGateTest {
    private final VectorGate gate = new VectorGate();

    @Test
    void oneThreadAtATimeIsIn() throws Exception {
        assertThat(gate.tryEnter()).isTrue();
        CompletableFuture<Boolean> other = CompletableFuture.supplyAsync(gate::tryEnter);
        assertThat(other.get(60, TimeUnit.SECONDS)).isFalse();
        gate.leave();
        assertThat(gate.tryEnter()).isTrue();
    }

    @Test
    void aHandlerThatEntersAgainIsTold() {
        assertThat(gate.tryEnter()).isTrue();
        assertThatThrownBy(gate::tryEnter)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("handler");
        assertThat(gate.enter(() -> {})).as("must leave").isFalse();
    }

    @Test
    void whoMustEnterWakesWhoIsInUntilThatOneLeaves() throws Exception {
        assertThat(gate.tryEnter()).isTrue();
        CompletableFuture<Void> woken = new CompletableFuture<>();
        AtomicInteger entered = new AtomicInteger();
        Thread other = Thread.ofPlatform().daemon().start(() -> {
            gate.close();
            if (gate.enter(() -> woken.complete(null))) {
                entered.incrementAndGet();
                gate.leave();
            }
        });
        woken.get(60, TimeUnit.SECONDS);
        assertThat(entered).hasValue(0);
        gate.leave();
        other.join(60_000);
        assertThat(entered).hasValue(1);
        assertThat(gate.tryEnter()).as("closed").isFalse();
        assertThat(gate.isClosed()).isTrue();
    }
}
