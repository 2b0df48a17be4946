package org.nvmf4j.pcie;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.pcie.PciFunction.Kind;
import org.nvmf4j.pcie.PciRoute.Reachable;
import org.nvmf4j.pcie.PciRoute.Unreachable;
import org.nvmf4j.pcie.PciRoute.Via;
import org.nvmf4j.target.PeerMemoryChoice;
import org.nvmf4j.target.PeerMemorySelection;
import org.nvmf4j.target.spi.PeerBlock;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;

/** Routes in random trees against rules that are computed in another way: by searching the tree as a graph. */
class RandomTreesTest {
    private static final int[] HOST_BRIDGES = {0x29c0, 0x2f00, 0x09a2};

    /** A random machine; addresses are given out in the order in which functions are made. */
    private static final class Machine {
        final Random random;
        final TreeMap<PciAddress, PciFunction> functions = new TreeMap<>();
        final Map<String, Integer> hostBridges = new HashMap<>();
        final PciPlatform platform;
        final PciTopology topology;
        private final Map<PciAddress, List<PciAddress>> neighbours = new HashMap<>();
        private int lastBus;

        Machine(long seed) {
            random = new Random(seed);
            platform = new PciPlatform(random.nextBoolean() ? "AuthenticAMD" : "GenuineIntel", random.nextInt(8) * 8);
            int hosts = 1 + random.nextInt(3);
            for (int i = 0; i < hosts; i++) {
                int bus = lastBus;
                String host = String.format("0000:%02x", bus);
                int deviceId = HOST_BRIDGES[random.nextInt(HOST_BRIDGES.length)];
                hostBridges.put(host, deviceId);
                add(new PciAddress(0, bus, 0, 0), deviceId, Kind.HOST_BRIDGE, host, List.of());
                addBelow(bus, host, List.of(), 0);
                lastBus++;
            }
            topology = new PciTopology(functions, platform);
        }

        private void addBelow(int bus, String host, List<PciAddress> upstream, int depth) {
            int devices = 1 + random.nextInt(3);
            for (int device = 1; device <= devices; device++) {
                PciAddress at = new PciAddress(0, bus, device, 0);
                if (depth < 4 && random.nextInt(depth + 2) < 2) {
                    add(at, 0x8232, depth == 0 ? Kind.ROOT_PORT : Kind.SWITCH_DOWNSTREAM_PORT, host, upstream);
                    List<PciAddress> below = new ArrayList<>(upstream);
                    below.addFirst(at);
                    addBelow(++lastBus, host, below, depth + 1);
                } else {
                    add(at, 0x0010, Kind.ENDPOINT, host, upstream);
                    add(new PciAddress(0, bus, device, 1), 0x0010, Kind.ENDPOINT, host, upstream);
                }
            }
        }

        private void add(PciAddress at, int deviceId, Kind kind, String host, List<PciAddress> upstream) {
            AcsControl acs = switch (random.nextInt(16)) {
                case 0 -> AcsControl.UNKNOWN;
                case 1, 2 -> new AcsControl(AcsControl.State.PRESENT, random.nextInt(128));
                default -> AcsControl.ABSENT;
            };
            functions.put(at, new PciFunction(at, 0x8086, deviceId, 0, kind, host, upstream, acs));
            if (!upstream.isEmpty()) {
                neighbours.computeIfAbsent(at, _ -> new ArrayList<>()).add(upstream.getFirst());
                neighbours
                        .computeIfAbsent(upstream.getFirst(), _ -> new ArrayList<>())
                        .add(at);
            }
        }

        PciFunction function(PciAddress at) {
            return Objects.requireNonNull(functions.get(at));
        }

        PciAddress any() {
            return new ArrayList<>(functions.keySet()).get(random.nextInt(functions.size()));
        }

        /** The steps from one function to another over bridges, both included; null if no bridge joins them. */
        @Nullable
        List<PciAddress> search(PciAddress from, PciAddress to) {
            Map<PciAddress, PciAddress> cameFrom = new HashMap<>(Map.of(from, from));
            Deque<PciAddress> open = new ArrayDeque<>(List.of(from));
            while (!open.isEmpty()) {
                PciAddress here = open.remove();
                for (PciAddress next : neighbours.getOrDefault(here, List.of())) {
                    if (cameFrom.putIfAbsent(next, here) == null) {
                        open.add(next);
                    }
                }
            }
            if (!cameFrom.containsKey(to)) {
                return null;
            }
            List<PciAddress> way = new ArrayList<>(List.of(to));
            for (PciAddress step = to; !step.equals(from); step = cameFrom.getOrDefault(step, from)) {
                way.add(cameFrom.getOrDefault(step, from));
            }
            Collections.reverse(way);
            return way;
        }

        int depth(PciAddress at) {
            return 1 + function(at).upstreamBridges().size();
        }

        boolean routes(PciAddress a, PciAddress b) {
            if (platform.cpuVendor().equals("AuthenticAMD") && platform.cpuFamily() >= 23) {
                return true;
            }
            String hostA = function(a).hostBridge();
            String hostB = function(b).hostBridge();
            int idA = hostBridges.getOrDefault(hostA, 0);
            int idB = hostBridges.getOrDefault(hostB, 0);
            return hostA.equals(hostB) ? idA != 0x29c0 : idA == 0x09a2 && idB == 0x09a2;
        }

