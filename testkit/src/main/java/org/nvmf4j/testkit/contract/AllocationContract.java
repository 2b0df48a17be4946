package org.nvmf4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.nvmf4j.testkit.contract.Fabric.Link;
import org.nvmf4j.verbs.CompletionHandler;
import org.nvmf4j.verbs.CompletionVector;
import org.nvmf4j.verbs.ReceiveWorkRequest;
import org.nvmf4j.verbs.SendWorkRequest;
import org.nvmf4j.verbs.WorkCompletion;
import org.nvmf4j.verbs.WorkOpcode;

/** The I/O path allocates nothing once it is warm. */
interface AllocationContract extends ContractSetup {
    int WARM_UP = 20_000;
    int WINDOW = 4000;
    int WINDOWS = 10;

    @Test
    default void postingProgressAndPollingAllocateNothing() throws Exception {
        Assumptions.assumeTrue(allocatesNothing(), "this provider allocates");
        Link link = fabric().link();
        // Both run on this thread without the test kit, which keeps a record of everything.
        fabric().host.endpoints.remove(link.host());
        fabric().target.endpoints.remove(link.target());
        RegisteredMemory local = fabric().host.memory(64 + 20_000);
        RegisteredMemory remote = fabric().target.memory(64 + 20_000);
        RoundTrips trips = new RoundTrips(link, local, remote);
        trips.run(WARM_UP);
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        // The compiler may still be at work; what is allocated per operation is so in every window.
        for (int i = 0; i < WINDOWS && least > 0; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            trips.run(WINDOW);
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(least).as("bytes allocated by %d round trips", WINDOW).isZero();
        link.host().close();
        link.target().close();
    }

    /** A message, answered by a WRITE and a message, and a READ; sizes both inline and by reference. */
    final class RoundTrips implements CompletionHandler {
        private final Endpoint host;
        private final Endpoint target;
        private final CompletionVector hostVector;
        private final CompletionVector targetVector;
        private final SendWorkRequest command = new SendWorkRequest(1);
        private final SendWorkRequest read = new SendWorkRequest(1);
        private final SendWorkRequest write = new SendWorkRequest(1);
        private final SendWorkRequest response = new SendWorkRequest(1);
        private final ReceiveWorkRequest hostReceive = new ReceiveWorkRequest(1);
        private final ReceiveWorkRequest targetReceive = new ReceiveWorkRequest(1);
        private int completions;

        RoundTrips(Link link, RegisteredMemory local, RegisteredMemory remote) {
            host = link.host();
            target = link.target();
            hostVector = host.sendQueue.vector();
            targetVector = target.sendQueue.vector();
            command.setSge(local.region(), 0, 64);
            command.next(read);
            read.opcode(WorkOpcode.RDMA_READ);
            read.setSge(local.region(), 64, 10_000);
            read.remote(remote.address() + 64, remote.region().rkey());
            write.opcode(WorkOpcode.RDMA_WRITE);
            write.signaled(false);
            write.setSge(remote.region(), 64 + 10_000, 10_000);
            write.remote(local.address() + 64 + 10_000, local.region().rkey());
            write.next(response);
            response.setSge(remote.region(), 0, 16);
            hostReceive.setSge(local.region(), 0, 64);
            targetReceive.setSge(remote.region(), 0, 64);
        }

        void run(int rounds) {
            for (int i = 0; i < rounds; i++) {
                completions = 0;
                host.queuePair.postReceive(hostReceive);
                target.queuePair.postReceive(targetReceive);
                host.queuePair.postSend(command);
                turnUntil(3); // command sent and received, READ done
                target.queuePair.postSend(write);
                turnUntil(5);
            }
        }

        private void turnUntil(int wanted) {
            long start = System.nanoTime();
            while (completions < wanted) {
                hostVector.progress();
                targetVector.progress();
                host.sendQueue.poll(16, this);
                host.receiveQueue.poll(16, this);
                target.sendQueue.poll(16, this);
                target.receiveQueue.poll(16, this);
                if (System.nanoTime() - start > Fabric.LIMIT_SECONDS * 1_000_000_000L) {
                    throw new AssertionError("no completion in " + Fabric.LIMIT_SECONDS + " s");
                }
            }
        }

        @Override
        public void onCompletion(WorkCompletion completion) {
            if (!completion.isSuccess()) {
                throw new AssertionError(completion.status().words());
            }
            completions++;
        }
    }
}
