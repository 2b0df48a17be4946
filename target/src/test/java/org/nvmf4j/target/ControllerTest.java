package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.verbs.Agent;

/** What queues on several lanes do to their controller. */
class ControllerTest {
    private static final long SECOND = 1_000_000_000L;
    /** Anywhere, as nanoTime may be: here it overflows soon. */
    private static final long START = Long.parseLong("7fffffff00000000", 16);

    private static final ControllerPeerMemory.Source NO_PEER_MEMORY = new ControllerPeerMemory.Source() {
        @Override
        public PeerPlacement place(Namespace namespace, Controller controller, PeerMemoryProvider seen) {
            return PeerPlacement.NONE;
        }

        @Override
        public CompletableFuture<Void> release(PortPeerMemory memory) {
            throw new AssertionError("nothing was taken");
        }
    };

    private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
    private final FakeQueue admin = new FakeQueue(0, START);
    private final Controller controller = new Controller(
            subsystem, 1, RawHost.HOST_NQN, RawHost.HOST_ID, TargetOptions.defaults(), 128, admin, NO_PEER_MEMORY);

    @Test
    void hearsTheHostOnEveryQueueAndRemembersWhenItEnds() {
        assertThat(controller.keepAliveDeadlineNanos()).isEqualTo(Agent.NO_DEADLINE);
        controller.katoMillis(4500);
        assertThat(controller.keepAliveDeadlineNanos() - START)
                .as("in steps of a second")
                .isEqualTo(5 * SECOND);
        FakeQueue first = new FakeQueue(1, START + SECOND);
        FakeQueue second = new FakeQueue(2, START + 2 * SECOND);
        assertThat(controller.attach(first)).isEqualTo(NvmeStatus.SUCCESS);
        assertThat(controller.attach(second)).isEqualTo(NvmeStatus.SUCCESS);
        first.lastCommandNanos = START + 60 * SECOND;
        assertThat(controller.keepAliveDeadlineNanos() - START).isEqualTo(65 * SECOND);
        controller.detach(second);
        controller.detach(first);
        assertThat(controller.keepAliveDeadlineNanos() - START)
                .as("the I/O queues have ended, their last command counts")
                .isEqualTo(65 * SECOND);
        admin.lastCommandNanos = START + 61 * SECOND;
        assertThat(controller.keepAliveDeadlineNanos() - START).isEqualTo(66 * SECOND);
    }

    @Test
    void endsItsQueuesAndTakesNoMore() {
        FakeQueue io = new FakeQueue(3, START);
        assertThat(controller.attach(io)).isEqualTo(NvmeStatus.SUCCESS);
        assertThat(NvmeStatus.code(controller.attach(new FakeQueue(3, START))))
                .isEqualTo(NvmeStatus.COMMAND_SEQUENCE_ERROR);
        controller.setCc(ControllerProperties.cc(true, 0, 0));
        assertThat(controller.isReady()).isTrue();
        controller.keepAliveExpired();
        assertThat(controller.isReady()).isFalse();
        assertThat(ControllerProperties.fatal(controller.csts())).isTrue();
        assertThat(io.closes).isEqualTo(1);
        assertThat(admin.closes).isEqualTo(1);
        controller.detach(admin);
        assertThat(io.closes).as("once").isEqualTo(1);
        assertThat(NvmeStatus.isSuccess(controller.attach(new FakeQueue(4, START))))
                .isFalse();
    }

    private static final class FakeQueue implements ControllerQueue {
        private final int qid;
        long lastCommandNanos;
        int closes;

        FakeQueue(int qid, long lastCommandNanos) {
            this.qid = qid;
            this.lastCommandNanos = lastCommandNanos;
        }

        @Override
        public int qid() {
            return qid;
        }

        @Override
        public long lastCommandNanos() {
            return lastCommandNanos;
        }

        @Override
        public void execute(Runnable task) {
            task.run();
        }

        @Override
        public void closeSoon(String reason) {
            closes++;
        }

        @Override
        public void respond(Request request) {
            throw new AssertionError("no request is held");
        }

        @Override
        public void buffered(Request request) {
            throw new AssertionError("no request");
        }

        @Override
        public void resume(Request request) {
            throw new AssertionError("no request");
        }

        @Override
        public void backendCompleted(Request request) {
            throw new AssertionError("no request");
        }
    }
}
