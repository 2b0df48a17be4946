package org.nvmf4j.softroce;

import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.linux.NetworkRoutes;
import org.nvmf4j.verbs.ConnectionParameters;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;
import org.nvmf4j.verbs.Listener;
import org.nvmf4j.verbs.VerbsException;

/** Two devices of this process, a listener on the target, and the loop that drives both from the test's thread. */
final class Pair implements AutoCloseable {
    static final int MEMORY_BYTES = 1 << 20;
    /** Only a bound for failure: nothing is expected to take as long. */
    private static final long LIMIT_SECONDS = 60;

    final Device target;
    final Device host;
    final Listener listener;
    final List<Side> sides = new ArrayList<>();
    private final Arena arena = Arena.ofShared();
    private @Nullable Side accepting;

    Pair(Device target, Device host) throws VerbsException {
        this.target = target;
        this.host = host;
        this.listener = target.listen(0, request -> {
            Side side = accepting;
            if (side != null) {
                try {
                    side.connection = request.accept(side.queuePair, Side.PARAMETERS, side);
                } catch (VerbsException e) {
                    throw new AssertionError(e);
                }
            }
        });
    }

    static Pair open(SoftRoceProvider provider, DeviceOptions target, DeviceOptions host) throws VerbsException {
        Device opened = Device.open(provider, target);
        try {
            return new Pair(opened, Device.open(provider, host));
        } catch (VerbsException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    /** With default options on addresses of their own. */
    static Pair open() throws VerbsException {
        InetAddress address = randomLoopbackAddress();
        return open(new SoftRoceProvider(), DeviceOptions.at(address), DeviceOptions.towards(address));
    }

    static InetAddress randomLoopbackAddress() {
        return NetworkRoutes.randomLoopbackAddress(ThreadLocalRandom.current());
    }

    Side side(Device device, int vector) throws VerbsException {
        Side side = new Side(device, vector, arena, MEMORY_BYTES);
        sides.add(side);
        return side;
    }

    /** Starts to connect a queue pair of the host to one of the target. */
    void connect(Side hostSide, Side targetSide) throws VerbsException {
        accepting = targetSide;
        InetSocketAddress to = new InetSocketAddress(
                target.attributes().localAddress(), listener.localAddress().getPort());
        hostSide.connection =
                host.connect(hostSide.queuePair, to, new ConnectionParameters(new byte[0], 16, 16, 7, 7), hostSide);
    }

    void connectAndWait(Side hostSide, Side targetSide) throws VerbsException {
        connect(hostSide, targetSide);
        await(
                "the connection",
                () -> hostSide.events.contains("established") && targetSide.events.contains("established"));
    }

    int turn() {
        int work = 0;
        for (int i = 0; i < target.attributes().vectors(); i++) {
            work += target.vector(i).progress();
        }
        for (int i = 0; i < host.attributes().vectors(); i++) {
            work += host.vector(i).progress();
        }
        for (Side side : sides) {
            work += side.completions.poll(Integer.MAX_VALUE, side);
        }
        return work;
    }

    /** Drives everything until something is so. */
    void await(String what, BooleanSupplier done) {
        long start = System.nanoTime();
        while (!done.getAsBoolean()) {
            if (turn() == 0) {
                Thread.onSpinWait();
            }
            if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(LIMIT_SECONDS)) {
                throw new AssertionError("after " + LIMIT_SECONDS + " s still waiting for " + what + "; target "
                        + target.counters() + ", host " + host.counters());
            }
        }
    }

    /** Waits for a counter, which may lag behind by a turn. */
    void awaitCounter(Device device, Counter counter, long atLeast) {
        await(counter.label(), () -> count(device, counter) >= atLeast);
    }

    static long count(Device device, Counter counter) {
        return device.counters().getOrDefault(counter.label(), -1L);
    }

    @Override
    public void close() {
        host.close();
        target.close();
        arena.close();
    }
}
