package org.nvmf4j.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nvmf4j.host.FakeQueue.FakeCommand;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.nvme.ReadWriteCommand;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;

@SuppressWarnings("NullAway.Init")
class IoQueueTest {
    private HostFixture fixture;
    private FakeTarget target;
    private Host host;
    private Controller controller;
    private Namespace namespace;
    private IoQueue queue;
    private final TreeMap<Long, Integer> statusByTag = new TreeMap<>();

    @BeforeEach
    void start() throws IOException {
        fixture = new HostFixture();
        target = fixture.target;
    }

    private void open(HostOptions options) throws IOException {
        host = fixture.open(options);
        controller = fixture.connect(host);
        namespace = controller.namespace(1);
        queue = controller.openIoQueue();
        target.log.clear();
    }

    private void open() throws IOException {
        open(HostFixture.callerOptions().build());
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

    private void finish() throws HostException {
        while (queue.outstanding() > 0) {
            queue.poll(this::onCompletion);
        }
    }

    private List<FakeCommand> ioCommands() {
        return target.log.stream().filter(FakeCommand::isIo).toList();
    }

    private static MemorySegment random(long seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return MemorySegment.ofArray(bytes);
    }

    @Test
    void writesInCapsuleWhatFitsAndByKeyedSglWhatDoesNot() throws IOException {
        open();
        RegisteredBuffer buffer = host.allocate(16_384);
        buffer.segment().copyFrom(random(1, 16_384));
        queue.submitWrite(namespace, 0, 8, buffer, 512, 1);
        queue.submitWrite(namespace, 100, 9, buffer, 4096, 2);
        finish();
        assertThat(statusByTag).containsEntry(1L, 0).containsEntry(2L, 0);
        List<FakeCommand> commands = ioCommands();
        long dptr = SubmissionQueueEntry.DPTR_OFFSET;
        assertThat(commands.get(0).inCapsuleData.byteSize()).isEqualTo(4096);
        assertThat(SglDescriptor.isInCapsule(commands.get(0).entry, dptr)).isTrue();
        assertThat(commands.get(1).inCapsuleData.byteSize()).isZero();
        assertThat(SglDescriptor.identifier(commands.get(1).entry, dptr)).isEqualTo(SglDescriptor.IDENTIFIER_KEYED);
        assertThat(SubmissionQueueEntry.flags(commands.get(0).entry, 0)).isEqualTo(SubmissionQueueEntry.FLAGS_SGL);
        MemorySegment store = target.store(1);
        assertThat(store.asSlice(0, 4096).mismatch(buffer.segment().asSlice(512, 4096)))
                .isEqualTo(-1);
        assertThat(store.asSlice(51_200, 4608).mismatch(buffer.segment().asSlice(4096, 4608)))
                .isEqualTo(-1);
    }

    @Test
    void writesByKeyedSglWhereTheControllerTakesNoInCapsuleData() throws IOException {
        target.identify.inCapsuleDataBytes(0);
        open();
        RegisteredBuffer buffer = host.allocate(512);
        queue.submitWrite(namespace, 0, 1, buffer, 0, 1);
        finish();
        assertThat(ioCommands().getFirst().inCapsuleData.byteSize()).isZero();
    }

    @Test
    void readsIntoTheCallersBufferAndNowhereElse() throws IOException {
        open();
        target.fillRandomly(1, 2);
        RegisteredBuffer buffer = host.allocate(8192);
        queue.submitRead(namespace, 3, 4, buffer, 1024, 9);
        finish();
        MemorySegment expected = MemorySegment.ofArray(new byte[8192]);
        MemorySegment.copy(target.store(1), 3 * 512, expected, 1024, 2048);
        assertThat(buffer.segment().mismatch(expected)).isEqualTo(-1);
    }

    @Test
    void splitsAtTheControllersLimitAndCompletesOnce() throws IOException {
        open(HostFixture.callerOptions().queueSize(4).build());
        target.fillRandomly(1, 3);
        int length = 1_000 * 512;
        RegisteredBuffer buffer = host.allocate(length);
        assertThat(namespace.maxBlocksPerCommand()).isEqualTo(256);
        queue.submitRead(namespace, 5, 1_000, buffer, 0, 1);
        finish();
        assertThat(statusByTag).hasSize(1).containsEntry(1L, 0);
        assertThat(ioCommands().stream().map(c -> ReadWriteCommand.blocks(c.entry, 0)))
                .containsExactly(256, 256, 256, 232);
        assertThat(buffer.segment().mismatch(target.store(1).asSlice(5 * 512, length)))
                .isEqualTo(-1);
    }

    @Test
    void completesASplitRequestOnceWithTheFirstErrorAndSendsNoMoreOfIt() throws IOException {
        open(HostFixture.callerOptions().queueSize(3).build());
        RegisteredBuffer buffer = host.allocate(4 << 20);
        target.script = command -> {
            if (command.isIo() && ReadWriteCommand.slba(command.entry, 0) == 256) {
                command.complete(NvmeStatus.UNRECOVERED_READ_ERROR | NvmeStatus.DNR);
                return true;
            }
            return false;
        };
        queue.submitRead(namespace, 0, 8192, buffer, 0, 1);
        queue.submitRead(namespace, 0, 1, buffer, 0, 2);
        finish();
        assertThat(statusByTag)
                .containsEntry(1L, NvmeStatus.UNRECOVERED_READ_ERROR | NvmeStatus.DNR)
                .containsEntry(2L, 0);
        assertThat(ioCommands()).hasSizeLessThan(10);
    }

    @Test
    void flushes() throws IOException {
        open();
        queue.submitFlush(namespace, 5);
        finish();
        assertThat(statusByTag).containsEntry(5L, 0);
        assertThat(ioCommands().getFirst().opcode()).isEqualTo(IoOpcode.FLUSH);
        assertThat(SubmissionQueueEntry.nsid(ioCommands().getFirst().entry, 0)).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 128, 1024})
    void keepsTheQueueFullAndNeverMore(int queueSize) throws IOException {
        target.capabilities = ControllerProperties.cap(1023, 2_000);
        open(HostFixture.callerOptions().queueSize(queueSize).build());
        target.recording = false;
        int[] outstanding = new int[2];
        List<FakeCommand> held = new ArrayList<>();
        target.script = command -> {
            if (!command.isIo()) {
                return false;
            }
            held.add(command);
            outstanding[1] = Math.max(outstanding[1], held.size());
            if (held.size() == queueSize - 1) {
                held.reversed().forEach(c -> c.complete(NvmeStatus.SUCCESS));
                held.clear();
            }
            return true;
        };
        RegisteredBuffer buffer = host.allocate(512);
        assertThat(queue.capacity()).isEqualTo(queueSize - 1);
        long tag = 0;
        for (int round = 0; round < 8; round++) {
            while (queue.submitWrite(namespace, 0, 1, buffer, 0, tag)) {
                tag++;
            }
            assertThat(queue.outstanding()).isEqualTo(queueSize - 1);
            finish();
        }
        assertThat(tag).isEqualTo(8L * (queueSize - 1));
        assertThat(statusByTag).hasSize((int) tag);
        assertThat(statusByTag.values()).containsOnly(0);
        target.run(() -> outstanding[0] = outstanding[1]);
        assertThat(outstanding[0]).isEqualTo(queueSize - 1);
    }

