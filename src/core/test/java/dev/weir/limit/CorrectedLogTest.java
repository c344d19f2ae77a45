package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests corrections of old entries of long logs: that they are exact, cost a bounded number of writes, and leave nothing. */
class CorrectedLogTest {

    /** A correction changes a node on each level of the tree of sums. */
    private static final int NODES_OF_CORRECTION = 3;

    /** The entries of a window, each with its cost as corrected. */
    private static final class Entries {
        private final long perMs;
        private final TreeMap<Long, Long> costs = new TreeMap<>();
        private long used;

        Entries(long perMs) {
            this.perMs = perMs;
        }

        void add(long atMs, long change, long nowMs) {
            used(nowMs);
            if (atMs > nowMs - perMs) {
                used += change;
                costs.merge(atMs, change, Long::sum);
            }
        }

        void refund(long cost, long nowMs) {
            if (cost >= used(nowMs)) {
                used = 0;
                costs.clear();
            }
            long left = cost;
            while (left > 0 && used > 0) {
                Map.Entry<Long, Long> newest = costs.pollLastEntry();
                long part = Math.min(left, newest.getValue());
                used -= part;
                left -= part;
                if (newest.getValue() > part) {
                    costs.put(newest.getKey(), newest.getValue() - part);
                }
            }
        }

        long cost(long atMs) {
            return costs.getOrDefault(atMs, 0L);
        }

        long used(long nowMs) {
            while (!costs.isEmpty() && costs.firstKey() <= nowMs - perMs) {
                used -= costs.pollFirstEntry().getValue();
            }
            return used;
        }

        long waitMs(long excess, long nowMs) {
            long left = excess;
            for (Map.Entry<Long, Long> entry : costs.entrySet()) {
                left -= entry.getValue();
                if (left <= 0) {
                    return entry.getKey() + perMs - nowMs;
                }
            }
            return 0;
        }
    }

    @ParameterizedTest
    @CsvSource({"300, 600, 4000, 1", "3000, 5000, 20000, 1", "100000, 60000, 150000, 2", "40, 3000, 20000, 3"})
    void every_correction_of_a_long_log_is_exact(long limit, long perMs, int steps, long seed) {
        for (long each = seed; each < seed + Effort.times(1); each++) {
            correct(limit, perMs, steps, new Random(each));
        }
    }

    private static void correct(long limit, long perMs, int steps, Random random) {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(limit, perMs, false), 0);
        Entries entries = new Entries(perMs);
        List<Charge> open = new ArrayList<>();
        long nowMs = 1;
        for (int step = 0; step < steps; step++) {
            nowMs += random.nextInt(2_000) == 0 ? random.nextLong(perMs) : random.nextInt(2);
            long cost = random.nextInt(3);
            int kind = random.nextInt(20);
            if (kind < 6 && trial.permits(cost, nowMs)) {
                trial.charge(cost, nowMs);
                if (cost > 0) {
                    entries.add(nowMs, cost, nowMs);
                }
            } else if (kind < 12 && trial.permits(cost, nowMs)) {
                Charge charge = new Charge(step, nowMs, cost);
                trial.chargeReserved(charge);
                entries.add(nowMs, cost, nowMs);
                open.add(charge);
            } else if (kind < 18 && !open.isEmpty()) {
                Charge charge = open.remove(random.nextInt(open.size()));
                long actual = random.nextInt(4);
                int before = trial.segments().puts() + trial.segments().deletes();
                boolean isThere = entries.costs.containsKey(charge.atMs());
                if (actual <= charge.cost() || isThere) {
                    trial.settle(charge, actual, Limit.MAX_LEVEL, nowMs);
                    long change = Math.max(actual - charge.cost(), -entries.cost(charge.atMs()));
                    if (change != 0) {
                        entries.add(charge.atMs(), change, nowMs);
                    }
                }
                assertThat(trial.segments().puts() + trial.segments().deletes() - before)
                        .isLessThanOrEqualTo(1 + NODES_OF_CORRECTION);
            } else if (kind == 18 && random.nextInt(50) == 0) {
                long refund = random.nextInt(200);
                trial.charge(-refund, nowMs);
                entries.refund(refund, nowMs);
            }
            long used = entries.used(nowMs);
            assertThat(trial.used(nowMs)).as("step %d", step).isEqualTo(used);
            if (step % 64 == 0 && used > 0) {
                long excess = 1 + random.nextLong(Math.min(used, limit));
                assertThat(trial.waitMs(limit - used + excess, nowMs)).isEqualTo(entries.waitMs(excess, nowMs));
            }
        }
        assertDeletable(trial, nowMs + perMs);
    }

    /** Checks that nothing is left in the store of a log that has expired, nor of one that is deleted. */
    private static void assertDeletable(TrialAccount<Log> trial, long nowMs) {
        TrialAccount<Log> expired = trial.copy();
        for (long i = 0; i <= trial.segments().size(); i++) {
            expired.charge(1, nowMs + i * 100_000_000);
        }
        assertThat(expired.segments().size()).isZero();
        MapSegments left = new MapSegments(trial.segments());
        Log retired = (Log) left.store(trial.state().stored(left).retired());
        while (retired.hasGarbage()) {
            retired = (Log) left.store(retired.trimmed());
        }
        assertThat(left.size()).isZero();
    }

    @Test
    void a_key_whose_charges_all_cost_nothing_has_a_bounded_log() {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(5, 1L << 40, false), 0);
        for (int i = 1; i <= 40_000; i++) {
            Charge charge = new Charge(i, 10L * i, 1);
            trial.chargeReserved(charge).settle(charge, 0, 5, 10L * i + 1);
        }
        assertThat(trial.available(1_000_000)).isEqualTo(5);
        assertThat(trial.segments().size()).isLessThan(LogBound.EXCESS_SEGMENTS + 10);
    }
}
