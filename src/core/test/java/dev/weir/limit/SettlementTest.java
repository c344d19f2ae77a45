package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the law of settlement: the usage is that of a history with the actual costs from the start. */
class SettlementTest {

    private static final int SEEDS = Effort.times(100);
    private static final int STEPS = 60;

    static List<Limit<?>> limits() {
        List<Limit<?>> limits = new ArrayList<>();
        for (boolean countDenied : new boolean[] {false, true}) {
            for (long[] numbers : new long[][] {{10, 60}, {7, 13}, {40, 50}, {3, 1}}) {
                limits.add(new FixedWindow(numbers[0], numbers[1], countDenied));
                limits.add(new SlidingWindowCounter(numbers[0], numbers[1], false, countDenied));
                limits.add(new SlidingWindowCounter(numbers[0], numbers[1], true, countDenied));
                limits.add(new SlidingWindowLog(numbers[0], numbers[1], countDenied));
                for (long burst : new long[] {numbers[0], 2 * numbers[0] + 1}) {
                    Rate rate = Rate.of(numbers[0], numbers[1]);
                    limits.add(new TokenBucket(rate, burst, countDenied));
                    limits.add(new LeakyBucket(rate, burst, countDenied));
                    limits.add(new Gcra(rate, burst, countDenied));
                    limits.add(new IntervalBucket(numbers[0], numbers[1], burst, countDenied));
                }
                limits.add(new IntervalBucket(3, numbers[1], 11, countDenied));
            }
            limits.add(new CalendarWindow(9, CalendarPeriod.DAY, ZoneId.of("Etc/GMT-5"), countDenied));
        }
        return limits;
    }

    private static long perMs(Limit<?> limit) {
        return Math.max(limit.ratePeriodMs(0), 2);
    }

    private static boolean hasMemory(Limit<?> limit) {
        return limit instanceof ContinuousBucket || limit instanceof Gcra || limit instanceof IntervalBucket;
    }

    /**
     * Random requests of a key.
     *
     * @param fewestOpen with fewer open charges, most are not ended yet
     * @param mostOpen how many charges can be open
     * @param refunds whether there are refunds of no charge in particular
     * @param isExact whether the usage must be that of the oracle, not only at least that
     */
    private record Schedule(Limit<?> limit, int seed, int fewestOpen, int mostOpen, boolean refunds, boolean isExact) {}

    private static final class Run {
        final Schedule schedule;
        final Random random;
        final List<Charge> open = new ArrayList<>();
        final List<Charge> ended = new ArrayList<>();
        final SettlementOracle oracle;
        TrialAccount<?> trial;
        long nowMs;
        long numbers;
        int overlapping;
        int mostOpen;

        Run(Schedule schedule) {
            this.schedule = schedule;
            this.random = new Random(schedule.seed);
            this.nowMs = 1_700_000_000_000L + random.nextInt(1_000);
            this.oracle = new SettlementOracle(schedule.limit, nowMs);
            this.trial = TrialAccount.open(schedule.limit, nowMs);
        }

        void step() {
            long perMs = perMs(trial.limit());
            nowMs += switch (random.nextInt(8)) {
                case 0, 1, 2 -> 0;
                case 3, 4 -> 1 + random.nextInt((int) (perMs / 16 + 1));
                case 5, 6 -> random.nextInt((int) (perMs / 2 + 1));
                default -> random.nextInt((int) (2 * perMs));
            };
            int kind = random.nextInt(20);
            if (kind < 6) {
                request(cost());
            } else if (kind < 12 || (kind < 18 && open.size() < schedule.fewestOpen && random.nextInt(8) > 0)) {
                reserve(cost());
            } else if (kind < 17) {
                if (!open.isEmpty()) {
                    settle(open.remove(random.nextInt(open.size())));
                }
            } else if (kind == 17) {
                if (!open.isEmpty()) {
                    Charge charge = open.remove(random.nextInt(open.size()));
                    trial.forget(charge);
                    oracle.forget(charge);
                    ended.add(charge);
                }
            } else if (kind == 18) {
                long change = random.nextInt(2) == 0 ? cost() : schedule.refunds ? -cost() : 0;
                trial.charge(change, nowMs);
                oracle.charge(change, nowMs);
            } else {
                changeLimit();
            }
            check();
            settleAgain();
        }