        PciRoute expected(PciAddress a, PciAddress b) {
            List<PciAddress> way = search(a, b);
            if (way == null) {
                return routes(a, b)
                        ? new Reachable(depth(a) + depth(b), Via.HOST_BRIDGE)
                        : new Unreachable("no bridge in common");
            }
            boolean redirect = way.stream().anyMatch(s -> (function(s).acs().control() & 0x2c) != 0);
            boolean unknown = way.stream().anyMatch(s -> function(s).acs().state() == AcsControl.State.UNKNOWN);
            if (!redirect && !unknown) {
                return new Reachable(way.size() - 1, Via.SWITCH);
            }
            return routes(a, b)
                    ? new Reachable(way.size() - 1, redirect ? Via.HOST_BRIDGE : Via.SWITCH_OR_HOST_BRIDGE)
                    : new Unreachable(redirect ? "redirect" : "unknown");
        }
    }

    @Property(tries = 500)
    void followsTheRules(@ForAll long seed) {
        Machine machine = new Machine(seed);
        for (int i = 0; i < 20; i++) {
            PciAddress a = machine.any();
            PciAddress b = machine.any();
            PciRoute route = machine.topology.route(a, b);
            PciRoute expected = machine.expected(a, b);
            if (expected instanceof Reachable) {
                assertThat(route).as("%s to %s, seed %d", a, b, seed).isEqualTo(expected);
            } else {
                assertThat(route).as("%s to %s, seed %d", a, b, seed).isInstanceOf(Unreachable.class);
                assertThat(((Unreachable) route).reason()).contains(a.toString(), b.toString(), "known to route");
            }
        }
    }

    @Property(tries = 500)
    void isTheSameBothWaysAndZeroOnlyToItself(@ForAll long seed) {
        Machine machine = new Machine(seed);
        for (int i = 0; i < 20; i++) {
            PciAddress a = machine.any();
            PciAddress b = machine.any();
            PciRoute there = machine.topology.route(a, b);
            PciRoute back = machine.topology.route(b, a);
            if (there instanceof Reachable reachable) {
                assertThat(back).as("%s to %s, seed %d", a, b, seed).isEqualTo(there);
                assertThat(reachable.distance() == 0)
                        .as("%s to %s, seed %d", a, b, seed)
                        .isEqualTo(a.equals(b));
            } else {
                assertThat(back).as("%s to %s, seed %d", a, b, seed).isInstanceOf(Unreachable.class);
            }
        }
    }

    private record Memory(String pciAddress, long freeBytes, boolean isPublished) implements PeerMemory {
        @Override
        public long sizeBytes() {
            return freeBytes;
        }

        @Override
        public boolean isPresent() {
            return true;
        }

        @Override
        public String publisher() {
            return "a test";
        }

        @Override
        public @Nullable PeerBlock allocate(long bytes) {
            return null;
        }
    }

    /** Some functions of a machine with memory. */
    private record Memories(PciTopology topology, List<Memory> memories) implements PeerMemoryProvider {
        @Override
        public Reach reach(PeerMemory memory, PeerClient client) {
            PciAddress from = PciAddress.parse(memory.pciAddress());
            PciAddress to = PciAddress.parse(((PeerClient.PciFunction) client).pciAddress());
            return switch (topology.route(from, to)) {
                case Reachable reachable -> Reach.peerToPeer(reachable.distance());
                case Unreachable unreachable -> Reach.not(unreachable.reason());
            };
        }
    }

    @Property(tries = 500)
    void whatIsPickedIsReachableByAllAndNoneIsNearer(@ForAll long seed) {
        Machine machine = new Machine(seed);
        List<Memory> memories = new ArrayList<>();
        for (int i = machine.random.nextInt(5); i > 0; i--) {
            memories.add(new Memory(
                    machine.any().toString(), machine.random.nextInt(3) * 4096L, machine.random.nextInt(4) != 0));
        }
        List<PciAddress> clients = List.of(machine.any(), machine.any());
        PeerMemorySelection selection = PeerMemorySelection.select(
                PeerMemoryChoice.AUTO,
                new Memories(machine.topology, memories),
                clients.stream()
                        .<PeerClient>map(at -> new PeerClient.PciFunction(at.toString(), "client"))
                        .toList());
        OptionalInt nearest = memories.stream()
                .filter(memory -> memory.isPublished && memory.freeBytes > 0)
                .map(memory -> distance(machine, memory, clients))
                .flatMapToInt(OptionalInt::stream)
                .min();
        if (nearest.isEmpty()) {
            assertThat(selection.memory()).as("seed %d", seed).isNull();
        } else {
            assertThat(selection.memory()).as("seed %d", seed).isInstanceOf(Memory.class);
            assertThat(distance(machine, (Memory) Objects.requireNonNull(selection.memory()), clients))
                    .as("seed %d", seed)
                    .isEqualTo(nearest);
        }
    }

    /** Summed over the clients; empty if one is out of reach. */
    private static OptionalInt distance(Machine machine, Memory memory, List<PciAddress> clients) {
        int sum = 0;
        for (PciAddress client : clients) {
            if (!(machine.expected(PciAddress.parse(memory.pciAddress), client) instanceof Reachable reachable)) {
                return OptionalInt.empty();
            }
            sum += reachable.distance();
        }
        return OptionalInt.of(sum);
    }
}
