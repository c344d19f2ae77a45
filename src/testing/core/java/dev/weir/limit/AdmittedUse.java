package dev.weir.limit;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * An admitted amount.
 *
 * @param timeMs the decision time
 * @param cost the tokens
 */
public record AdmittedUse(long timeMs, long cost) {

    /**
     * Returns how admitted amounts exceed a limit; empty if they do not. Amounts of the same time are added up, since
     * these have no order.
     *
     * @param account the account of the limit when it came into force
     * @param most the maximum at one time: the capacity, or what was leased before if that is more
     */
    public static Optional<String> excess(LimitAccount<?> account, long most, List<AdmittedUse> all) {
        LimitOracle oracle = LimitOracle.of(account.limit());
        if (account.state() instanceof IntervalBucket.Steps steps) {
            oracle.open(steps.stepMs());
        }
        Map<Long, Long> costs = new TreeMap<>();
        all.forEach(use -> costs.merge(use.timeMs, use.cost, Long::sum));
        for (Map.Entry<Long, Long> use : costs.entrySet()) {
            oracle.charge(use.getValue(), use.getKey());
            long used = oracle.excess(use.getKey()) + account.limit().capacity();
            if (used > most) {
                return Optional.of(used + " of " + most + " used at " + use.getKey());
            }
        }
        return Optional.empty();
    }
}