    @Test
    void requestsSubmittedWithinTheHandlerGoOn() throws IOException {
        open();
        RegisteredBuffer buffer = host.allocate(512);
        int[] left = {1_000};
        IoHandler again = (tag, status) -> {
            assertThat(status).isZero();
            if (left[0]-- > 0) {
                assertThat(queue.submitRead(namespace, tag, 1, buffer, 0, tag)).isTrue();
            }
        };
        for (int tag = 0; tag < queue.capacity(); tag++) {
            queue.submitRead(namespace, tag, 1, buffer, 0, tag);
        }
        while (queue.outstanding() > 0) {
            queue.poll(again);
        }
        assertThat(left[0]).isEqualTo(-queue.capacity());
    }

    @Test
    void refusesABufferThatDoesNotHaveTheBytes() throws IOException {
        open();
        RegisteredBuffer buffer = host.allocate(4096);
        assertThatThrownBy(() -> queue.submitRead(namespace, 0, 9, buffer, 0, 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> queue.submitRead(namespace, 0, 1, buffer, 3_585, 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> queue.submitRead(namespace, 0, 0, buffer, 0, 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> queue.submitRead(namespace, 0, 1, buffer, Long.MAX_VALUE, 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(queue.outstanding()).isZero();
    }

    @Test
    void passesTheTargetsStatusOn() throws IOException {
        open();
        RegisteredBuffer buffer = host.allocate(512);
        queue.submitRead(namespace, namespace.blocks(), 1, buffer, 0, 1);
        finish();
        assertThat(statusByTag).containsEntry(1L, NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);
        queue.submitRead(namespace, 0, 1, buffer, 0, 2);
        finish();
        assertThat(statusByTag).containsEntry(2L, 0);
    }

    @Test
    void opensAsManyQueuesAsGrantedAndTheirNumbersAgain() throws IOException {
        open(HostFixture.callerOptions().ioQueues(2).build());
        IoQueue second = controller.openIoQueue();
        assertThat(second.id()).isEqualTo(2);
        assertThatThrownBy(() -> controller.openIoQueue())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("all 2 I/O queues are open");
        queue.close();
        assertThatThrownBy(() -> queue.poll(this::onCompletion)).isInstanceOf(HostException.class);
        queue = controller.openIoQueue();
        assertThat(queue.id()).isEqualTo(1);
        queue.submitFlush(namespace, 1);
        finish();
    }

    @Test
    void refusesBlockingIoWhereCallersPoll() throws IOException {
        open();
        assertThatThrownBy(() -> namespace.flush())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("openIoQueue");
    }
}
