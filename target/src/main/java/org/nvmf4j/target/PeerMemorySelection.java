package org.nvmf4j.target;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.spi.PeerClient;
import org.nvmf4j.target.spi.PeerMemory;
import org.nvmf4j.target.spi.PeerMemoryProvider;
import org.nvmf4j.target.spi.Reach;

/**
 * Which peer memory the data of a namespace passes through, and why: Linux's rules (nvmet-rdma and drivers/pci/p2pdma.c), but for
 * ties, which Linux breaks at random.
 *
 * @param choice what the user wants
 * @param memory what is taken, or null for system memory
 * @param why in one line: what was taken, or why nothing was
 * @param warning what the user should know of a choice that is followed all the same; empty if nothing
 * @param candidates all memories that there are, the best first
 */
public record PeerMemorySelection(
        PeerMemoryChoice choice, @Nullable PeerMemory memory, String why, String warning, List<Candidate> candidates) {

    /**
     * A memory that was looked at.
     *
     * @param reaches of each client, in their order
     * @param distance sum over the clients that reach it by themselves
     * @param ownProblem what is wrong with the memory itself, whoever uses it, in one line; empty if nothing
     * @param freeBytes what was free of it
     * @param problem why it cannot be taken by itself, for this and for what does not reach it; empty if it can
     */
    public record Candidate(
            PeerMemory memory, List<Reach> reaches, int distance, long freeBytes, String ownProblem, String problem) {
        boolean canBeChosen() {
            return memory.isPresent() && memory.isPublished() && isReachable();
        }

        boolean isReachable() {
            return reaches.stream().noneMatch(reach -> reach.kind() == Reach.Kind.NOT);
        }

        boolean isPeerToPeer() {
            return reaches.stream().allMatch(reach -> reach.kind() == Reach.Kind.PEER_TO_PEER);
        }
    }

    private static final Comparator<Candidate> BEST_FIRST = Comparator.comparing((Candidate c) -> !c.problem.isEmpty())
            .thenComparingInt(Candidate::distance)
            .thenComparing(Comparator.comparingLong(Candidate::freeBytes).reversed())
            .thenComparing(c -> c.memory.pciAddress());

    /**
     * Selects.
     *
     * @param clients all that must reach the memory: the RDMA device and what is behind the namespace
     * @throws IllegalArgumentException if the device that the user chose cannot be used; one line with the reason and what would work
     */
    public static PeerMemorySelection select(
            PeerMemoryChoice choice, PeerMemoryProvider provider, List<PeerClient> clients) {
        if (choice.kind() == PeerMemoryChoice.Kind.OFF) {
            return new PeerMemorySelection(choice, null, "peer memory is off", "", List.of());
        }
        List<Candidate> candidates = candidates(provider, clients);
        return choice.kind() == PeerMemoryChoice.Kind.AUTO
                ? nearest(choice, candidates)
                : chosen(choice, candidates, clients);
    }

    private static List<Candidate> candidates(PeerMemoryProvider provider, List<PeerClient> clients) {
        List<Candidate> candidates = new ArrayList<>();
        for (PeerMemory memory : provider.memories()) {
            List<Reach> reaches = clients.stream()
                    .map(client -> provider.reach(memory, client))
                    .toList();
            int distance = reaches.stream().mapToInt(Reach::distance).sum();
            String ownProblem = problem(memory);
            candidates.add(new Candidate(
                    memory, reaches, distance, memory.freeBytes(), ownProblem, problem(ownProblem, reaches)));
        }
        candidates.sort(BEST_FIRST);
        return List.copyOf(candidates);
    }

    private static String problem(PeerMemory memory) {
        List<String> problems = new ArrayList<>();
        if (!memory.isPresent()) {
            problems.add("the device has vanished");
        }
        if (!memory.isPublished()) {
            problems.add("its memory is not published");
        }
        if (memory.freeBytes() == 0) {
            problems.add("nothing of its memory is free");
        }
        return String.join("; ", problems);
    }

    private static String problem(String ownProblem, List<Reach> reaches) {
        List<String> problems = new ArrayList<>();
        if (!ownProblem.isEmpty()) {
            problems.add(ownProblem);
        }
        reaches.stream()
                .filter(reach -> reach.kind() != Reach.Kind.PEER_TO_PEER)
                .map(Reach::reason)
                .forEach(problems::add);
        return String.join("; ", problems);
    }

    private static PeerMemorySelection nearest(PeerMemoryChoice choice, List<Candidate> candidates) {
        Candidate best = candidates.isEmpty() ? null : candidates.getFirst();
        if (best == null || !best.problem.isEmpty()) {
            String why = best == null
                    ? "this machine has no peer memory"
                    : "no peer memory that all can use: " + describe(candidates);
            return new PeerMemorySelection(choice, null, why, "", candidates);
        }
        return new PeerMemorySelection(
                choice,
                best.memory,
                best.memory.pciAddress() + ", the nearest, at distance " + best.distance,
                "",
                candidates);
    }

    private static PeerMemorySelection chosen(
            PeerMemoryChoice choice, List<Candidate> candidates, List<PeerClient> clients) {
        Candidate chosen = candidates.stream()
                .filter(c -> c.memory.pciAddress().equals(choice.pciAddress()))
                .min(Comparator.comparing((Candidate c) -> !c.canBeChosen()))
                .orElseThrow(() -> new IllegalArgumentException("p2pmem=" + choice.pciAddress()
                        + ": no such device has peer memory; " + whatWouldWork(candidates)));
        if (!chosen.canBeChosen()) {
            throw new IllegalArgumentException(
                    "p2pmem=" + choice.pciAddress() + ": " + chosen.problem + "; " + whatWouldWork(candidates));
        }
        String warning = chosen.isPeerToPeer() ? "" : warning(chosen, clients);
        return new PeerMemorySelection(
                choice,
                chosen.memory,
                chosen.memory.pciAddress() + ", as chosen"
                        + (chosen.isPeerToPeer() ? ", at distance " + chosen.distance : ""),
                warning,
                candidates);
    }

    private static String warning(Candidate chosen, List<PeerClient> clients) {
        List<String> copying = new ArrayList<>();
        for (int i = 0; i < clients.size(); i++) {
            if (chosen.reaches.get(i).kind() == Reach.Kind.WITH_THE_CPU) {
                copying.add(clients.get(i).description());
            }
        }
        return "the CPU copies to and from " + chosen.memory.pciAddress() + " for " + String.join(" and ", copying)
                + ": that works, and is slower than system memory";
    }

    private static String whatWouldWork(List<Candidate> candidates) {
        return candidates.stream()
                .filter(c -> c.problem.isEmpty())
                .map(c -> c.memory.pciAddress() + " has " + ByteSize.format(c.freeBytes) + " free at distance "
                        + c.distance)
                .collect(Collectors.collectingAndThen(
                        Collectors.joining(", "),
                        usable -> usable.isEmpty()
                                ? "no peer memory here can be used by all; p2pmem=0 is system memory"
                                : usable));
    }

    private static String describe(List<Candidate> candidates) {
        return candidates.stream()
                .map(c -> c.memory.pciAddress() + ": " + c.problem)
                .collect(Collectors.joining("; "));
    }
}
