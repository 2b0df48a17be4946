package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.verbs.VerbsException;

/**
 * Ends in every order: of queues, controllers, namespaces, the target, while requests wait for buffers, for RDMA READs and for a
 * backend that takes its time. Everything is given back, and each request of the backend ends.
 */
class DisconnectOrdersTest {
    private static final BackendStatus[] ENDS = {
        BackendStatus.SUCCESS, BackendStatus.SUCCESS, BackendStatus.SUCCESS, BackendStatus.MEDIA_ERROR
    };

    @Test
    void givesEverythingBackInEveryOrder() {
        Seeds.each(40, seed -> new Scenario(seed).run());
    }

    private static final class Scenario {
        private final Random random;
        private final ManualBackend manual = new ManualBackend(8 << 20);
        private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
        private final RawHost host;
        private final List<RawQueue> admins = new ArrayList<>();
        private final List<RawQueue> ios = new ArrayList<>();
        private CompletableFuture<Void> removed = CompletableFuture.completedFuture(null);
        private int nextQid = 1;

        Scenario(long seed) throws VerbsException {
            random = new Random(seed);
            subsystem.addNamespace(Namespace.of(1, new MemoryBackend(8 << 20)));
            subsystem.addNamespace(Namespace.of(2, manual));
            subsystem.addNamespace(Namespace.of(3, new NullBackend(8 << 20)));
            TargetOptions options = TargetOptions.builder()
                    .dataBufferBytes(8 << 20)
                    .maxIoQueues(100)
                    .inCapsuleDataBytes(4096)
                    .build();
            host = new RawHost(options, 1 + random.nextInt(3), subsystem);
        }

        void run() throws VerbsException {
            admins.add(host.connectAdmin());
            for (int i = 0; i < 120; i++) {
                step();
                for (int cycles = random.nextInt(4); cycles > 0; cycles--) {
                    host.pump();
                }
            }
            CompletableFuture<Void> closed = host.target.closeAsync();
            host.pumpUntil("end of the target", () -> {
                endSomeRequests();
                return closed.isDone() && removed.isDone();
            });
            closed.join();
            host.close();
            assertThat(manual.waiting()).isZero();
            assertThat(manual.isClosed()).isTrue();
        }

        private void step() throws VerbsException {
            switch (random.nextInt(16)) {
                case 0 -> {
                    if (ios.size() < 6 && nextQid <= 100 && isAlive(admins.getFirst())) {
                        ios.add(host.connectIo(nextQid++, 2 + random.nextInt(31)));
                    }
                }
                case 1 -> {
                    if (admins.size() < 4) {
                        admins.add(host.connectAdmin());
                    }
                }
                case 2 -> end(random.nextInt(3) == 0 ? admins : ios);
                case 3 -> {
                    if (random.nextInt(10) == 0
                            && removed.isDone()
                            && subsystem.namespaces().size() == 3) {
                        removed = subsystem.removeNamespace(2);
                    }
                }
                case 4, 5, 6 -> endSomeRequests();
                case 7 -> {
                    RawQueue admin = admins.get(random.nextInt(admins.size()));
                    if (isAlive(admin)) {
                        host.sendEventRequest(admin);
                    }
                }
                default -> sendSomething();
            }
        }

        private void end(List<RawQueue> queues) {
            if (queues.size() < 2) {
                return;
            }
            RawQueue queue = queues.remove(queues.size() - 1);
            if (random.nextBoolean()) {
                queue.connection.disconnect();
            } else {
                queue.vanish();
            }
        }

        private void endSomeRequests() {
            for (int i = random.nextInt(5); i > 0 && manual.waiting() > 0; i--) {
                manual.complete(random.nextInt(manual.waiting()), ENDS[random.nextInt(ENDS.length)]);
            }
        }

        /** As many commands as the queue takes, and a host may have under way. */
        private void sendSomething() {
            if (ios.isEmpty()) {
                return;
            }
            RawQueue io = ios.get(random.nextInt(ios.size()));
            if (!isAlive(io) || !io.hasRoom()) {
                return;
            }
            int nsid = 1 + random.nextInt(3);
            int blocks = random.nextInt(4) == 0 ? 2048 : 1 << random.nextInt(8);
            long slba = random.nextInt(16384 - blocks);
            if (random.nextBoolean()) {
                host.sendRead(io, nsid, slba, blocks, 0, blocks * 512);
            } else {
                host.sendWrite(io, nsid, slba, blocks, 0, blocks * 512);
            }
        }

        private static boolean isAlive(RawQueue queue) {
            return queue.established && !queue.ended && !queue.broken;
        }
    }
}
