package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.CompletionQueueEntry;
import org.nvmf4j.nvme.NvmeStatus;

/** However a queue ends, each of its requests ends once, and so does every other queue of the controller. */
@SuppressWarnings("NullAway.Init")
class QueueFailureTest {
    private static final int REQUESTS = 20;

    private HostFixture fixture;
    private FakeTarget target;
    private Host host;
    private Controller controller;
    private Namespace namespace;
    private IoQueue queue;
    private RegisteredBuffer buffer;
    private final TreeMap<Long, Integer> statusByTag = new TreeMap<>();

    @BeforeEach
    void start() throws IOException {
        fixture = new HostFixture();
        target = fixture.target;
    }

    private void open(int vectors) throws IOException {
        open(HostFixture.callerOptions().vectors(vectors).ioQueues(2).build());
    }

    private void open(HostOptions options) throws IOException {
        host = fixture.open(options);
        controller = fixture.connect(host);
        namespace = controller.namespace(1);
        queue = controller.openIoQueue();
        buffer = host.allocate(1 << 20);
    }

    @AfterEach
    void stop() {
        if (host != null) {
            host.close();
        }
        fixture.close();
    }

    private void onCompletion(long tag, int status) {
        assertThat(statusByTag.put(tag, status))
                .as("request %d completed before", tag)
                .isNull();
    }

    private void submit() {
        for (int tag = 0; tag < REQUESTS; tag++) {
            assertThat(queue.submitWrite(namespace, 0, 1 + tag, buffer, 0, tag)).isTrue();
        }
    }

    /** Polls until the queue says why it has ended. */
    private HostException pollToTheEnd(IoQueue ending) {
        while (true) {
            try {
                ending.poll(this::onCompletion);
            } catch (HostException e) {
                return e;
            }
        }
    }

    private HostException checkThatEverythingEnds(String words) throws IOException {
        HostException cause = pollToTheEnd(queue);
        assertThat(cause).hasMessageContaining(words).hasMessageNotContaining("\n");
        assertThat(statusByTag).hasSize(REQUESTS);
        assertThat(statusByTag.values()).containsOnly(NvmeStatus.ABORTED_BY_HOST);
        assertThat(queue.outstanding()).isZero();
        assertThat(queue.submitFlush(namespace, 1)).isFalse();
        assertThatThrownBy(() -> controller.namespaceIds()).isInstanceOf(HostException.class);
        assertThat(controller.lost())
                .isCompletedWithValueMatching(
                        lost -> String.valueOf(lost.getMessage()).contains(words));
        controller.close();
        // The host is as good as new for another connection.
        target.script = command -> false;
        Controller again = fixture.connect(host);
        assertThat(again.namespaceIds()).containsExactly(1, 2);
        return cause;
    }

