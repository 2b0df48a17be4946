package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.nvmf4j.verbs.WorkCompletionStatus.SUCCESS;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.IdleStrategy;

/** Completion vectors: each the seat of one thread. */
interface VectorContract extends ContractSetup {
    @Test
    default void eachVectorCarriesItsOwnConnections() throws Exception {
        Fabric fabric = fabric(3);
        int hostVectors = fabric.host.device.attributes().vectors();
        int targetVectors = fabric.target.device.attributes().vectors();
        assertThat(hostVectors).isBetween(1, 3);
        RegisteredMemory from = fabric.host.memory(9000);
        RegisteredMemory to = fabric.target.memory(9000);
        for (int h = 0; h < hostVectors; h++) {
            for (int t = 0; t < targetVectors; t++) {
                Link link = fabric.link(
                        fabric.host.endpointOnVector(h), fabric.target.endpointOnVector(t), Fabric.PARAMETERS);
                assertThat(link.host().sendQueue.vector().index()).isEqualTo(h);
                from.fill(0, 9000, 10L * h + t);
                Completed done = fabric.awaitSentId(link.host(), link.host().write(from, 0, 9000, to, 0));
                assertThat(done.status()).isEqualTo(SUCCESS);
                to.assertFilled(0, 9000, 10L * h + t);
                link.host().connection().disconnect();
                fabric.await(
                        "the disconnect",
                        () -> link.host().events.contains("disconnected")
                                && link.target().events.contains("disconnected"));
            }
        }
    }

    @Test
    default void aDeviceHasTheVectorsThatItSaysItHas() throws Exception {
        Fabric fabric = fabric(2);
        int vectors = fabric.host.device.attributes().vectors();
        for (int i = 0; i < vectors; i++) {
            assertThat(fabric.host.device.vector(i).index()).isEqualTo(i);
        }
    }

    @Test
    default void anIdleVectorSaysSo() throws Exception {
        Fabric fabric = fabric();
        fabric.link();
        fabric.await("an idle turn", () -> fabric.progress() == 0);
    }

    @Test
    default void aWakeUpEndsTheNextWait() throws Exception {
        CompletionVector vector = fabric().host.device.vector(0);
        long start = System.nanoTime();
        vector.wakeUp();
        vector.awaitWork(TimeUnit.SECONDS.toNanos(2 * Fabric.LIMIT_SECONDS));
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(Fabric.LIMIT_SECONDS));
    }

    @Test
    default void aWakeUpEndsAWaitOfAnotherThread() throws Exception {
        CompletionVector vector = fabric().host.device.vector(0);
        Thread waiter = Thread.ofPlatform()
                .daemon()
                .start(() -> vector.awaitWork(TimeUnit.SECONDS.toNanos(2 * Fabric.LIMIT_SECONDS)));
        while (waiter.getState() == Thread.State.NEW) {
            Thread.onSpinWait();
        }
        vector.wakeUp();
        waiter.join(TimeUnit.SECONDS.toMillis(Fabric.LIMIT_SECONDS));
        assertThat(waiter.isAlive()).isFalse();
    }

    @Test
    default void threadsOfTheirOwnCarryTrafficInParallel() throws Exception {
        Fabric devices = newFabric(2);
        try (EchoTraffic traffic = new EchoTraffic(devices, IdleStrategy.BACKOFF)) {
            traffic.run(2, 300);
        }
    }

    /** The lanes wait at once and for longer than the test may take, so that a message that wakes nobody fails it. */
    @Test
    default void aMessageWakesAWaitingThread() throws Exception {
        Fabric devices = newFabric(1);
        IdleStrategy sleepy = new IdleStrategy(0, 0, TimeUnit.SECONDS.toNanos(2 * Fabric.LIMIT_SECONDS));
        try (EchoTraffic traffic = new EchoTraffic(devices, sleepy)) {
            traffic.run(1, 300);
        }
    }
}
