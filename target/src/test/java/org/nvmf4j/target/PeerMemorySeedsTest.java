package org.nvmf4j.target;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.nvmf4j.nvme.NvmeStatus;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.BackendRequest;
import org.nvmf4j.target.spi.BackendStatus;
import org.nvmf4j.testkit.Seeds;
import org.nvmf4j.verbs.VerbsException;

/**
 * Namespaces with peer memory that are added, disabled, enabled, given another memory and removed, devices that vanish and come back,
 * and queues, controllers and the target that end, in every order and under running requests. What was written is read back; every
 * block and buffer is given back, once.
 */
class PeerMemorySeedsTest {
    private static final int NAMESPACES = 3;
    private static final int POLLED = NAMESPACES - 1;
    private static final int MANUAL = NAMESPACES;
    private static final int NAMESPACE_BYTES = 1 << 20;
    private static final int MAX_BLOCKS = 64;
    private static final String[] ADDRESSES = {"0000:03:00.0", "0000:04:00.0"};
    private static final int[] SIZES = {8 << 10, 96 << 10, 1 << 20, 3 << 20};

    /** Thousands of lines would say what was picked. */
    private static final Logger PICKED = Logger.getLogger(PeerMemories.class.getName());

    @BeforeAll
    static void silence() {
        PICKED.setLevel(Level.OFF);
    }

    @AfterAll
    static void speakAgain() {
        PICKED.setLevel(null);
    }

    @Test
    void losesNothingInAnyOrder() {
        Map<String, Long> seen = new HashMap<>();
        Seeds.each(500, seed -> new Scenario(seed, seen).run());
        if (Long.getLong("nvmf4j.seed") == null) {
            assertThat(seen).containsKeys("through peer memory", "lost", "verified", "given back", "mapped");
            for (PeerMemoryFallback why : PeerMemoryFallback.values()) {
                assertThat(seen.get(why.toString())).as("%s in all seeds", why).isPositive();
            }
        }
    }

    private static final byte[] NOTHING = new byte[0];

    /** A read or write that is under way. */
    private static final class Pending {
        private final RawQueue io;
        private final int id;
        /** What is in the namespace, by pieces. */
        private final byte[][] pieces;

        private final int piece;
        /** All of the piece if it is a write, {@link #NOTHING} if it is a read, null if it is a write of a part. */
        private final byte @Nullable [] written;

        Pending(RawQueue io, int id, byte[][] pieces, int piece, byte @Nullable [] written) {
            this.io = io;
            this.id = id;
            this.pieces = pieces;
            this.piece = piece;
            this.written = written;
        }
    }

    /** Memory that does a request when the test says so. */
    private static final class SlowMemory implements Backend {
        private final MemoryBackend memory = new MemoryBackend(NAMESPACE_BYTES);
        private final List<BackendRequest> waiting = new ArrayList<>();

        @Override
        public long sizeBytes() {
            return memory.sizeBytes();
        }

        @Override
        public int preferredBlockSizeBytes() {
            return 512;
        }

        @Override
        public BackendStatus submit(BackendRequest request) {
            waiting.add(request);
            return BackendStatus.PENDING;
        }

        void work(Random random) {
            while (!waiting.isEmpty() && random.nextInt(3) != 0) {
                BackendRequest request = waiting.remove(random.nextInt(waiting.size()));
                request.complete(memory.submit(request));
            }
        }

        @Override
        public String description() {
            return "slow memory";
        }

        @Override
        public void close() {
            memory.close();
        }
    }

    private static final class Scenario {
        private final Random random;
        private final Map<String, Long> seen;
        private final FakePeerMachine machine = new FakePeerMachine();
        private final List<FakePeerMemory> all = new ArrayList<>();
        private final Subsystem subsystem = new Subsystem(RawHost.SUBSYSTEM_NQN);
        private final RawHost host;
        private final List<RawQueue> admins = new ArrayList<>();
        private final List<RawQueue> ios = new ArrayList<>();
        private final List<Pending> pending = new ArrayList<>();
        private final List<CompletableFuture<Void>> ends = new ArrayList<>();
        /** Of each namespace whose data is looked at: per piece of MAX_BLOCKS what is in it, null if nobody knows. */
        private final Map<Integer, byte[][]> contents = new HashMap<>();

        private final List<SlowMemory> slow = new ArrayList<>();
        private PolledMemory polled = new PolledMemory(NAMESPACE_BYTES, 0);
        private ManualBackend manual = new ManualBackend(NAMESPACE_BYTES);
        private int nextQid = 1;

