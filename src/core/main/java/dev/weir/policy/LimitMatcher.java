package dev.weir.policy;

import dev.weir.limit.AlignedWindow;
import dev.weir.limit.Limit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;

/**
 * Which of a policy's earlier limits each of its limits goes on from: the same one, else one of the same algorithm,
 * else one that is left.
 */
public final class LimitMatcher {

    private static final List<BiPredicate<Limit<?>, Limit<?>>> CRITERIA =
            List.of(Limit::equals, LimitMatcher::sameAlgorithm, (old, limit) -> true);

    private LimitMatcher() {}

    /** For the index of a limit, that of the earlier one; nothing for a limit that goes on from none. */
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

    /** A fixed window is one by the clock and by the calendar. */
    private static boolean sameAlgorithm(Limit<?> old, Limit<?> limit) {
        return old.getClass() == limit.getClass() || (old instanceof AlignedWindow && limit instanceof AlignedWindow);
    }
}
