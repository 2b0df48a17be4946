package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.QueuePairState;
import org.nvmf4j.verbs.VerbsException;

/** Everything may be closed in every order, in the midst of traffic, and twice. */
interface CloseContract extends ContractSetup {
    /** What may be closed in which order on one side: c the connection, q the queue pair, r the regions. */
    List<String> ORDERS = List.of("cqr", "qcr", "qrc");

    int BYTES = 50_000;

    /** Starts traffic of every kind in both directions. */
    private static void load(Link link, RegisteredMemory hostMemory, RegisteredMemory targetMemory) {
        link.host().receive(hostMemory, 0, BYTES);
        link.target().receive(targetMemory, 0, BYTES);
        for (int i = 0; i < 3; i++) {
            link.host().write(hostMemory, 0, BYTES, targetMemory, 0);
            link.host().read(hostMemory, 0, BYTES, targetMemory, 0);
            link.target().write(targetMemory, 0, BYTES, hostMemory, 0);
            link.target().read(targetMemory, 0, BYTES, hostMemory, 0);
        }
        link.host().send(hostMemory, 0, BYTES);
        link.target().send(targetMemory, 0, BYTES);
    }

    private static void close(char what, Endpoint endpoint, RegisteredMemory memory) {
        switch (what) {
            case 'c' -> endpoint.connection().close();
            case 'q' -> endpoint.queuePair.close();
            case 'r' -> memory.close();
            default -> throw new IllegalArgumentException(String.valueOf(what));
        }
    }

    private void closeInTurns(String hostOrder, String targetOrder, boolean hostFirst, int turns)
            throws VerbsException {
        Fabric fabric = fabric();
        Link link = fabric.link(Fabric.parameters(1, 7));
        RegisteredMemory hostMemory = fabric.host.memory(BYTES);
        RegisteredMemory targetMemory = fabric.target.memory(BYTES);
        load(link, hostMemory, targetMemory);
        for (int step = 0; step < 6; step++) {
            for (int i = 0; i < turns; i++) {
                fabric.progress();
            }
            boolean hostsTurn = turns == 0 ? (step < 3) == hostFirst : (step % 2 == 0) == hostFirst;
            int index = turns == 0 ? step % 3 : step / 2;
            if (hostsTurn) {
                close(hostOrder.charAt(index), link.host(), hostMemory);
            } else {
                close(targetOrder.charAt(index), link.target(), targetMemory);
            }
        }
        fabric.idle();
        hostMemory.assertGuards();
        targetMemory.assertGuards();
        link.host().close();
        link.target().close();
        fabric.host.memories.clear();
        fabric.target.memories.clear();
    }

    @Test
    default void connectionsQueuePairsAndRegionsCloseInEveryOrder() throws Exception {
        for (String hostOrder : ORDERS) {
            for (String targetOrder : ORDERS) {
                for (int turns = 0; turns < 4; turns++) {
                    closeInTurns(hostOrder, targetOrder, true, turns);
                    closeInTurns(hostOrder, targetOrder, false, turns);
                }
            }
        }
    }

    @Test
    default void aDeviceClosesWithEverythingOpen() throws Exception {
        for (boolean hostFirst : new boolean[] {true, false}) {
            for (int turns = 0; turns < 3; turns++) {
                Fabric fabric = newFabric(1);
                Link link = fabric.link(Fabric.parameters(1, 7));
                RegisteredMemory hostMemory = fabric.host.memory(BYTES);
                RegisteredMemory targetMemory = fabric.target.memory(BYTES);
                load(link, hostMemory, targetMemory);
                for (int i = 0; i < turns; i++) {
                    fabric.progress();
                }
                Node first = hostFirst ? fabric.host : fabric.target;
                Node second = hostFirst ? fabric.target : fabric.host;
                Endpoint left = hostFirst ? link.target() : link.host();
                first.progress(); // the other side has requests now that it has not looked at
                first.closeDevice();
                RegisteredMemory free = hostFirst ? hostMemory : targetMemory;
                free.clear();
                fabric.idle();
                free.assertFresh();
                left.write(hostFirst ? targetMemory : hostMemory, 0, 64, free, 0);
                fabric.await("the other side's error", () -> left.state() == QueuePairState.ERROR);
                free.assertFresh();
                second.closeDevice();
                // What is closed from outside in is closed already.
                link.host().close();
                link.target().close();
                hostMemory.close();
                targetMemory.close();
                fabric.host.domain.close();
                fabric.target.domain.close();
                fabric.listener.close();
                first.device.close();
                fabric.close();
            }
        }
    }

    @Test
    default void anAddressIsFreeAgainWhenItsDeviceIsClosed() throws Exception {
        Assumptions.assumeTrue(ownsItsAddress(), "devices of this provider share an address");
        Fabric fabric = newFabric(1);
        try {
            assertThatThrownBy(() -> openLike(fabric.target.device).close())
                    .isInstanceOf(VerbsException.class)
                    .hasMessageNotContaining("\n")
                    .hasMessageContaining(
                            fabric.target.device.attributes().localAddress().getHostAddress());
        } finally {
            fabric.close();
        }
        try (Device again = openLike(fabric.target.device)) {
            assertThat(again.attributes().localAddress())
                    .isEqualTo(fabric.target.device.attributes().localAddress());
        }
    }
}