        Scenario(long seed, Map<String, Long> seen) throws VerbsException {
            random = new Random(seed);
            this.seen = seen;
            for (int i = 0; i < ADDRESSES.length; i++) {
                plug(i);
            }
            for (int nsid = 1; nsid <= NAMESPACES; nsid++) {
                add(nsid);
            }
            TargetOptions options = TargetOptions.builder()
                    .dataBufferBytes(4 << 20)
                    .inCapsuleDataBytes(4096)
                    .build();
            host = new RawHost(
                    options,
                    1 + random.nextInt(3),
                    false,
                    builder -> builder.peerMemory(machine).aside(Runnable::run),
                    subsystem);
        }

        private void plug(int device) {
            FakePeerMemory memory = new FakePeerMemory(ADDRESSES[device], SIZES[random.nextInt(SIZES.length)]);
            all.add(memory);
            machine.plug(memory);
        }

        private PeerMemoryChoice choice() {
            int what = random.nextInt(6);
            return what < 2
                    ? PeerMemoryChoice.AUTO
                    : what == 2 ? PeerMemoryChoice.OFF : PeerMemoryChoice.parse(ADDRESSES[what & 1]);
        }

        private void add(int nsid) {
            Backend backend;
            if (nsid == MANUAL) {
                manual = new ManualBackend(NAMESPACE_BYTES);
                backend = manual;
            } else if (nsid == POLLED) {
                polled = new PolledMemory(NAMESPACE_BYTES, random.nextLong());
                backend = polled;
            } else {
                SlowMemory made = new SlowMemory();
                slow.add(made);
                backend = made;
            }
            try {
                subsystem.addNamespace(Namespace.builder(nsid, backend)
                        .blockSizeBytes(512)
                        .peerMemory(choice())
                        .build());
                contents.put(nsid, new byte[NAMESPACE_BYTES / 512 / MAX_BLOCKS][]);
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageContaining("p2pmem="); // the device is not there now
            }
        }

        void run() throws VerbsException {
            admins.add(host.connectAdmin());
            ios.add(host.connectIo(nextQid++, 8));
            for (int i = 0; i < 80; i++) {
                step();
                for (int cycles = random.nextInt(4); cycles > 0; cycles--) {
                    host.pump();
                }
                takeAnswers();
            }
            if (random.nextBoolean()) {
                finishRequests();
            }
            CompletableFuture<Void> closed = host.target.closeAsync();
            host.pumpUntil("end of the target", () -> {
                endSomeRequests();
                return closed.isDone() && ends.stream().allMatch(CompletableFuture::isDone);
            });
            closed.join();
            ends.forEach(CompletableFuture::join);
            PeerMemoryStatistics statistics = host.target.peerMemoryStatistics();
            host.close();
            for (FakePeerMemory memory : all) {
                assertThat(memory.blocks())
                        .as("blocks of %s left", memory.pciAddress())
                        .isZero();
                count("given back", memory.blocksEver());
            }
            assertThat(polled.parts()).isZero();
            count("mapped", polled.mappingsEver);
            count("through peer memory", statistics.buffers());
            count("lost", statistics.lost());
            statistics.fallbacks().forEach((why, times) -> count(why.toString(), times));
        }

        private void count(String what, long times) {
            seen.merge(what, times, Long::sum);
        }

        private void step() throws VerbsException {
            int nsid = 1 + random.nextInt(NAMESPACES);
            boolean there = subsystem.namespaces().stream().anyMatch(one -> one.nsid() == nsid);
            switch (random.nextInt(20)) {
                case 0 -> {
                    if (ios.size() < 4 && isAlive(admins.getFirst())) {
                        ios.add(host.connectIo(nextQid++, 8));
                    }
                }
                case 1 -> {
                    if (admins.size() < 3) {
                        admins.add(host.connectAdmin());
                    }
                }
                case 2 -> end(random.nextInt(3) == 0 ? admins : ios);
                case 3 -> {
                    if (there) {
                        ends.add(subsystem.disableNamespace(nsid));
                    }
                }
                case 4 -> {
                    if (there && random.nextInt(3) == 0) {
                        ends.add(subsystem.removeNamespace(nsid));
                    }
                }
                case 5, 6 -> enable(nsid, there);
                case 7 -> changeDevices();
                case 8, 9, 10 -> endSomeRequests();
                default -> sendSomething(nsid);
            }
        }

        private void enable(int nsid, boolean there) {
            if (!there) {
                // As a user would, who must not have one file in two backends.
                if (ends.stream().allMatch(CompletableFuture::isDone)) {
                    add(nsid);
                }
                return;
            }
            try {
                if (!subsystem.isEnabled(nsid) && random.nextBoolean()) {
                    subsystem.choosePeerMemory(nsid, choice());
                }
                subsystem.enableNamespace(nsid);
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageContaining("p2pmem=");
            }
        }

