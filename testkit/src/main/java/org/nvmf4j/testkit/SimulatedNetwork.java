package org.nvmf4j.testkit;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Carries packets between named endpoints in virtual time, and loses, repeats, reorders, delays and damages them as its
 * {@linkplain NetworkConditions conditions} say. The same generator seed and the same calls give the same fate to every packet.
 */
public final class SimulatedNetwork {
    private final VirtualClock clock;
    private final RandomGenerator random;
    private final Map<String, PacketReceiver> endpoints = new HashMap<>();
    private final Map<String, Long> lastArrivals = new HashMap<>();
    private final Set<String> cutLinks = new HashSet<>();
    private final PriorityQueue<Flight> flights = new PriorityQueue<>();
    private NetworkConditions conditions;
    private long sent;
    private long delivered;
    private long lost;
    private long corrupted;

    @SuppressWarnings("ArrayRecordComponent") // packets are compared by arrival alone
    private record Flight(long arrivalNanos, long order, String from, String to, byte[] packet)
            implements Comparable<Flight> {
        @Override
        public int compareTo(Flight other) {
            int byTime = Long.compare(arrivalNanos, other.arrivalNanos);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    public SimulatedNetwork(VirtualClock clock, RandomGenerator random, NetworkConditions conditions) {
        this.clock = clock;
        this.random = random;
        this.conditions = conditions;
    }

    /** Changes the fate of packets sent from now on. */
    public void conditions(NetworkConditions conditions) {
        this.conditions = conditions;
    }

    /** Adds an endpoint, or gives one another receiver. */
    public void attach(String name, PacketReceiver receiver) {
        endpoints.put(name, receiver);
    }

    /** Takes an endpoint away: what is under way to it is lost, as when its process dies. */
    public void detach(String name) {
        endpoints.remove(name);
    }

    /** Loses what {@code from} sends to {@code to} from now on, and what is under way. */
    public void cut(String from, String to) {
        cutLinks.add(link(from, to));
    }

    /** Separates two endpoints in both directions. */
    public void partition(String a, String b) {
        cut(a, b);
        cut(b, a);
    }

    /** Ends all cuts. */
    public void heal() {
        cutLinks.clear();
    }

    /** Sends a packet, which the network copies. */
    public void send(String from, String to, byte[] packet) {
        sent++;
        if (happens(conditions.loss())) {
            lost++;
            return;
        }
        launch(from, to, packet.clone());
        if (happens(conditions.duplication())) {
            launch(from, to, packet.clone());
        }
    }

    private void launch(String from, String to, byte[] packet) {
        if (packet.length > 0 && happens(conditions.corruption())) {
            corrupted++;
            packet[random.nextInt(packet.length)] ^= (byte) (1 << random.nextInt(8));
        }
        long arrival = clock.nowNanos() + conditions.delayNanos() + upTo(conditions.jitterNanos());
        if (happens(conditions.reordering())) {
            arrival += upTo(conditions.reorderNanos());
        } else {
            arrival = Math.max(arrival, lastArrivals.getOrDefault(link(from, to), 0L));
            lastArrivals.put(link(from, to), arrival);
        }
        flights.add(new Flight(arrival, sent, from, to, packet));
    }

    private boolean happens(double probability) {
        return probability > 0 && random.nextDouble() < probability;
    }

    private long upTo(long nanos) {
        return nanos == 0 ? 0 : random.nextLong(nanos + 1);
    }

    private static String link(String from, String to) {
        return from + " > " + to;
    }

    /** When the next packet arrives; {@link Long#MAX_VALUE} if none is under way. */
    public long nextArrivalNanos() {
        Flight next = flights.peek();
        return next == null ? Long.MAX_VALUE : next.arrivalNanos;
    }

    /**
     * Delivers one packet whose time has come.
     *
     * @return false if there is none
     */
    public boolean deliverOne() {
        Flight next = flights.peek();
        if (next == null || next.arrivalNanos > clock.nowNanos()) {
            return false;
        }
        flights.remove();
        PacketReceiver receiver = endpoints.get(next.to);
        if (receiver == null || cutLinks.contains(link(next.from, next.to))) {
            lost++;
        } else {
            delivered++;
            receiver.onPacket(next.from, next.packet);
        }
        return true;
    }

    /** Packets that endpoints sent. */
    public long sent() {
        return sent;
    }

    /** Packets that arrived, repeated and damaged ones too. */
    public long delivered() {
        return delivered;
    }

    /** Packets that did not arrive, for loss, a cut, or nobody at the other end. */
    public long lost() {
        return lost;
    }

    /** Packets damaged on the way. */
    public long corrupted() {
        return corrupted;
    }
}
