package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ServiceLoader;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.IdleStrategy;
import org.nvmf4j.verbs.WorkCompletionStatus;
import org.nvmf4j.verbs.spi.VerbsProvider;

/** The loopback provider keeps the contract. */
class LoopbackContractTest extends ProviderContractTest {
    @Override
    protected VerbsProvider provider() {
        return ServiceLoader.load(VerbsProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals("loopback"))
                .findFirst()
                .orElseThrow();
    }

    /** More than the contract asks for: whoever closes devices before the lanes gets no worse than an end of all traffic. */
    @Test
    void devicesMayCloseUnderTheirRunningLanes() throws Exception {
        for (int i = 0; i < 20; i++) {
            Fabric devices = newFabric(2);
            EchoTraffic traffic = new EchoTraffic(devices, IdleStrategy.BACKOFF);
            traffic.start(1, Integer.MAX_VALUE);
            if (i % 2 == 0) {
                traffic.awaitRounds(10);
            }
            devices.host.closeDevice();
            devices.target.closeDevice();
            traffic.close();
        }
    }

    @Test
    void hasNoMoreReadsOutstandingThanTheInitiatorDepth() throws Exception {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(64);
        RegisteredMemory remote = fabric().target.memory(64);
        for (int i = 0; i < 3 * Fabric.READS; i++) {
            link.host().read(local, 0, 64, remote, 0);
        }
        for (int turn = 0; turn < 4; turn++) {
            fabric().host.progress();
            assertThat(link.host().sent).hasSize(turn * Fabric.READS);
            fabric().target.progress();
        }
    }

    /** Longer than seven retries take on this provider. */
    @Test
    void sevenRetriesOfAReceiverNotReadyAreForEver() throws Exception {
        Link link = fabric().link(Fabric.parameters(7, 7));
        RegisteredMemory from = fabric().host.memory(64);
        RegisteredMemory room = fabric().target.memory(64);
        link.host().send(from, 0, 64);
        long start = System.nanoTime();
        while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(200)) {
            fabric().progress();
        }
        link.target().receive(room, 0, 64);
        fabric().awaitSent(link.host(), 1);
        assertThat(link.host().sent.getFirst().status()).isEqualTo(WorkCompletionStatus.SUCCESS);
    }

    @Test
    void whatThePeerHasDoneSucceedsEvenIfTheErrorStateComesFirst() throws Exception {
        Link link = fabric().link();
        RegisteredMemory local = fabric().host.memory(64);
        RegisteredMemory remote = fabric().target.memory(64);
        link.host().write(local, 0, 64, remote, 0);
        fabric().host.progress();
        fabric().target.progress();
        link.host().write(local, 0, 64, remote, 0);
        link.host().queuePair.toError();
        fabric().awaitSent(link.host(), 2);
        assertThat(link.host().sent)
                .extracting(Completed::status)
                .containsExactly(WorkCompletionStatus.SUCCESS, WorkCompletionStatus.WORK_REQUEST_FLUSHED);
    }
}
