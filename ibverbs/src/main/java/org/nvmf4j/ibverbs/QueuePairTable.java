package org.nvmf4j.ibverbs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.verbs.VerbsException;

/**
 * The queue pairs of one vector, by the upper half of the ids that their work requests carry: 1 bit for receives, 15 that differ between
 * successive users of a place, and 16 for the place. So a completion that outlives its queue pair finds nobody. The lower half is the
 * queue pair's own. Receives that are shared do not know their queue pair when they are posted: they have the shared queue's key, a slot of
 * its and one more in the lower half, which is 0 for other receives.
 */
final class QueuePairTable {
    private static final int PLACES = 1 << 16;
    private static final int PLACE_MASK = PLACES - 1;
    private static final int GENERATION_MASK = 0x7fff_0000;
    private static final int ONE_GENERATION = 1 << 16;

    private @Nullable IbVerbsQueuePair[] pairs = new IbVerbsQueuePair[16];
    /** Queue pair numbers, or −1. */
    private int[] numbers = filled(16);
    /** What the latest user of each place was given. */
    private int[] keys = new int[16];

    private int generation;

    static boolean isReceive(long id) {
        return id < 0;
    }

    static boolean isShared(long id) {
        return id < 0 && (int) id != 0;
    }

    static long sharedId(int key, int slot) {
        return receiveId(key) | (slot + 1);
    }

    static int sharedSlot(long id) {
        return (int) id - 1;
    }

    /** The upper half of an id, without its first bit. */
    static int keyOf(long id) {
        return (int) (id >>> 32) & Integer.MAX_VALUE;
    }

    static long sendId(int key, int lower) {
        return ((long) key << 32) | (lower & 0xffff_ffffL);
    }

    static long receiveId(int key) {
        return ((long) key << 32) | Long.MIN_VALUE;
    }

    /** Gives a queue pair its key: 31 bits, the upper half of its ids. */
    int add(IbVerbsQueuePair pair) throws VerbsException {
        int place = 0;
        while (place < pairs.length && pairs[place] != null) {
            place++;
        }
        if (place == PLACES) {
            throw new VerbsException("a vector has at most " + PLACES + " queue pairs");
        }
        if (place == pairs.length) {
            pairs = Arrays.copyOf(pairs, 2 * place);
            keys = Arrays.copyOf(keys, 2 * place);
            int[] more = filled(2 * place);
            System.arraycopy(numbers, 0, more, 0, place);
            numbers = more;
        }
        generation = (generation + ONE_GENERATION) & GENERATION_MASK;
        pairs[place] = pair;
        numbers[place] = pair.number();
        keys[place] = generation | place;
        return keys[place];
    }

    void remove(int key) {
        pairs[key & PLACE_MASK] = null;
        numbers[key & PLACE_MASK] = -1;
    }

    /** The queue pair that posted a work request, if it is still there. */
    @Nullable
    IbVerbsQueuePair get(long id) {
        int key = keyOf(id);
        int place = key & PLACE_MASK;
        return place < keys.length && keys[place] == key ? pairs[place] : null;
    }

    @Nullable
    IbVerbsQueuePair find(int number) {
        for (int place = 0; place < numbers.length; place++) {
            if (numbers[place] == number) {
                return pairs[place];
            }
        }
        return null;
    }

    private static int[] filled(int places) {
        int[] numbers = new int[places];
        Arrays.fill(numbers, -1);
        return numbers;
    }

    private List<IbVerbsQueuePair> all() {
        List<IbVerbsQueuePair> all = new ArrayList<>();
        for (IbVerbsQueuePair pair : pairs) {
            if (pair != null) {
                all.add(pair);
            }
        }
        return all;
    }

    void closeAll() {
        all().forEach(IbVerbsQueuePair::close);
    }

    void abandonAll() {
        all().forEach(IbVerbsQueuePair::abandon);
    }

    /** A queue that lost completions of theirs makes no further ones perhaps. */
    void abandonAllOn(HardwareQueue queue) {
        for (IbVerbsQueuePair pair : all()) {
            if (pair.uses(queue)) {
                pair.abandon();
            }
        }
    }

    void failAllOn(IbVerbsSharedReceives receives) {
        for (IbVerbsQueuePair pair : all()) {
            if (pair.uses(receives)) {
                pair.toError();
            }
        }
    }
}
