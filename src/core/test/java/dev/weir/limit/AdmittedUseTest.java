package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that the check of admitted amounts accepts all that a limit admits, and finds one token more. */
class AdmittedUseTest {

    static List<Limit<?>> limits() {
        return ModelsTest.shortLimits().stream()
                .filter(limit -> !limit.countDenied() && limit.capacity() > 0 && limit.capacity() < Long.MAX_VALUE)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("limits")
    void one_token_more_than_the_limit_admits_is_found(Limit<?> limit) {
        for (int seed = 0; seed < 5; seed++) {
            Random random = new Random(seed);
            long nowMs = 1_700_000_000_000L + seed;
            LimitAccount<?> opened = LimitAccount.open(limit, nowMs);
            TrialAccount<?> trial = TrialAccount.open(limit, nowMs);
            List<AdmittedUse> admitted = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                nowMs += random.nextInt(3) == 0 ? random.nextInt(40) : 0;
                long cost = 1 + random.nextLong(limit.capacity());
                if (trial.request(cost, nowMs)) {
                    admitted.add(new AdmittedUse(nowMs, cost));
                }
            }
            long rest = trial.available(nowMs);
            if (rest > 0) {
                admitted.add(new AdmittedUse(nowMs, rest));
            }
            assertThat(AdmittedUse.excess(opened, limit.capacity(), admitted))
                    .as("%s, seed %d", limit, seed)
                    .isEmpty();
            admitted.add(new AdmittedUse(nowMs, 1));
            assertThat(AdmittedUse.excess(opened, limit.capacity(), admitted))
                    .as("%s, seed %d", limit, seed)
                    .hasValue(limit.capacity() + 1 + " of " + limit.capacity() + " used at " + nowMs);
        }
    }
}
