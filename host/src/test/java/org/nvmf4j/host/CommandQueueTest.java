package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.RdmaPrivateData;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.IdleStrategy;

/** Command slots and time limits, with the time in the test's hands. */
@SuppressWarnings("NullAway.Init")
class CommandQueueTest implements CommandQueue.Listener {
    private static final int QUEUE_SIZE = 8;
    private static final long LIMIT_NANOS = TimeUnit.HOURS.toNanos(8);
    private static final long EPOCH_NANOS = LIMIT_NANOS / 8;

    private FakeTarget target;
    private Device device;
    private HostLane lane;
    private CommandQueue queue;
    private long nowNanos;
    private final List<Integer> completed = new ArrayList<>();
    private final List<Integer> lost = new ArrayList<>();
    private final List<FakeCommand> held = new ArrayList<>();
    private boolean connected;
    private boolean closed;
    private @Nullable HostException cause;

    @BeforeEach
    void connect() throws IOException {
        target = new FakeTarget();
        target.script = command -> held.add(command);
        device = Device.open("loopback", DeviceOptions.towards(target.address.getAddress()));
        lane = new HostLane(device.vector(0), IdleStrategy.BUSY_SPIN, false);
        InetSocketAddress address = target.address;
        queue = new CommandQueue(new QueueLabel(0, address), QUEUE_SIZE, LIMIT_NANOS, LIMIT_NANOS, this);
        nowNanos = System.nanoTime();
        queue.connect(
                new QueueContext(lane, device, device.allocateProtectionDomain(), address, LIMIT_NANOS, LIMIT_NANOS),
                new RdmaPrivateData.Request(0, QUEUE_SIZE, QUEUE_SIZE - 1, 0));
        HostFixture.waitFor("the connection", () -> {
            cycle();
            return connected;
        });
        tick();
    }

    @AfterEach
    void close() {
        device.close();
        target.close();
    }

    private void cycle() {
        lane.doWork();
        queue.poll();
    }

    /** Lets an eighth of the time limit go by. */
    private void tick() {
        nowNanos += EPOCH_NANOS;
        queue.tick(nowNanos);
    }

    private int post() {
        int slot = queue.begin();
        SubmissionQueueEntry.write(
                queue.capsule(), queue.capsuleOffset(), AdminOpcode.KEEP_ALIVE, queue.commandId(slot), 0);
        queue.post();
        return slot;
    }

    private void awaitHeld(int count) {
        boolean[] there = new boolean[1];
        HostFixture.waitFor("the commands", () -> {
            cycle();
            target.run(() -> there[0] = held.size() == count);
            return there[0];
        });
    }

    @Test
    void failsWhenACommandExceedsItsTimeAndNotBefore() {
        post();
        awaitHeld(1);
        for (int i = 0; i < 8; i++) {
            tick();
            cycle();
            assertThat(closed).as("eighth %d", i + 1).isFalse();
        }
        tick();
        cycle();
        assertThat(closed).isTrue();
        assertThat(lost).hasSize(1);
        assertThat(cause).hasMessageContaining("no answer to command 0x").hasMessageContaining("within 28800000 ms");
    }

    @Test
    void doesNotCountTimeInWhichNobodyPolls() {
        post();
        awaitHeld(1);
        for (int i = 0; i < 100; i++) {
            tick();
        }
        cycle();
        assertThat(closed).isFalse();
        target.run(() -> held.getFirst().complete(NvmeStatus.SUCCESS));
        HostFixture.waitFor("the response", () -> {
            cycle();
            return completed.size() == 1;
        });
    }

    @Test
    void givesACommandWithoutLimitAllTheTimeOfTheWorld() {
        queue.setNoTimeout(post());
        awaitHeld(1);
        for (int i = 0; i < 100; i++) {
            tick();
            cycle();
        }
        assertThat(closed).isFalse();
    }

    @Test
    void holdsAsManyCommandsAsItHasEntriesButOne() {
        for (int i = 0; i < QUEUE_SIZE - 1; i++) {
            assertThat(queue.canBegin()).isTrue();
            post();
        }
        assertThat(queue.canBegin()).isFalse();
        assertThat(queue.inFlight()).isEqualTo(QUEUE_SIZE - 1);
        awaitHeld(QUEUE_SIZE - 1);
        target.run(() -> held.reversed().forEach(command -> command.complete(NvmeStatus.SUCCESS)));
        HostFixture.waitFor("the responses", () -> {
            cycle();
            return queue.inFlight() == 0;
        });
        assertThat(completed).hasSize(QUEUE_SIZE - 1).doesNotHaveDuplicates();
    }

    @Test
    void givesACommandAnotherIdWhenItsSlotIsUsedAgain() {
        target.script = command -> {
            command.complete(NvmeStatus.SUCCESS);
            return true;
        };
        List<Integer> ids = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            int slot = post();
            ids.add(queue.commandId(slot));
            HostFixture.waitFor("the response", () -> {
                cycle();
                return queue.inFlight() == 0;
            });
        }
        assertThat(ids).doesNotHaveDuplicates().doesNotContain(0xffff);
    }

    @Test
    void endsWhatIsOutstandingWhenItDisconnects() {
        post();
        post();
        awaitHeld(2);
        queue.disconnect();
        queue.disconnect();
        HostFixture.waitFor("the end", () -> {
            cycle();
            return closed;
        });
        assertThat(cause).isNull();
        assertThat(lost).hasSize(2);
        assertThat(queue.canBegin()).isFalse();
        assertThat(queue.endCause()).hasMessageContaining("admin queue to").hasMessageContaining("was closed");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 8, 9, 32, 128, 129, 1000, 1024})
    void hasAPowerOfTwoOfCapsulesForEveryQueueSize(int queueSize) {
        int capsules = CommandQueue.capsules(queueSize);
        assertThat(Integer.bitCount(capsules)).isEqualTo(1);
        assertThat(capsules).isBetween(queueSize, 4 * queueSize);
    }

    @Override
    public void onConnected() {
        connected = true;
    }

    @Override
    public void onCommandCompleted(int slot, long result, int status) {
        completed.add(slot);
    }

    @Override
    public void onCommandLost(int slot, HostException why) {
        lost.add(slot);
    }

    @Override
    public void onClosed(@Nullable HostException why) {
        assertThat(closed).as("closed before").isFalse();
        closed = true;
        cause = why;
    }
}
