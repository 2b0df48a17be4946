package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.AdminOpcode;
import org.nvmf4j.nvme.ControllerProperties;
import org.nvmf4j.nvme.IoOpcode;
import org.nvmf4j.nvme.SglDescriptor;
import org.nvmf4j.nvme.SubmissionQueueEntry;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.verbs.VerbsException;

/** Random capsules: whatever a host sends, it gets one response or loses its connection, and nobody else notices. */
class CapsuleFuzzTest {
    private static final int[] ADMIN_OPCODES = {
        AdminOpcode.FABRICS,
        AdminOpcode.IDENTIFY,
        AdminOpcode.GET_LOG_PAGE,
        AdminOpcode.SET_FEATURES,
        AdminOpcode.GET_FEATURES,
        AdminOpcode.ABORT,
        AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST,
        AdminOpcode.KEEP_ALIVE
    };
    private static final int[] IO_OPCODES = {
        IoOpcode.READ,
        IoOpcode.WRITE,
        IoOpcode.FLUSH,
        IoOpcode.WRITE_ZEROES,
        IoOpcode.DATASET_MANAGEMENT,
        IoOpcode.COMPARE,
        AdminOpcode.FABRICS
    };
    private static final int[] LENGTHS = {0, 1, 16, 20, 512, 1024, 4096, 4100, 8192, 1 << 20, (1 << 20) + 512};

    private static RawHost open() throws VerbsException {
        Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
        subsystem.addNamespace(Namespace.of(1, new MemoryBackend(1 << 20)));
        subsystem.addNamespace(Namespace.of(2, new NullBackend(1L << 50)));
        return new RawHost(TargetOptions.builder().dataBufferBytes(1 << 20).build(), 1, subsystem);
    }

    @Test
    void answersEveryCapsuleOnce() {
        Seeds.each(15, seed -> {
            try (RawHost host = open()) {
                Random random = new Random(seed);
                RawQueue admin = host.connectAdmin();
                RawQueue io = host.connectIo(1, 32);
                Set<Integer> events = new HashSet<>();
                for (int i = 0; i < 300; i++) {
                    boolean toAdmin = random.nextBoolean();
                    RawQueue queue = toAdmin ? admin : io;
                    int id = queue.nextCommandId();
                    int opcode = fill(random, queue, id, toAdmin ? ADMIN_OPCODES : IO_OPCODES);
                    queue.send(SubmissionQueueEntry.SIZE_BYTES + (toAdmin ? 0 : random.nextInt(4097)));
                    host.pumpUntilQuiet();
                    if (toAdmin && opcode == AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST && !queue.isAnswered(id)) {
                        events.add(id);
                    } else {
                        assertThat(queue.await(id).commandId()).isEqualTo(id);
                    }
                }
                assertThat(events).hasSizeLessThanOrEqualTo(4);
                assertThat(admin.broken || io.broken).isFalse();
                host.setProperty(admin, ControllerProperties.CC, 4, 0);
                host.enable(admin);
                assertThat(host.read(io, 2, 0, 1, 512)).containsOnly(0);
            }
        });
    }

    /** A command that is mostly plausible, whose data, if it names any, is there. */
    private static int fill(Random random, RawQueue queue, int id, int[] opcodes) {
        MemorySegment memory = queue.memory();
        long at = queue.capsule();
        byte[] bytes = new byte[SubmissionQueueEntry.SIZE_BYTES];
        random.nextBytes(bytes);
        for (int i = 0; i < bytes.length; i++) {
            int kind = random.nextInt(4);
            bytes[i] = kind < 2 ? 0 : kind == 2 ? (byte) -1 : bytes[i];
        }
        MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, at, bytes.length);
        int opcode = random.nextInt(8) == 0 ? random.nextInt(256) : opcodes[random.nextInt(opcodes.length)];
        SubmissionQueueEntry.opcode(memory, at, opcode);
        SubmissionQueueEntry.commandId(memory, at, id);
        if (random.nextInt(10) > 0) {
            SubmissionQueueEntry.flags(memory, at, SubmissionQueueEntry.FLAGS_SGL);
        }
        if (random.nextInt(4) > 0) {
            SubmissionQueueEntry.nsid(memory, at, random.nextInt(4));
        }
        if (random.nextInt(2) > 0) {
            // Small fields: they pass more checks.
            for (int i = 40; i < 64; i++) {
                memory.set(ValueLayout.JAVA_BYTE, at + i, (byte) (random.nextInt(3) > 0 ? 0 : random.nextInt(16)));
            }
        }
        fillSgl(random, queue, memory, at + SubmissionQueueEntry.DPTR_OFFSET);
        return opcode;
    }

    private static void fillSgl(Random random, RawQueue queue, MemorySegment memory, long sgl) {
        int length = random.nextInt(4) == 0 ? random.nextInt(1 << 20) : LENGTHS[random.nextInt(LENGTHS.length)];
        switch (random.nextInt(8)) {
            case 0 -> SglDescriptor.writeNone(memory, sgl);
            case 1 -> SglDescriptor.writeInCapsule(memory, sgl, random.nextInt(2) == 0 ? 0 : random.nextLong(), length);
            case 2 -> {
                // Any type but a keyed one, whose random key would rightly end the connection.
                int type = random.nextInt(256);
                memory.set(ValueLayout.JAVA_BYTE, sgl + 15, (byte) (type >>> 4 == 4 ? type + 0x10 : type));
            }
            default ->
                SglDescriptor.writeKeyed(
                        memory,
                        sgl,
                        queue.data.address() + random.nextInt(1 << 19),
                        length,
                        queue.data.rkey(),
                        random.nextBoolean());
        }
    }

    @Test
    void survivesNoise() {
        Seeds.each(15, seed -> {
            try (RawHost host = open()) {
                Random random = new Random(seed);
                RawQueue healthy = host.connectAdmin();
                RawQueue noisy = null;
                for (int i = 0; i < 100; i++) {
                    if (noisy == null || noisy.broken || noisy.ended) {
                        int controller = random.nextInt(3);
                        noisy = controller == 0
                                ? host.connectQueuePair(random.nextInt(3), 16)
                                : controller == 1 ? host.connectAdmin() : connectIo(host, random);
                    }
                    byte[] bytes = new byte[random.nextInt(64, 4200)];
                    random.nextBytes(bytes);
                    if (random.nextBoolean()) {
                        bytes[1] = SubmissionQueueEntry.FLAGS_SGL;
                    }
                    MemorySegment.copy(bytes, 0, noisy.memory(), ValueLayout.JAVA_BYTE, noisy.capsule(), bytes.length);
                    noisy.send(random.nextInt(3) == 0 ? bytes.length : 64);
                    RawQueue now = noisy;
                    int answers = now.answerCount;
                    host.pumpUntil(
                            "answer or end",
                            () -> now.answerCount > answers || now.broken || now.ended || isHeld(bytes));
                    host.pumpUntilQuiet();
                    now.forgetAnswers();
                }
                assertThat(host.getProperty(healthy, ControllerProperties.CSTS, 4)
                                .result())
                        .isEqualTo(1);
            }
        });
    }

    private static boolean isHeld(byte[] capsule) {
        return (capsule[0] & 0xff) == AdminOpcode.ASYNCHRONOUS_EVENT_REQUEST;
    }

    private static RawQueue connectIo(RawHost host, Random random) throws VerbsException {
        RawQueue queue = host.connectQueuePair(1 + random.nextInt(100), 16);
        host.sendConnect(queue, queue.qid, 15, 0, RawHost.connectData(1));
        return queue;
    }
}
