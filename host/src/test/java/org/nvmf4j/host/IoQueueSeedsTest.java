package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.NvmeStatus;

/**
 * Reads, writes and flushes of random sizes against a target that answers in random order, sometimes with an error, and that is lost
 * at a random moment in some runs. Host and target take turns on one thread, so that a seed replays exactly.
 */
@SuppressWarnings("NullAway.Init")
class IoQueueSeedsTest {
    private static final int SEEDS = 40;
    private static final int REQUESTS = 250;
    private static final int BLOCKS = FakeTarget.NAMESPACE_BYTES / 512;
    private static final int BUFFER_BYTES = 16 << 20;
    private static final int MAX_BLOCKS = 900;
    private static final int ERROR = NvmeStatus.INTERNAL_ERROR | NvmeStatus.DNR;

    private record Transfer(boolean write, boolean flush, int lba, int blocks, int offset) {
        boolean overlaps(int otherLba, int otherBlocks) {
            return !flush && lba < otherLba + otherBlocks && otherLba < lba + blocks;
        }
    }

    private Random random;
    private FakeTarget target;
    private Namespace namespace;
    private IoQueue queue;
    private RegisteredBuffer buffer;
    private final List<FakeCommand> held = new ArrayList<>();
    private final Map<Long, Transfer> outstanding = new HashMap<>();
    private final byte[] model = new byte[FakeTarget.NAMESPACE_BYTES];
    private boolean lost;
    private long completed;

    @Test
    void endsEachRequestOnceWithTheRightData() throws IOException {
        long first = System.nanoTime();
        for (long seed = first; seed < first + SEEDS; seed++) {
            try {
                run(seed);
            } catch (Throwable e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
    }

    private void run(long seed) throws IOException {
        random = new Random(seed);
        held.clear();
        outstanding.clear();
        lost = false;
        completed = 0;
        try (HostFixture fixture = new HostFixture()) {
            target = fixture.target;
            target.recording = false;
            target.identify.inCapsuleDataBytes(random.nextInt(3) * 4096);
            target.fillRandomly(1, seed);
            MemorySegment.ofArray(model).copyFrom(target.store(1));
            target.script = command -> command.isIo() && held.add(command);
            int queueSize = 2 + random.nextInt(random.nextBoolean() ? 4 : 127);
            try (Host host = fixture.open(HostFixture.callerOptions()
                    .vectors(1)
                    .queueSize(queueSize)
                    .keepAliveMillis(0)
                    .build())) {
                Controller controller = fixture.connect(host);
                namespace = controller.namespace(1);
                queue = controller.openIoQueue();
                buffer = host.allocate(BUFFER_BYTES);
                target.takeOver();
                try {
                    transferAtRandom(random.nextBoolean() ? random.nextInt(REQUESTS) : Integer.MAX_VALUE);
                } finally {
                    target.letGo();
                }
            }
        }
    }

    private void transferAtRandom(int losesAfter) {
        long tag = 0;
        boolean ended = false;
        while (!ended && (tag < REQUESTS || queue.outstanding() > 0)) {
            while (tag < REQUESTS && random.nextInt(4) > 0 && submit(tag)) {
                tag++;
            }
            if (completed >= losesAfter && !lost) {
                lost = true;
                lose();
            }
            ended = poll();
            target.cycle();
            answer();
        }
        assertThat(outstanding).isEmpty();
        assertThat(queue.outstanding()).isZero();
        if (!lost) {
            assertThat(completed).isEqualTo(REQUESTS);
            assertThat(target.store(1).mismatch(MemorySegment.ofArray(model))).isEqualTo(-1);
        }
    }

    /** Whether the queue has ended. */
    private boolean poll() {
        try {
            queue.poll(this::onCompletion);
            return false;
        } catch (HostException e) {
            assertThat(lost).as(e.getMessage()).isTrue();
            return true;
        }
    }

    private void lose() {
        FakeCommand any = held.isEmpty() ? null : held.get(random.nextInt(held.size()));
        if (any == null || random.nextBoolean()) {
            target.disconnectIoQueuesOnLane();
        } else {
            any.queue.respond(any.commandId() ^ 0x0400, NvmeStatus.SUCCESS, 0);
        }
    }

    /** Executes some of the commands that the target has, in any order. */
    private void answer() {
        int count = random.nextInt(held.size() + 1);
        for (int i = 0; i < count; i++) {
            FakeCommand command = held.remove(random.nextInt(held.size()));
            if (random.nextInt(30) == 0) {
                command.complete(ERROR);
            } else {
                target.onIo(command);
            }
        }
    }

    private boolean submit(long tag) {
        int blocks = 1 + random.nextInt(random.nextBoolean() ? 12 : MAX_BLOCKS);
        int lba = random.nextInt(BLOCKS - blocks);
        int slot = (int) (tag % 30) * (BUFFER_BYTES / 32);
        Transfer transfer = new Transfer(random.nextBoolean(), random.nextInt(10) == 0, lba, blocks, slot);
        boolean busy = outstanding.values().stream()
                .anyMatch(other -> other.overlaps(lba, blocks) || other.offset() == transfer.offset());
        if (busy) {
            return false;
        }
        boolean taken;
        if (transfer.flush) {
            taken = queue.submitFlush(namespace, tag);
        } else if (transfer.write) {
            byte[] data = new byte[blocks * 512];
            random.nextBytes(data);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, buffer.segment(), slot, data.length);
            taken = queue.submitWrite(namespace, lba, blocks, buffer, slot, tag);
        } else {
            taken = queue.submitRead(namespace, lba, blocks, buffer, slot, tag);
        }
        if (taken) {
            outstanding.put(tag, transfer);
        }
        return taken;
    }

    private void onCompletion(long tag, int status) {
        Transfer transfer = outstanding.remove(tag);
        assertThat(transfer).as("request %d", tag).isNotNull();
        completed++;
        if (transfer == null || transfer.flush) {
            return;
        }
        MemorySegment expected = MemorySegment.ofArray(model).asSlice(transfer.lba * 512L, transfer.blocks * 512L);
        MemorySegment actual = buffer.segment().asSlice(transfer.offset, transfer.blocks * 512L);
        if (status == NvmeStatus.SUCCESS) {
            if (transfer.write) {
                expected.copyFrom(actual);
            }
            assertThat(actual.mismatch(expected)).as("request %d", tag).isEqualTo(-1);
            return;
        }
        assertThat(status).isEqualTo(lost ? status : ERROR);
        if (transfer.write) {
            // How much of it was written is the target's to know.
            expected.copyFrom(target.store(1).asSlice(transfer.lba * 512L, transfer.blocks * 512L));
        }
    }
}
