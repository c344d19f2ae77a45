package dev.weir.decision;

import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.policy;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.SharedSlots.Flaw;
import dev.weir.decision.SimulatedLedger.Mishaps;
import dev.weir.event.Reason;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.policy.Policy;
import dev.weir.testing.Effort;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** No more slots of a shared limit of concurrency are in use at once than it has, whatever happens to messages. */
@Tag("slow")
class SharedSlotsModelTest {

    private static final int SEEDS = Effort.times(60);

    static Stream<Concurrency> limits() {
        return Stream.of(
                new Concurrency(1, 4_000),
                new Concurrency(3, 1),
                new Concurrency(3, 1_500),
                new Concurrency(10, 10_000),
                new Concurrency(10, 600_000),
                new Concurrency(1_000, 3_000));
    }

    private static Policy shared(Limit<?>... limits) {
        return keyed(List.of(), policy("p", limits));
    }

    private static SharedSlots run(long seed, Mishaps mishaps, Flaw flaw, List<Policy> policies) {
        SharedSlots model = new SharedSlots(seed, mishaps, flaw, policies);
        model.run(400);
        return model;
    }

    private static Mishaps mishaps(int seed) {
        return seed % 3 == 0 ? Mishaps.NONE : Mishaps.ALL;
    }

    @ParameterizedTest
    @MethodSource("limits")
    void never_more_slots_are_in_use_than_the_limit(Concurrency limit) {
        Map<Reason, Integer> reasons = new EnumMap<>(Reason.class);
        int full = 0;
        int renewedLate = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            SharedSlots model = run(seed, mishaps(seed), Flaw.NONE, List.of(shared(limit)));
            assertThat(model.mostInUse()).as(model.context).isLessThanOrEqualTo(limit.limit());
            model.reasons.forEach((reason, count) -> reasons.merge(reason, count, Integer::sum));
            full += model.mostInUse() == limit.limit() ? 1 : 0;
            renewedLate += model.renewedLate;
        }
        assertThat(reasons).containsKeys(Reason.WITHIN_LIMITS, Reason.RESERVATION_ENDED, Reason.NOTHING_RESERVED);
        if (limit.ttlMs() >= 1_000) {
            assertThat(full).isGreaterThan(limit.limit() > 100 ? 0 : SEEDS / 4);
            assertThat(renewedLate).isGreaterThan(SEEDS);
            assertThat(reasons)
                    .containsKeys(
                            Reason.LIMIT_EXCEEDED,
                            Reason.SETTLED,
                            Reason.RELEASED,
                            Reason.CANCELLED,
                            Reason.RENEWED,
                            Reason.USAGE_RESET);
        }
    }

    @Test
    void several_limits_of_a_policy_hold() {
        for (int seed = 0; seed < SEEDS; seed++) {
            List<Policy> both = List.of(shared(new Concurrency(9, 1_000), new Concurrency(6, 20_000)));
            SharedSlots model = run(seed, mishaps(seed), Flaw.NONE, both);
            assertThat(model.mostInUse()).as(model.context).isLessThanOrEqualTo(6);
        }
    }

    /** Limits and times are raised and lowered while slots are in use. */
    @Test
    void the_limit_holds_across_changes_of_the_policy() {
        for (int seed = 0; seed < 5 * SEEDS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            List<Policy> policies = Stream.generate(
                            () -> new Concurrency(1 + random.nextInt(12), 500L << random.nextInt(6)))
                    .limit(4)
                    .map(SharedSlotsModelTest::shared)
                    .toList();
            SharedSlots model = run(seed, mishaps(seed), Flaw.NONE, policies);
            assertThat(model.mostInUse()).as(model.context).isLessThanOrEqualTo(model.limit());
        }
    }

    /** Slots of a killed holder, and of lost messages, return when they have ended. */
    @Test
    void all_slots_return() {
        for (int seed = 0; seed < 3 * SEEDS; seed++) {
            Concurrency limit = limits().toList().get(seed % 6);
            SharedSlots model = run(seed, mishaps(seed), Flaw.NONE, List.of(shared(limit)));
            model.finish(limit.ttlMs() + 30_000); // lost messages are repeated after some seconds
            assertThat(model.free()).as(model.context).isEqualTo(limit.limit());
        }
    }

    /** Without mishaps, a ledger has a slot again soon after it was freed, or ended. */
    @Test
    void freed_slots_return_soon() {
        for (int seed = 0; seed < SEEDS; seed++) {
            Concurrency limit = new Concurrency(10, 600_000);
            SharedSlots model = run(seed, Mishaps.NONE, Flaw.NONE, List.of(shared(limit)));
            model.finish(1_000);
            assertThat(model.free()).as(model.context).isEqualTo(limit.limit() - model.inUse());
        }
    }

    /** Not a millisecond sooner or later than the last decision said. */
    @Test
    void slots_that_nobody_frees_are_free_at_the_end_that_was_said() {
        int ends = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Concurrency limit = new Concurrency(10, 20_000);
            SharedSlots model = run(seed, Mishaps.NONE, Flaw.NONE, List.of(shared(limit)));
            model.finish(1_000);
            for (long endMs : model.ends()) {
                for (long atMs = endMs - 1; atMs <= endMs; atMs++) {
                    model.finishAt(atMs);
                    assertThat(model.free()).as(model.context).isEqualTo(limit.limit() - model.inUse());
                }
                ends++;
            }
            assertThat(model.inUse()).isZero();
        }
        assertThat(ends).isGreaterThan(SEEDS);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void faults_are_found(Flaw flaw) {
        boolean isFound = false;
        for (int seed = 0; seed < 200 && !isFound; seed++) {
            Concurrency limit = new Concurrency(1 + seed % 4, 2_000);
            isFound = run(seed, mishaps(seed), flaw, List.of(shared(limit))).mostInUse() > limit.limit();
        }
        assertThat(isFound).isTrue();
    }
}
