package org.nvmf4j.bench.compare;

import java.io.IOException;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.bench.BenchResult;
import org.nvmf4j.bench.Stop;

/**
 * Runs of several arms, made in rounds: each round runs every arm once, next to each other and in a random order, so that what
 * drifts on the machine meets all of them alike. The first arm is the baseline that the others are compared with, round by round.
 */
public final class Comparison {
    private final Plan plan;
    private final List<ArmRuns> arms;
    /** By arm and metric: tables, plots and sentences ask for the same ones. */
    private final Map<String, Map<Metric, Difference>> differences = new HashMap<>();

    private @Nullable IOException failure;

    private Comparison(Plan plan, List<ArmRuns> arms) {
        this.plan = plan;
        this.arms = arms;
    }

    /** Hears of each round that begins. */
    @FunctionalInterface
    public interface Progress {
        /** Rounds done, warm-up included, of so many. */
        void onRound(int done, int all);
    }

    /**
     * Runs warm-up and rounds. A stop ends it after the run that is under way, and so does a run that fails, see {@link #failure};
     * only complete rounds count.
     *
     * @param arms at least two, with different names
     */
    public static Comparison run(List<Arm> arms, Plan plan, Stop stop, Progress progress) {
        if (arms.size() < 2 || arms.stream().map(Arm::name).distinct().count() < arms.size()) {
            throw new IllegalArgumentException("a comparison needs at least two arms with different names");
        }
        Comparison comparison = new Comparison(
                plan,
                arms.stream()
                        .map(arm -> new ArmRuns(arm.name(), arm.description()))
                        .toList());
        SplittableRandom random = new SplittableRandom(plan.seed());
        int rounds = plan.warmUps() + plan.pairs();
        for (int round = 0; round < rounds; round++) {
            progress.onRound(round, rounds);
            List<BenchResult> results;
            try {
                results = round(arms, random.split(), stop);
            } catch (IOException e) {
                comparison.failure = e;
                break;
            }
            if (stop.isRequested()) {
                break;
            }
            if (round >= plan.warmUps()) {
                for (int i = 0; i < results.size(); i++) {
                    comparison.arms.get(i).add(results.get(i));
                }
            }
        }
        progress.onRound(rounds, rounds);
        return comparison;
    }

    /** Runs every arm once; the results are in the order of the arms. */
    private static List<BenchResult> round(List<Arm> arms, SplittableRandom random, Stop stop) throws IOException {
        long seed = random.nextLong() >>> 1;
        BenchResult[] results = new BenchResult[arms.size()];
        for (int arm : order(arms.size(), random)) {
            if (stop.isRequested()) {
                return List.of();
            }
            try {
                results[arm] = counted(arms.get(arm).trial().run(seed));
            } catch (IOException e) {
                if (stop.isRequested()) {
                    return List.of();
                }
                throw new IOException("arm " + arms.get(arm).name() + ": " + e.getMessage(), e);
            }
        }
        return List.of(results);
    }

    private static BenchResult counted(BenchResult result) throws IOException {
        if (result.reads().ios() + result.writes().ios() == 0) {
            throw new IOException("no request ended in the measured time: take a longer --runtime, or a --size that"
                    + " lasts beyond --ramp_time");
        }
        return result;
    }

    private static int[] order(int count, SplittableRandom random) {
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            int j = random.nextInt(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        return order;
    }

    /** What ended it before its time, with the arm's name; null if all runs did what they should. */
    public @Nullable IOException failure() {
        return failure;
    }

    public Plan plan() {
        return plan;
    }

    /** The arms, the baseline first. */
    public List<ArmRuns> arms() {
        return arms;
    }

    public ArmRuns baseline() {
        return arms.getFirst();
    }

    /** Complete rounds. */
    public int pairs() {
        return baseline().values(Metric.MEAN).length;
    }

    /** How an arm differs from the baseline; there must be two pairs at least. */
    public Difference difference(ArmRuns arm, Metric metric) {
        return differences
                .computeIfAbsent(arm.name(), _ -> new EnumMap<>(Metric.class))
                .computeIfAbsent(
                        metric,
                        _ -> Difference.between(
                                metric,
                                arm.name(),
                                arm.values(metric),
                                baseline().name(),
                                baseline().values(metric),
                                plan.seed()));
    }

    /** What can be said: one sentence for each arm but the baseline and for each metric that the comparison is about. */
    public List<String> sentences(List<Metric> metrics) {
        return arms.stream()
                .skip(1)
                .flatMap(arm ->
                        metrics.stream().map(metric -> difference(arm, metric).sentence()))
                .toList();
    }
}
