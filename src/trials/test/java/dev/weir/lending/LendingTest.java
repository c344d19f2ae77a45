package dev.weir.lending;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.LeaseTerms;
import dev.weir.lease.LentLimits;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lending.Lending.Arrivals;
import dev.weir.lending.Lending.Mishaps;
import dev.weir.lending.Lending.Scene;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.testing.Effort;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests leases over many schedules: their sum is never above the limit, and most of it is used. */
@Tag("slow")
class LendingTest {

    private static final int SCHEDULES = Effort.times(250);

    static Stream<Limit<?>> limits() {
        return LentLimits.of(40, 1_000);
    }

    /** Returns sets of limits that are in force together. */
    static Stream<List<Limit<?>>> several() {
        return Stream.of(
                List.of(new FixedWindow(10, 1_000, false), new FixedWindow(25, 3_000, false)),
                List.of(new SlidingWindowLog(25, 3_000, false), new SlidingWindowLog(10, 500, false)),
                List.of(
                        new Gcra(Rate.of(40, 1_000), 5, false),
                        new SlidingWindowCounter(90, 2_700, false, false),
                        new IntervalBucket(30, 700, 60, false)),
                List.of(new CalendarWindow(60, CalendarPeriod.DAY, ZoneId.of("America/St_Johns"), false)),
                List.of(
                        new CalendarWindow(90, CalendarPeriod.MONTH, ZoneId.of("Asia/Kathmandu"), false),
                        new TokenBucket(Rate.of(40, 1_000), 20, false)));
    }

    private static Scene scene(
            List<List<Limit<?>>> limits, Function<SplittableRandom, Mishaps> mishaps, SplittableRandom random) {
        double[] perSecond = new double[1 + random.nextInt(5)];
        int most = random.nextBoolean() ? 20 : 200;
        Arrays.setAll(perSecond, i -> random.nextInt(4) == 0 ? 0 : 1 + random.nextInt(most));
        long termMs = 50 + random.nextLong(3_000);
        LeaseTerms terms = LeaseTerms.of(termMs, random.nextLong(termMs), random.nextLong(termMs));
        long delayMs = random.nextInt(random.nextBoolean() ? 20 : 400);
        double drift = random.nextBoolean() ? 0 : 0.01;
        long maxWaitMs = random.nextInt(500);
        Arrivals arrivals = new Arrivals(perSecond, 1 + random.nextInt(4), 4_000);
        return new Scene(limits, terms, arrivals, delayMs, drift, maxWaitMs, mishaps.apply(random));
    }

    private static Mishaps any(SplittableRandom random) {
        return new Mishaps(
                sometimes(30, random),
                sometimes(50, random),
                sometimes(20, random),
                sometimes(50, random),
                sometimes(50, random),
                sometimes(500, random),
                sometimes(900, random));
    }

    private static Mishaps anyButSettles(SplittableRandom random) {
        Mishaps any = any(random);
        return new Mishaps(
                any.standstills(), any.losses(), any.deaths(), any.steps(), 0, any.overtakes(), any.reserves());
    }