    private void onFirstIo(Consumer<FakeCommand> action) {
        boolean[] done = new boolean[1];
        target.script = command -> {
            if (command.isIo() && !done[0]) {
                done[0] = true;
                action.accept(command);
            }
            return command.isIo();
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void endsEverythingWhenTheTargetDisconnects(int vectors) throws IOException {
        open(vectors);
        onFirstIo(command -> command.queue.disconnect());
        submit();
        checkThatEverythingEnds("I/O queue 1 to");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void endsIoWhenTheAdminQueueIsLost(int vectors) throws IOException {
        open(vectors);
        onFirstIo(command -> target.disconnectAdminQueueOnLane());
        submit();
        checkThatEverythingEnds("admin queue to");
    }

    @Test
    void endsTheOtherQueueToo() throws IOException {
        open(3);
        IoQueue other = controller.openIoQueue();
        onFirstIo(command -> command.queue.disconnect());
        assertThat(other.submitFlush(namespace, 1_000)).isTrue();
        HostFixture.waitFor("the target's disconnect", () -> {
            try {
                other.poll((tag, status) -> statusByTag.put(tag, status));
                queue.poll((tag, status) -> {});
                return false;
            } catch (HostException e) {
                return true;
            }
        });
        pollToTheEnd(queue);
        assertThat(pollToTheEnd(other)).hasMessageContaining("I/O queue 2");
        assertThat(statusByTag).containsEntry(1_000L, NvmeStatus.ABORTED_BY_HOST);
    }

    @Test
    void rejectsAResponseToACommandThatIsNotOutstanding() throws IOException {
        open(3);
        onFirstIo(command -> command.queue.respond(command.commandId() ^ 0x8000, NvmeStatus.SUCCESS, 0));
        submit();
        checkThatEverythingEnds("completed a command that is not outstanding, command 0x");
    }

    @Test
    void rejectsAResponseToACommandBeyondTheQueue() throws IOException {
        open(3);
        onFirstIo(command -> command.queue.respond(0xffff, NvmeStatus.SUCCESS, 0));
        submit();
        checkThatEverythingEnds("completed a command that is not outstanding, command 0xffff");
    }

    @Test
    void rejectsASecondResponse() throws IOException {
        open(3);
        target.script = command -> {
            if (!command.isIo()) {
                return false;
            }
            command.complete(NvmeStatus.SUCCESS);
            command.complete(NvmeStatus.SUCCESS);
            return true;
        };
        assertThat(queue.submitFlush(namespace, 1)).isTrue();
        assertThat(pollToTheEnd(queue)).hasMessageContaining("not outstanding");
        assertThat(statusByTag).containsExactly(Map.entry(1L, 0));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 15})
    void rejectsAShortResponse(int length) throws IOException {
        open(3);
        onFirstIo(command -> {
            byte[] entry = new byte[CompletionQueueEntry.SIZE_BYTES];
            CompletionQueueEntry.write(MemorySegment.ofArray(entry), 0, 0, 0, 1, command.commandId(), 0);
            command.queue.sendRaw(Arrays.copyOf(entry, length));
        });
        submit();
        checkThatEverythingEnds("a response of " + length + " bytes");
    }

    @Test
    void rejectsALongResponse() throws IOException {
        open(3);
        onFirstIo(command -> command.queue.sendRaw(new byte[17]));
        submit();
        checkThatEverythingEnds("RECEIVE: local length error");
    }

    @Test
    void survivesDamageFromATargetThatWritesOutsideTheBuffer() throws IOException {
        open(3);
        buffer.segment().fill((byte) 1);
        onFirstIo(command -> target.sendData(command, MemorySegment.ofArray(new byte[(1 << 20) + 1])));
        assertThat(queue.submitRead(namespace, 0, 16, buffer, 0, 1)).isTrue();
        pollToTheEnd(queue);
        assertThat(statusByTag).containsEntry(1L, NvmeStatus.ABORTED_BY_HOST);
        assertThat(buffer.segment().get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 1);
    }

    @Test
    void endsEverythingWhenACommandGetsNoAnswerInTime() throws IOException {
        open(HostFixture.callerOptions()
                .commandTimeoutMillis(3_000)
                .keepAliveMillis(0)
                .build());
        onFirstIo(command -> {});
        submit();
        checkThatEverythingEnds("no answer to command 0x");
    }

    @Test
    void losesAControllerThatDoesNotAnswerKeepAlive() throws IOException {
        target.identify.ctratt(0);
        open(HostFixture.callerOptions().keepAliveMillis(2_000).build());
        target.script = command -> command.isIo() || command.opcode() == AdminOpcode.KEEP_ALIVE;
        submit();
        checkThatEverythingEnds("did not answer Keep Alive within 2000 ms");
    }

    @Test
    void losesAControllerThatRefusesKeepAlive() throws IOException {
        target.identify.ctratt(0);
        open(HostFixture.callerOptions().keepAliveMillis(2_000).build());
        target.script = command -> {
            if (!command.isIo() && command.opcode() == AdminOpcode.KEEP_ALIVE) {
                command.complete(NvmeStatus.KEEP_ALIVE_TIMEOUT_INVALID | NvmeStatus.DNR);
                return true;
            }
            return command.isIo();
        };
        submit();
        checkThatEverythingEnds("answered Keep Alive with");
    }

    @Test
    void keepsAnIdleControllerAlive() throws IOException {
        open(HostFixture.callerOptions().keepAliveMillis(4_000).build());
        HostFixture.waitFor(
                "a keep alive",
                () -> target.log.stream().anyMatch(c -> c.queue.id() == 0 && c.opcode() == AdminOpcode.KEEP_ALIVE));
        assertThat(controller.lost()).isNotDone();
    }

    @Test
    void endsWhatIsOutstandingOnClose() throws IOException {
        open(3);
        onFirstIo(command -> {});
        queue.poll(this::onCompletion);
        submit();
        queue.close();
        assertThat(statusByTag).hasSize(REQUESTS);
        assertThat(statusByTag.values()).containsOnly(NvmeStatus.ABORTED_BY_HOST);
        assertThat(controller.lost()).isNotDone();
        assertThat(controller.namespaceIds()).containsExactly(1, 2);
    }

    @Test
    void closesInReasonableTimeWhenTheTargetHasVanished() throws IOException {
        open(HostFixture.callerOptions().keepAliveMillis(2_000).build());
        target.withQueues(FakeQueue::vanish);
        queue.poll(this::onCompletion);
        submit();
        host.close();
        assertThat(queue.outstanding()).isZero();
        assertThat(statusByTag.values()).hasSize(REQUESTS).containsOnly(NvmeStatus.ABORTED_BY_HOST);
    }

    /** Each of these ends the association in some way; any order of any of them must end everything once. */
    private enum End {
        QUEUE_CLOSE,
        CONTROLLER_CLOSE,
        HOST_CLOSE,
        TARGET_DISCONNECTS_IO,
        TARGET_DISCONNECTS_ADMIN,
        POLL
    }

    @Test
    void endsInAnyOrder() throws IOException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < 12; round++) {
            List<End> ends = new ArrayList<>(EnumSet.allOf(End.class));
            Collections.shuffle(ends, random);
            statusByTag.clear();
            target.script = command -> command.isIo();
            open(HostFixture.callerOptions().vectors(1 + round % 2).build());
            queue.poll(this::onCompletion);
            submit();
            for (End end : ends) {
                end(end);
            }
            assertThat(queue.outstanding()).as("seed %d, %s", seed, ends).isZero();
            assertThat(statusByTag).as("seed %d, %s", seed, ends).hasSize(REQUESTS);
            target.close();
            fixture = new HostFixture();
            target = fixture.target;
        }
    }

    private void end(End end) {
        switch (end) {
            case QUEUE_CLOSE -> queue.close();
            case CONTROLLER_CLOSE -> controller.close();
            case HOST_CLOSE -> host.close();
            case TARGET_DISCONNECTS_IO ->
                target.withQueues(q -> {
                    if (q.id() > 0) {
                        q.disconnect();
                    }
                });
            case TARGET_DISCONNECTS_ADMIN -> target.run(target::disconnectAdminQueueOnLane);
            case POLL -> {
                try {
                    queue.poll(this::onCompletion);
                } catch (HostException e) {
                    assertThat(queue.outstanding()).isZero();
                }
            }
        }
    }
}
