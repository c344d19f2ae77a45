package dev.weir.decision;

import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.policy;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Reason;
import dev.weir.lease.LentLimits;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The law of settlement for shared limits. If each reservation is replaced by a request that had its final cost at its
 * original time, the limit would have allowed all that was allowed, by the leases of any holder.
 */
@Tag("slow")
class SharedReservationModelTest {

    private static final int SEEDS = Effort.times(60);

    static Stream<Limit<?>> limits() {
        return Stream.of(LentLimits.of(12, 2_000), LentLimits.of(100, 10_000), LentLimits.of(1_000, 3_000))
                .flatMap(limits -> limits);
    }

    private static Policy shared(Limit<?>... limits) {
        return keyed(List.of(), policy("p", limits));
    }

    private static SharedReservations run(
            int seed, SimulatedLedger.Mishaps mishaps, List<Policy> policies, Map<Reason, Integer> reasons) {
        SharedReservations model = new SharedReservations(seed, mishaps, policies);
        model.run(300);
        model.reasons.forEach((reason, count) -> reasons.merge(reason, count, Integer::sum));
        assertThat(model.broken()).as(model.context).isNull();
        return model;
    }

    @ParameterizedTest
    @MethodSource("limits")
    void never_more_passes_than_the_final_costs_at_their_times_permit(Limit<?> limit) {
        Map<Reason, Integer> reasons = new EnumMap<>(Reason.class);
        int toLeases = 0;
        int toLedger = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            SimulatedLedger.Mishaps mishaps =
                    seed % 3 == 0 ? SimulatedLedger.Mishaps.NONE : SimulatedLedger.Mishaps.ALL;
            SharedReservations model = run(seed, mishaps, List.of(shared(limit)), reasons);
            toLeases += model.toLeases;
            toLedger += model.toLedger;
        }
        assertThat(toLeases).isPositive();
        assertThat(toLedger).isGreaterThan(SEEDS);
        assertThat(reasons)
                .containsKeys(
                        Reason.WITHIN_LIMITS,
                        Reason.SETTLED,
                        Reason.RELEASED,
                        Reason.CANCELLED,
                        Reason.RENEWED,
                        Reason.NOTHING_RESERVED,
                        Reason.ALREADY_ENDED,
                        Reason.USAGE_RESET);
    }

    /** Limits are raised, lowered, suspended and replaced by others while reservations are open. */
    @Test
    void the_law_holds_across_changes_of_the_policy() {
        List<Limit<?>> all = limits().toList();
        Map<Reason, Integer> reasons = new EnumMap<>(Reason.class);
        for (int seed = 0; seed < 10 * SEEDS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            List<Policy> policies = new ArrayList<>();
            Limit<?> one = all.get(random.nextInt(9));
            for (int i = 0; i < 4; i++) {
                int like = all.indexOf(one) % 9 + 9 * random.nextInt(3); // of the same algorithm
                Limit<?> next = random.nextInt(3) == 0 ? all.get(random.nextInt(all.size())) : all.get(like);
                policies.add(
                        random.nextInt(3) == 0
                                ? shared(next, all.get(random.nextInt(all.size())))
                                : random.nextInt(6) == 0 ? shared(new Unlimited()) : shared(next));
            }
            run(seed, SimulatedLedger.Mishaps.ALL, policies, reasons);
        }
    }

    /** In a window that does not end, the ledger has charged what was used in truth when all leases have ended. */
    @Test
    void in_a_long_window_the_usage_is_that_of_the_final_costs() {
        for (int seed = 0; seed < 5 * SEEDS; seed++) {
            Policy hour = shared(new FixedWindow(200 + seed, 4_000_000_000_000L, false));
            SharedReservations model =
                    run(seed, SimulatedLedger.Mishaps.NONE, List.of(hour), new EnumMap<>(Reason.class));
            model.finish();
            boolean isWithinDebt = model.used() <= 2 * (200 + seed);
            if (model.reasons.get(Reason.USAGE_RESET) == null && isWithinDebt) {
                assertThat(model.charged()).as(model.context).isEqualTo(model.used());
            }
        }
    }
}