    private static int sometimes(int ofThousand, SplittableRandom random) {
        return random.nextInt(3) > 0 ? 0 : random.nextInt(ofThousand);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void the_sum_is_never_above_the_limit(Limit<?> limit) {
        assertNeverAbove(random -> List.of(List.of(limit)));
    }

    @ParameterizedTest
    @MethodSource("several")
    void each_of_several_limits_is_kept(List<Limit<?>> several) {
        assertNeverAbove(random -> List.of(several));
    }

    @ParameterizedTest
    @MethodSource("limits")
    void a_replaced_limit_is_kept_until_then_and_the_new_one_once_earlier_leases_have_ended(Limit<?> limit) {
        assertNeverAbove(random -> List.of(List.of(limit), List.of(another(random)), List.of(another(random))));
    }

    private static Limit<?> another(SplittableRandom random) {
        return LentLimits.of(10 + random.nextLong(60), random.nextBoolean() ? 1_000 : 700)
                .skip(random.nextInt(9))
                .findFirst()
                .orElseThrow();
    }

    private static void assertNeverAbove(Function<SplittableRandom, List<List<Limit<?>>>> limits) {
        long refunds = 0;
        for (int seed = 0; seed < SCHEDULES; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Scene scene = scene(limits.apply(random), LendingTest::any, random);
            Lending lending = new Lending(scene, random.nextLong()).run();
            refunds += lending.refunds;
            assertThat(lending.broken()).as("seed %d of %s", seed, scene).isNull();
            assertThat(lending.beyondMaxUsed).as("seed %d of %s", seed, scene).isNull();
        }
        assertThat(refunds).isGreaterThan(SCHEDULES);
    }

    /** Whatever clocks, pauses, moves, deaths and messages do. All slots return a ttl after the leases at the latest. */
    @ParameterizedTest
    @ValueSource(longs = {30, 1_000, 60_000})
    void slots_in_use_are_never_more_than_the_limit(long ttlMs) {
        long freed = 0;
        long full = 0;
        for (int seed = 0; seed < SCHEDULES; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Concurrency limit = new Concurrency(1 + random.nextInt(12), ttlMs);
            Scene any = scene(List.of(List.of(limit)), LendingTest::anyButSettles, random);
            Scene scene = new Scene(
                    any.limits(),
                    any.terms().lendingSlots(true),
                    any.arrivals(),
                    any.delayMs(),
                    any.drift(),
                    any.maxWaitMs(),
                    any.mishaps());
            Lending lending = new Lending(scene, random.nextLong())
                    .withMove(random.nextInt(2_000))
                    .run();
            assertThat(lending.slots.most()).as("seed %d of %s", seed, scene).isLessThanOrEqualTo(limit.limit());
            freed += lending.freed;
            full += lending.slots.most() == limit.limit() ? 1 : 0;
            Ledger later = lending.on(20_000).after(ttlMs + 60_000);
            assertThat(later.free()).as("seed %d of %s", seed, scene).isEqualTo(limit.limit());
        }
        assertThat(freed).isGreaterThan(SCHEDULES);
        assertThat(full).isPositive();
    }

    /** One window for the whole run, with enough time to return nearly all unused quota. */
    @Test
    void usage_and_settlements_are_charged() {
        Limit<?> limit = new FixedWindow(1_000_000, 4_000_000_000_000L, false);
        LeaseTerms terms = new LeaseTerms(3_000, 100, 0);
        Mishaps settles = new Mishaps(0, 0, 0, 0, 50, 0, 0);
        Arrivals arrivals = new Arrivals(rates(4, 50), 4, 10_000);
        Scene scene = new Scene(List.of(List.of(limit)), terms, arrivals, 40, 0.01, 100, settles);
        for (int seed = 0; seed < 50; seed++) {
            Lending lending = new Lending(scene, seed).run().on(4 * terms.termMs());
            long used = lending.uses.stream()
                    .mapToLong(AdmittedUse::cost)
                    .filter(cost -> cost > 0)
                    .sum();
            assertThat(limit.capacity() - lending.after(2 * terms.termMs()).free())
                    .as("seed %d", seed)
                    .isBetween(used + lending.settled, (long) (1.02 * (used + lending.settled)));
        }
    }

    /** Returns a demand of 2,000 a second by eight equal holders. */
    private static double[] even() {
        return rates(8, 2_000 / 8.0);
    }

    /** Returns the same total demand, with one holder that requests a hundred times as much as each of the others. */
    private static double[] skewed() {
        double[] rates = rates(8, 2_000 / 107.0);
        rates[0] *= 100;
        return rates;
    }

    private static double[] rates(int holders, double each) {
        double[] rates = new double[holders];
        Arrays.fill(rates, each);
        return rates;
    }

    private static Lending calm(Limit<?> limit, double[] perSecond, long forMs) {
        LeaseTerms terms = LeaseTerms.DEFAULTS.forWindow(limit.windowMs(0));
        Arrivals arrivals = new Arrivals(perSecond, 1, forMs);
        Scene scene = new Scene(List.of(List.of(limit)), terms, arrivals, 40, 0.01, 100, Mishaps.NONE);
        return new Lending(scene, forMs).run();
    }

    static Stream<Limit<?>> wideLimits() {
        return LentLimits.of(10_000, 10_000);
    }

    @ParameterizedTest
    @MethodSource("wideLimits")
    void a_limit_with_twice_its_demand_is_nearly_used_up(Limit<?> limit) {
        assertThat(calm(limit, even(), 60_000).share()).as("even, " + limit).isGreaterThan(0.97);
        assertThat(calm(limit, skewed(), 60_000).share()).as("skewed, " + limit).isGreaterThan(0.95);
    }

    static Stream<Limit<?>> narrowLimits() {
        return Stream.concat(LentLimits.of(10, 1_000), LentLimits.of(100, 10_000));
    }

    @ParameterizedTest
    @MethodSource("narrowLimits")
    void a_limit_of_ten_a_second_is_used_by_64_holders(Limit<?> limit) {
        assertThat(calm(limit, rates(64, 20 / 64.0), 30_000).share()).isGreaterThan(0.9);
    }

    @ParameterizedTest
    @MethodSource("wideLimits")
    void requests_rarely_wait_at_half_the_limit(Limit<?> limit) {
        Lending lending = calm(limit, rates(8, 500 / 8.0), 30_000);
        assertThat(lending.share()).isGreaterThan(0.98);
        assertThat((double) lending.waited / lending.requests).isLessThan(0.015);
        assertThat((double) lending.messages / lending.requests).isLessThan(0.045);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void quota_of_dead_holders_is_free_again_when_their_leases_have_ended(Limit<?> limit) {
        for (int seed = 0; seed < 50; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Scene scene = scene(List.of(List.of(limit)), LendingTest::anyButSettles, random);
            Lending lending = new Lending(scene, random.nextLong()).run();
            assertThat(lending.after(2
                                    * scene.terms()
                                            .withRoundTrip(LeaseTerms.MAX_ROUND_TRIP_MS)
                                            .termMs())
                            .lent())
                    .isZero();
            assertThat(lending.after(3_000).free()).isEqualTo(limit.capacity());
        }
    }
}
