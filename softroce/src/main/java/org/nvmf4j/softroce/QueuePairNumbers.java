package org.nvmf4j.softroce;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.nvmf4j.verbs.VerbsException;

/**
 * Chooses queue pair numbers for one vector: random, so that a restarted process does not meet its own past at a peer, with low bits
 * that lead packets to the vector, and none that was in use a moment ago.
 */
final class QueuePairNumbers {
    private static final int NUMBER_BITS = 24;
    /** So many numbers rest before the first of them may be taken again. */
    private static final int RESTING = 4096;

    private static final int ATTEMPTS = 1000;

    private final int lowBits;
    private final int lowBitCount;
    private final RandomGenerator random;
    private final ArrayDeque<Integer> resting = new ArrayDeque<>();
    private final Set<Integer> restingSet = new HashSet<>();

    QueuePairNumbers(int vector, int vectorBits, RandomGenerator random) {
        this.lowBits = vector;
        this.lowBitCount = vectorBits;
        this.random = random;
    }

    /** A number that nobody has. */
    int take(NumberTable<?> inUse) throws VerbsException {
        for (int i = 0; i < ATTEMPTS; i++) {
            int number = random.nextInt(1 << (NUMBER_BITS - lowBitCount)) << lowBitCount | lowBits;
            // 0 and 1 are for management, and the last number is the multicast one.
            if (number > 1
                    && number != (1 << NUMBER_BITS) - 1
                    && inUse.get(number) == null
                    && !restingSet.contains(number)) {
                return number;
            }
        }
        throw new VerbsException("no queue pair number is free: " + inUse.size() + " queue pairs are in use");
    }

    void giveBack(int number) {
        resting.addLast(number);
        restingSet.add(number);
        if (resting.size() > RESTING) {
            restingSet.remove(resting.removeFirst());
        }
    }
}
