package org.nvmf4j.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.zip.CRC32;
import org.HdrHistogram.Histogram;
import org.nvmf4j.linux.CpuAffinity;
import org.nvmf4j.linux.ReceiveBatch;
import org.nvmf4j.linux.TransmitQueue;
import org.nvmf4j.linux.UdpOptions;
import org.nvmf4j.linux.UdpPeer;
import org.nvmf4j.linux.UdpSocket;

/**
 * What bare UDP sockets do on this machine, between two threads that spin, over loopback: the floor that NVMe over RoCEv2 in
 * software stands on. Measured in the same run as what is compared with it.
 */
public final class UdpFloor {
    /** Bytes of a request of the ping-pong. */
    public static final int REQUEST_BYTES = 64;
    /** Bytes of an answer: 4 KiB and a completion. */
    public static final int ANSWER_BYTES = 4096 + 16;

    private static final int WARM_UP = 20_000;
    private static final int PAYLOAD_BYTES = 4096;
    private static final int SEGMENT_BYTES = PAYLOAD_BYTES + 28;
    private static final int SEGMENTS = UdpSocket.MAX_DATAGRAM_BYTES / SEGMENT_BYTES;
    private static final int WINDOW_BYTES = 1 << 20;
    private static final long PATIENCE_NANOS = 2_000_000_000;

    private UdpFloor() {}

    /**
     * Round trips of {@value #REQUEST_BYTES} bytes out and {@value #ANSWER_BYTES} back.
     *
     * @param trips how many to count, after a warm-up
     * @param pin whether to pin the two threads to the first two CPUs allowed
     * @return their times in nanoseconds
     */
    public static Histogram pingPong(int trips, boolean pin) throws IOException {
        int[] cpus = cpus(pin);
        try (Party a = new Party(REQUEST_BYTES);
                Party b = new Party(ANSWER_BYTES)) {
            UdpPeer toA = a.peer();
            UdpPeer toB = b.peer();
            Running<Long> answering = start("udp-floor-answer", cpus, 1, () -> {
                long answers = 0;
                while (!Thread.currentThread().isInterrupted()) {
                    if (b.receive.receive() > 0) {
                        b.send(toA);
                        answers++;
                    }
                }
                return answers;
            });
            Running<Histogram> asking = start("udp-floor-ask", cpus, 0, () -> {
                Histogram nanos = new Histogram(1, 60_000_000_000L, 3);
                for (int i = -WARM_UP; i < trips; i++) {
                    long start = System.nanoTime();
                    a.send(toB);
                    while (a.receive.receive() == 0) {
                        Thread.onSpinWait();
                        if (System.nanoTime() - start > PATIENCE_NANOS) {
                            throw new IOException("a datagram over loopback got lost");
                        }
                    }
                    if (i >= 0) {
                        nanos.recordValue(System.nanoTime() - start);
                    }
                }
                return nanos;
            });
            try {
                return asking.result();
            } finally {
                answering.stop();
            }
        }
    }

    /**
     * One way throughput of runs of 4 KiB packets with a CRC32 computed at both ends and one copy at the receiver, as a stream of
     * RoCEv2 packets needs, within a window of 1 MiB.
     *
     * @param millis for how long to count
     * @param pin whether to pin the two threads
     * @return payload bytes per second
     */
    public static double throughput(long millis, boolean pin) throws IOException {
        int[] cpus = cpus(pin);
        try (Party sender = new Party(SEGMENT_BYTES * SEGMENTS);
                Party receiver = new Party(Long.BYTES)) {
            UdpPeer toSender = sender.peer();
            UdpPeer toReceiver = receiver.peer();
            Running<Long> receiving = start("udp-floor-receive", cpus, 1, () -> receiveStream(receiver, toSender));
            Running<Double> sending =
                    start("udp-floor-send", cpus, 0, () -> sendStream(sender, toReceiver, millis * 1_000_000));
            try {
                return sending.result();
            } finally {
                receiving.stop();
            }
        }
    }

