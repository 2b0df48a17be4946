package org.nvmf4j.testkit;

/**
 * How badly a {@link SimulatedNetwork} treats packets. Probabilities are for each packet, 0 to 1.
 *
 * @param loss a packet vanishes
 * @param duplication a packet arrives twice, the second time with a delay of its own
 * @param reordering a packet takes up to {@code reorderNanos} longer, so that later ones overtake it
 * @param corruption one bit of a packet changes
 * @param delayNanos how long every packet takes at least; without reordering packets of a link stay in order
 * @param jitterNanos added to the delay, evenly distributed; without reordering packets of a link stay in order all the same
 * @param reorderNanos see {@code reordering}
 */
public record NetworkConditions(
        double loss,
        double duplication,
        double reordering,
        double corruption,
        long delayNanos,
        long jitterNanos,
        long reorderNanos) {
    /** Every packet arrives once, in order, after 10 µs. */
    public static final NetworkConditions PERFECT = new NetworkConditions(0, 0, 0, 0, 10_000, 0, 0);

    public NetworkConditions {
        if (!isProbability(loss)
                || !isProbability(duplication)
                || !isProbability(reordering)
                || !isProbability(corruption)
                || (delayNanos | jitterNanos | reorderNanos) < 0) {
            throw new IllegalArgumentException("network conditions out of range: loss " + loss + ", duplication "
                    + duplication + ", reordering " + reordering + ", corruption " + corruption + ", delay "
                    + delayNanos + " ns, jitter " + jitterNanos + " ns, reorder " + reorderNanos + " ns");
        }
    }

    private static boolean isProbability(double p) {
        return p >= 0 && p <= 1;
    }
}
