package dev.weir.policy;

import dev.weir.limit.AlignedWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;

/**
 * Assigns the limits of a policy's previous version to those of its next version, so that usage continues. Equal limits
 * are first, then limits of the same algorithm and period, then those of the same algorithm, then the remaining ones.
 * Slots of {@link Concurrency} limits and tokens of rates are different things: neither continues the other.
 */
public final class LimitMatcher {

    private static final List<BiPredicate<Limit<?>, Limit<?>>> CRITERIA =
            List.of(Limit::equals, Limit::hasSamePeriodAs, LimitMatcher::sameAlgorithm, LimitMatcher::sameUnit);

    private LimitMatcher() {}

    /**
     * Returns the index of the previous limit for the index of each limit. A limit without a previous one is absent.
     */
    public static Map<Integer, Integer> of(List<Limit<?>> before, List<Limit<?>> after) {
        Map<Integer, Integer> pairs = new HashMap<>();
        boolean[] taken = new boolean[before.size()];
        for (BiPredicate<Limit<?>, Limit<?>> alike : CRITERIA) {
            for (int i = 0; i < after.size(); i++) {
                for (int j = 0; j < before.size() && !pairs.containsKey(i); j++) {
                    if (!taken[j] && alike.test(before.get(j), after.get(i))) {
                        pairs.put(i, j);
                        taken[j] = true;
                    }
                }
            }
        }
        return pairs;
    }

    private static boolean sameUnit(Limit<?> old, Limit<?> limit) {
        return old instanceof Concurrency == limit instanceof Concurrency;
    }

    /** Fixed windows by the clock and by the calendar count as the same algorithm. */
    private static boolean sameAlgorithm(Limit<?> old, Limit<?> limit) {
        return old.getClass() == limit.getClass() || (old instanceof AlignedWindow && limit instanceof AlignedWindow);
    }
}
