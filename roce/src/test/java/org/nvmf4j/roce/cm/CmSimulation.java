package org.nvmf4j.roce.cm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.ConnectionParameters;

/** Connection managers of some endpoints, each with a user of changing mind, on a network that loses, repeats, delays and reorders. */
final class CmSimulation {
    static final int PORT = 4420;
    private static final long MILLI = 1_000_000L;

    /** Something to do at a time; ties in the order of planning. */
    private record Step(long atNanos, long order, Runnable action) {}

    /** What a user knows of a connection. */
    private static final class View {
        final boolean active;

        @Nullable
        PathParameters path;

        boolean established;
        boolean abandoned;
        int ends;

        View(boolean active) {
            this.active = active;
        }
    }

    final class Endpoint {
        final InetAddress address;
        final ConnectionManager cm;
        private final Map<Integer, View> views = new HashMap<>();
        final List<PathParameters> established = new ArrayList<>();
        private int nextQpn = 2 + random.nextInt(1000);

        Endpoint(int number) throws Exception {
            address = InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) number});
            cm = new ConnectionManager(CmOptions.of(address, random.nextLong(), 4096), random.split());
            cm.listen(PORT);
        }

        void connect(Endpoint to) {
            // Now and then a queue pair that another connection may still have: the peer must refuse it as stale.
            int qpn = random.nextInt(20) == 0 ? nextQpn : ++nextQpn;
            int id = cm.connect(
                    new InetSocketAddress(to.address, PORT), qpn, random.nextInt(1 << 24), parameters(56), now);
            assertThat(views.put(id, new View(true))).isNull();
            drain();
        }

        void drain() {
            for (CmTransmit t = cm.pollTransmit(); t != null; t = cm.pollTransmit()) {
                transmit(address, t);
            }
            for (CmEvent e = cm.pollEvent(); e != null; e = cm.pollEvent()) {
                onEvent(e);
            }
            for (CmTransmit t = cm.pollTransmit(); t != null; t = cm.pollTransmit()) {
                transmit(address, t);
            }
            long deadline = cm.nextDeadlineNanos();
            if (deadline != ConnectionManager.NO_DEADLINE) {
                plan(Math.max(deadline, now), () -> {
                    cm.onTimeout(now);
                    if (cm.nextDeadlineNanos() != deadline) {
                        drain();
                    }
                });
            }
        }

        private void onEvent(CmEvent event) {
            int id = event.connectionId();
            View view = views.get(id);
            count(event.getClass().getSimpleName());
            if (event instanceof CmEvent.RequestReceived request) {
                assertThat(view).isNull();
                views.put(id, new View(false));
                plan(now + delay(), () -> answer(request));
                return;
            }
            assertThat(view).isNotNull();
            assertThat(view.abandoned).isFalse();
            switch (event) {
                case CmEvent.ReplyReceived reply -> {
                    assertThat(view.active && view.path == null).isTrue();
                    view.path = reply.path();
                    plan(now + delay(), () -> confirm(reply));
                }
                case CmEvent.Established e -> {
                    assertThat(!view.active && !view.established).isTrue();
                    onEstablished(e.connectionId(), view);
                }
                case CmEvent.Disconnected e -> {
                    assertThat(view.ends++).isZero();
                    assertThat(e.connectionId()).isEqualTo(id);
                }
                case CmEvent.Rejected e -> {
                    count("reason " + e.reason());
                    assertThat(view.ends++).isZero();
                    assertThat(view.established).isFalse();
                }
                default -> {
                    assertThat(view.ends++).isZero();
                    assertThat(view.established).isFalse();
                }
            }
        }

        private View view(int id) {
            return Objects.requireNonNull(views.get(id));
        }

        private void answer(CmEvent.RequestReceived request) {
            int id = request.connectionId();
            View view = view(id);
            int choice = random.nextInt(20);
            if (choice == 0) {
                cm.reject(id, 28, new byte[4]);
                views.remove(id);
            } else if (choice > 1) { // else: never
                int qpn = ++nextQpn;
                int psn = random.nextInt(1 << 24);
                ConnectionParameters own = parameters(196);
                boolean accepted = cm.accept(id, qpn, psn, own, now);
                if (accepted) {
                    view.path = request.path(qpn, psn, own);
                    if (random.nextInt(10) == 0) {
                        leave(id);
                    } else if (random.nextInt(3) == 0) {
                        plan(now + delay(), () -> rcPacket(qpn));
                    }
                } else {
                    assertThat(view.ends).isOne();
                }
            }
            drain();
        }

        /** The peer's first packet counts only if the peer has taken the reply. */
        private void rcPacket(int qpn) {
            boolean sent = endpoints.stream()
                    .flatMap(e -> e.established.stream())
                    .anyMatch(path ->
                            path.remoteQpn() == qpn && path.remoteAddress().equals(address));
            if (sent) {
                cm.onRcPacketReceived(qpn);
                drain();
            }
        }

        private void confirm(CmEvent.ReplyReceived reply) {
            int id = reply.connectionId();
            View view = view(id);
            if (view.abandoned) {
                return;
            }
            if (random.nextInt(20) == 0) {
                if (view.ends == 0) {
                    cm.reject(id, 3, new byte[0]);
                    view.abandoned = true;
                }
            } else if (cm.confirm(id)) {
                onEstablished(id, view);
            } else {
                assertThat(view.ends).isOne();
            }
            drain();
        }

        private void onEstablished(int id, View view) {
            view.established = true;
            established.add(view.path);
            if (random.nextInt(3) != 0) {
                plan(now + delay() * 10, () -> {
                    leave(id);
                    drain();
                });
            }
        }

        private void leave(int id) {
            View view = view(id);
            if (random.nextInt(3) == 0) {
                cm.abandon(id, now);
                view.abandoned = true;
            } else {
                cm.disconnect(id, now);
            }
        }

        /** Takes down what is left, as a queue pair would when its retries are exhausted. */
        void leaveAll() {
            views.forEach((id, view) -> {
                if (view.ends == 0 && !view.abandoned && view.path != null) {
                    cm.disconnect(id, now);
                }
            });
            drain();
        }

        void checkEnd() {
            assertThat(cm.connectionCount()).isZero();
            assertThat(cm.nextDeadlineNanos()).isEqualTo(ConnectionManager.NO_DEADLINE);
            views.values()
                    .forEach(
                            view -> assertThat(view.abandoned || view.ends == 1).isTrue());
        }
    }

    final SplittableRandom random;
    private final List<Endpoint> endpoints = new ArrayList<>();
    private final PriorityQueue<Step> steps =
            new PriorityQueue<>(Comparator.comparingLong(Step::atNanos).thenComparingLong(Step::order));
    private final double loss;
    private long order;
    private long now;

    /** How often each kind of event came, over all endpoints, and a pair of ends was compared. */
    final Map<String, Integer> counts = new TreeMap<>();

    CmSimulation(long seed) throws Exception {
        random = new SplittableRandom(seed);
        now = random.nextLong(1000) * MILLI;
        loss = random.nextDouble() * 0.4;
        int count = 1 + random.nextInt(3);
        for (int i = 1; i <= count; i++) {
            endpoints.add(new Endpoint(i));
        }
    }

    void run() {
        int connects = 1 + random.nextInt(6);
        for (int i = 0; i < connects; i++) {
            Endpoint from = pick();
            Endpoint to = pick();
            plan(now + random.nextLong(3000) * MILLI, () -> from.connect(to));
        }
        runToEnd();
        // Nothing under way any more: both ends of what was established by both agree in every number.
        for (Endpoint a : endpoints) {
            for (PathParameters path : a.established) {
                endpoints.stream()
                        .flatMap(b -> b.established.stream())
                        .filter(other -> path.remoteQpn() == other.localQpn()
                                && path.localQpn() == other.remoteQpn()
                                && path.udpSourcePort() == other.udpSourcePort()
                                && other.remoteAddress().equals(a.address))
                        .forEach(other -> checkPair(path, other));
            }
        }
        endpoints.forEach(Endpoint::leaveAll);
        runToEnd();
        endpoints.forEach(Endpoint::checkEnd);
    }

    private void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    private void checkPair(PathParameters a, PathParameters b) {
        count("pair");
        assertThat(a.sendPsn()).isEqualTo(b.receivePsn());
        assertThat(a.receivePsn()).isEqualTo(b.sendPsn());
        assertThat(a.pathMtuBytes()).isEqualTo(b.pathMtuBytes());
        assertThat(a.initiatorDepth()).isEqualTo(b.responderResources());
        assertThat(a.responderResources()).isEqualTo(b.initiatorDepth());
        assertThat(a.retryCount()).isEqualTo(b.retryCount());
    }

    private void runToEnd() {
        for (Step step = steps.poll(); step != null; step = steps.poll()) {
            now = step.atNanos;
            step.action.run();
        }
    }

    private void plan(long atNanos, Runnable action) {
        steps.add(new Step(atNanos, order++, action));
    }

    private void transmit(InetAddress from, CmTransmit t) {
        int copies = random.nextDouble() < loss ? 0 : random.nextInt(10) == 0 ? 2 : 1;
        for (int i = 0; i < copies; i++) {
            byte[] mad = t.mad().clone();
            plan(
                    now + delay(),
                    () -> endpoints.stream()
                            .filter(e -> e.address.equals(t.destination()))
                            .forEach(e -> {
                                e.cm.onMad(MemorySegment.ofArray(mad), 0, from, now);
                                e.drain();
                            }));
        }
    }

    /** Mostly short; now and then longer than a retry, or than all of them. */
    private long delay() {
        return switch (random.nextInt(20)) {
            case 0 -> random.nextLong(2000) * MILLI;
            case 1 -> random.nextInt(10) == 0 ? 20_000 * MILLI : 0;
            default -> random.nextLong(5 * MILLI);
        };
    }

    private Endpoint pick() {
        return endpoints.get(random.nextInt(endpoints.size()));
    }

    private ConnectionParameters parameters(int privateDataBytes) {
        return new ConnectionParameters(
                new byte[random.nextInt(privateDataBytes + 1)],
                random.nextInt(256),
                random.nextInt(256),
                random.nextInt(8),
                random.nextInt(8));
    }
}