    private static double sendStream(Party party, UdpPeer peer, long forNanos) throws IOException {
        ByteBuffer bytes = party.out.asByteBuffer();
        CRC32 crc = new CRC32();
        int segments = Math.min(SEGMENTS, party.socket.maxSegments());
        long sent = 0;
        long acknowledged = 0;
        long start = System.nanoTime();
        long lastProgress = start;
        long now = start;
        while (now - start < forNanos) {
            while (sent - acknowledged <= WINDOW_BYTES - (long) segments * PAYLOAD_BYTES) {
                for (int i = 0; i < segments; i++) {
                    int at = i * SEGMENT_BYTES;
                    crc.reset();
                    crc.update(bytes.limit(at + SEGMENT_BYTES - 4).position(at));
                    party.out.set(ValueLayout.JAVA_INT_UNALIGNED, at + SEGMENT_BYTES - 4L, (int) crc.getValue());
                    party.transmit.begin(peer, SEGMENT_BYTES);
                    party.transmit.append(party.out, at, SEGMENT_BYTES);
                }
                party.flush();
                sent += (long) segments * PAYLOAD_BYTES;
            }
            now = System.nanoTime();
            int slots = party.receive.receive();
            for (int slot = 0; slot < slots; slot++) {
                acknowledged = Math.max(
                        acknowledged,
                        party.receive.buffer().get(ValueLayout.JAVA_LONG_UNALIGNED, party.receive.offset(slot)));
                lastProgress = now;
            }
            if (now - lastProgress > PATIENCE_NANOS) {
                throw new IOException("the stream over loopback stalled: raise net.core.rmem_max to 4 MiB or more");
            }
        }
        return acknowledged * 1e9 / (now - start);
    }

    private static long receiveStream(Party party, UdpPeer peer) throws IOException {
        MemorySegment in = party.receive.buffer();
        ByteBuffer bytes = in.asByteBuffer();
        MemorySegment copy = party.arena.allocate(1 << 20, 4096);
        CRC32 crc = new CRC32();
        long received = 0;
        long acknowledged = 0;
        while (!Thread.currentThread().isInterrupted()) {
            int slots = party.receive.receive();
            for (int slot = 0; slot < slots; slot++) {
                long from = party.receive.offset(slot);
                long to = from + party.receive.lengthBytes(slot);
                for (long at = from; at + SEGMENT_BYTES <= to; at += SEGMENT_BYTES) {
                    crc.reset();
                    crc.update(bytes.limit((int) at + SEGMENT_BYTES - 4).position((int) at));
                    if ((int) crc.getValue() == in.get(ValueLayout.JAVA_INT_UNALIGNED, at + SEGMENT_BYTES - 4)) {
                        MemorySegment.copy(in, at + 24, copy, received & (copy.byteSize() - 1), PAYLOAD_BYTES);
                        received += PAYLOAD_BYTES;
                    }
                }
            }
            if (received - acknowledged >= WINDOW_BYTES / 8 || (slots == 0 && received > acknowledged)) {
                party.out.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, received);
                party.send(peer);
                acknowledged = received;
            }
        }
        return received;
    }

    private static int[] cpus(boolean pin) throws IOException {
        return pin && CpuAffinity.isSupported() ? CpuAffinity.allowedCpus() : new int[0];
    }

    private interface Work<T> {
        T run() throws IOException;
    }

    private static <T> Running<T> start(String name, int[] cpus, int index, Work<T> work) {
        FutureTask<T> task = new FutureTask<>(() -> {
            if (cpus.length > 1) {
                CpuAffinity.pinCurrentThread(cpus[index]);
            }
            return work.run();
        });
        return new Running<>(Thread.ofPlatform().daemon().name(name).start(task), task);
    }

    private record Running<T>(Thread thread, FutureTask<T> task) {
        T result() throws IOException {
            try {
                return task.get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof IOException io ? io : new IOException("measuring bare UDP failed", e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }

        /** Ends the thread, so that its sockets and memory may be freed. */
        void stop() {
            thread.interrupt();
            boolean interrupted = false;
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A socket with what it sends and receives in. */
    private static final class Party implements AutoCloseable {
        private final Arena arena = Arena.ofShared();
        private final UdpSocket socket;
        private final ReceiveBatch receive;
        private final TransmitQueue transmit;
        private final MemorySegment out;

        Party(int outBytes) throws IOException {
            socket = UdpSocket.open(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0, UdpOptions.defaults());
            receive = socket.newReceiveBatch(arena, 16);
            transmit = socket.newTransmitQueue(arena, 64, 1024, (peer, datagrams, bytes, errno) -> {
                throw new UncheckedIOException(new IOException("the kernel refused a datagram, errno " + errno));
            });
            out = arena.allocate(outBytes, 64);
        }

        UdpPeer peer() {
            return UdpPeer.of(socket.localAddress());
        }

        void send(UdpPeer to) throws IOException {
            transmit.begin(to, (int) out.byteSize());
            transmit.append(out, 0, (int) out.byteSize());
            flush();
        }

        void flush() throws IOException {
            while (!transmit.isEmpty()) {
                transmit.flush();
            }
        }

        @Override
        public void close() {
            socket.close();
            arena.close();
        }
    }
}