        private long cost() {
            int most = (int) trial.capacity();
            return switch (random.nextInt(4)) {
                case 0 -> random.nextInt(Math.min(3, most + 1));
                case 1, 2 -> random.nextInt(most / 5 + 2);
                default -> random.nextInt(most + 1);
            };
        }

        private void request(long cost) {
            long counted = Math.min(cost, Math.max(0, 2 * trial.capacity() - oracle.used(nowMs)));
            if (trial.request(cost, nowMs)) {
                oracle.charge(cost, nowMs);
            } else if (trial.limit().countDenied()) {
                oracle.charge(trial.limit() instanceof SlidingWindowLog ? cost : counted, nowMs);
            }
        }

        private void reserve(long cost) {
            if (open.size() < schedule.mostOpen && trial.permits(cost, nowMs)) {
                assertThat(cost).isLessThanOrEqualTo(Math.max(0, oracle.available(nowMs)));
                Charge charge = new Charge(numbers++, nowMs, cost);
                trial.chargeReserved(charge);
                oracle.chargeReserved(charge);
                open.add(charge);
                mostOpen = Math.max(mostOpen, open.size());
            }
        }

        private void settle(Charge charge) {
            overlapping += open.size() > 1 ? 1 : 0;
            long actual =
                    switch (random.nextInt(5)) {
                        case 0, 1 -> 0;
                        case 2 -> charge.cost();
                        case 3 -> random.nextInt((int) charge.cost() + 1);
                        default -> charge.cost() + random.nextInt((int) trial.capacity() + 2);
                    };
            long mostUsed = trial.capacity() + (schedule.isExact ? random.nextInt(10) : 1_000_000);
            trial.settle(charge, actual, mostUsed, nowMs);
            oracle.settle(charge, actual, mostUsed, nowMs);
            ended.add(charge);
        }

        private void changeLimit() {
            Limit<?> next =
                    SettlementOracle.withCapacity(trial.limit(), 1 + random.nextInt((int) trial.capacity() + 3));
            long debt = trial.limit().countDenied() ? 0 : Math.max(0, -oracle.available(nowMs));
            long mostUsed = next.capacity() + Math.min(next.capacity(), debt);
            trial = trial.under(next, nowMs);
            oracle.change(next, mostUsed, nowMs);
        }

        private void settleAgain() {
            if (hasMemory(trial.limit()) && !ended.isEmpty() && schedule.isExact) {
                Charge charge = ended.get(random.nextInt(ended.size()));
                Object before = trial.state();
                assertThat(trial.settle(charge, random.nextInt(20), Limit.MAX_LEVEL, nowMs)
                                .state())
                        .as("settled again")
                        .isSameAs(before);
            }
        }

        private void check() {
            long available = oracle.available(nowMs);
            if (schedule.isExact) {
                assertThat(trial.available(nowMs)).isEqualTo(available);
            } else {
                assertThat(trial.available(nowMs)).isLessThanOrEqualTo(available);
            }
        }
    }

    /** Runs a schedule until it has settled at least two charges while others were open. */
    private static Run run(Schedule schedule) {
        Run run = new Run(schedule);
        int step = 0;
        try {
            for (; step < STEPS || (run.overlapping < 2 && step < 20 * STEPS); step++) {
                run.step();
            }
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(schedule + ", step " + step + " at " + run.nowMs + " of " + run.trial, e);
        }
        assertThat(run.overlapping).isGreaterThanOrEqualTo(2);
        return run;
    }

    @ParameterizedTest
    @MethodSource("limits")
    void the_usage_is_that_of_the_corrected_history(Limit<?> limit) {
        for (int seed = 0; seed < SEEDS; seed++) {
            int fewestOpen = seed % 2 == 0 ? 0 : OpenCharges.MOST_EXACT;
            run(new Schedule(limit, seed, fewestOpen, OpenCharges.MOST_EXACT, hasMemory(limit), true));
        }
    }

    @ParameterizedTest
    @MethodSource("limits")
    void many_open_charges_never_leave_less_usage(Limit<?> limit) {
        int many = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Limit<?> large = SettlementOracle.withCapacity(limit, 10 * limit.capacity());
            if (!limit.countDenied()) {
                Run run = run(new Schedule(large, seed, 40, 100, hasMemory(limit), !hasMemory(limit)));
                many += run.mostOpen > OpenCharges.MOST_EXACT ? 1 : 0;
            }
        }
        assertThat(many).isGreaterThanOrEqualTo(limit.countDenied() ? 0 : SEEDS / 2);
    }
}