        private void changeDevices() {
            int device = random.nextInt(ADDRESSES.length);
            FakePeerMemory present = machine.memories().stream()
                    .filter(memory -> memory.pciAddress().equals(ADDRESSES[device]))
                    .findFirst()
                    .orElse(null);
            if (present == null) {
                plug(device);
                return;
            }
            boolean quiet = random.nextBoolean();
            if (quiet) {
                host.pumpUntilQuiet();
            }
            machine.unplug(present);
            if (quiet) {
                present.memory()
                        .fill((byte) 0xff); // as a device that is not there reads; else a device still moves data
            }
            if (random.nextInt(4) != 0) {
                host.target.peerMemories().checkPresence();
            }
        }

        private void end(List<RawQueue> queues) {
            if (queues.size() < 2) {
                return;
            }
            RawQueue queue = queues.removeLast();
            if (random.nextBoolean()) {
                queue.connection.disconnect();
            } else {
                queue.vanish();
            }
        }

        private void endSomeRequests() {
            slow.forEach(memory -> memory.work(random));
            for (int i = random.nextInt(5); i > 0 && manual.waiting() > 0; i--) {
                BackendStatus status = random.nextInt(4) == 0 ? BackendStatus.MEDIA_ERROR : BackendStatus.SUCCESS;
                manual.complete(random.nextInt(manual.waiting()), status);
            }
        }

        /** A read or write of a piece that no other request touches, or one of the backend that is ended by hand. */
        private void sendSomething(int nsid) {
            RawQueue io = ios.get(random.nextInt(ios.size()));
            if (!isAlive(io) || !io.hasRoom()) {
                return;
            }
            if (nsid == MANUAL) {
                int blocks = 1 + random.nextInt(MAX_BLOCKS);
                if (random.nextBoolean()) {
                    host.sendRead(io, nsid, 0, blocks, 1 << 20, blocks * 512);
                } else {
                    host.sendWrite(io, nsid, 0, blocks, 1 << 20, blocks * 512);
                }
                return;
            }
            byte[][] pieces = contents.get(nsid);
            if (pieces == null || pending.stream().anyMatch(one -> one.io == io)) {
                return;
            }
            int piece = random.nextInt(pieces.length);
            if (pending.stream().anyMatch(one -> one.pieces == pieces && one.piece == piece)) {
                return;
            }
            int bytes = MAX_BLOCKS * 512;
            byte[] known = pieces[piece];
            if (known != null && random.nextBoolean()) {
                io.data.segment().asSlice(0, bytes).fill((byte) 0x5a);
                int id = host.sendRead(io, nsid, (long) piece * MAX_BLOCKS, MAX_BLOCKS, 0, bytes);
                pending.add(new Pending(io, id, pieces, piece, NOTHING));
                return;
            }
            if (random.nextInt(6) == 0) {
                int id = inCapsule(io, nsid, piece);
                pending.add(new Pending(io, id, pieces, piece, null));
                pieces[piece] = null;
                return;
            }
            byte[] written = new byte[bytes];
            random.nextBytes(written);
            MemorySegment.copy(MemorySegment.ofArray(written), 0, io.data.segment(), 0, bytes);
            int id = host.sendWrite(io, nsid, (long) piece * MAX_BLOCKS, MAX_BLOCKS, 0, bytes);
            pending.add(new Pending(io, id, pieces, piece, written));
            pieces[piece] = null;
        }

        /** Eight blocks in the capsule; the piece is then unknown, as only part of it was written. */
        private int inCapsule(RawQueue io, int nsid, int piece) {
            return host.sendWriteInCapsule(io, nsid, (long) piece * MAX_BLOCKS, 8, new byte[4096]);
        }

        /** Every command is answered by success, or by an error that there is a reason for; what is read is what was written. */
        private void takeAnswers() {
            pending.removeIf(one -> {
                if (!isAlive(one.io)) {
                    return true; // nobody knows what became of it
                }
                if (!one.io.isAnswered(one.id)) {
                    return false;
                }
                RawQueue.Answer answer = one.io.await(one.id);
                if (answer.status() != NvmeStatus.SUCCESS) {
                    assertThat(NvmeStatus.describe(answer.status()))
                            .containsAnyOf("Data Transfer Error", "Invalid Namespace");
                } else if (one.written == NOTHING) {
                    byte[] read =
                            one.io.data.segment().asSlice(0, MAX_BLOCKS * 512).toArray(ValueLayout.JAVA_BYTE);
                    assertThat(read).isEqualTo(one.pieces[one.piece]);
                    count("verified", 1);
                } else {
                    one.pieces[one.piece] = one.written;
                }
                return true;
            });
            ios.forEach(RawQueue::forgetAnswers);
        }

        private void finishRequests() {
            host.pumpUntil("end of the requests", () -> {
                endSomeRequests();
                takeAnswers();
                return pending.isEmpty()
                        && manual.waiting() == 0
                        && slow.stream().allMatch(one -> one.waiting.isEmpty());
            });
        }

        private static boolean isAlive(RawQueue queue) {
            return queue.established && !queue.ended && !queue.broken;
        }
    }
}
