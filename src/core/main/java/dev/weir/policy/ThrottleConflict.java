package dev.weir.policy;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Two policies in different layers that may both apply to one request, where one throttles and the other shapes. Both
 * cannot keep their promise: the queue releases requests at its own rate, possibly faster than the throttling policy
 * allows, whatever delay it computed.
 *
 * <p>Whether both may apply is determined by their layers, the times at which they are in force, and
 * {@link RequestMatcher#mayOverlap}. Priorities are ignored: a policy that is always superseded by another one of its
 * layer still conflicts.
 *
 * @param throttling the policy that throttles
 * @param shaping the policy that shapes
 */
public record ThrottleConflict(Policy throttling, Policy shaping) {

    /** The most conflicts that are reported. */
    public static final int MAX_CONFLICTS = 100;

    /**
     * A version of a policy and when it is in force: from its {@code effectiveFromMs} until {@code untilMs}.
     *
     * @param untilMs when it ends or a later version takes effect
     */
    public record InForce(Policy policy, long untilMs) {

        private boolean overlaps(InForce other) {
            return policy.effectiveFromMs() < other.untilMs && other.policy.effectiveFromMs() < untilMs;
        }
    }

    /** Returns the first {@value #MAX_CONFLICTS} conflicts, in the order of the throttling policies. */
    public static List<ThrottleConflict> of(Collection<InForce> policies) {
        List<InForce> shaping =
                policies.stream().filter(each -> each.policy.shapes()).toList();
        List<ThrottleConflict> conflicts = new ArrayList<>();
        Map<String, ByValue> byField = new HashMap<>();
        for (InForce throttling : policies) {
            if (!shaping.isEmpty() && throttling.policy.onExceed() instanceof OnExceed.Throttle) {
                for (InForce other : candidates(throttling.policy.match(), shaping, byField)) {
                    if (conflicts.size() < MAX_CONFLICTS && conflict(throttling, other)) {
                        conflicts.add(new ThrottleConflict(throttling.policy, other.policy));
                    }
                }
            }
        }
        return conflicts;
    }

    private static boolean conflict(InForce throttling, InForce shaping) {
        return !throttling.policy.layer().equals(shaping.policy.layer())
                && throttling.overlaps(shaping)
                && throttling.policy.match().mayOverlap(shaping.policy.match());
    }

    /** Returns why the policies conflict, and what to do. */
    public String message() {
        return "policy '" + throttling.id() + "' in layer '" + throttling.layer() + "' throttles requests that policy '"
                + shaping.id() + "' in layer '" + shaping.layer() + "' sends to a queue: the queue could release them"
                + " faster than '" + throttling.id()
                + "' allows; put both into one layer, or change their match so that no request matches both";
    }

    /**
     * Shaping policies grouped by the values that they list for one field, so that not every pair has to be compared.
     */
    private record ByValue(Map<String, List<InForce>> listed, List<InForce> others) {

        static ByValue of(String field, List<InForce> all) {
            ByValue sorted = new ByValue(new HashMap<>(), new ArrayList<>());
            for (InForce each : all) {
                each.policy
                        .match()
                        .literalValues(field)
                        .ifPresentOrElse(
                                values -> values.stream().distinct().forEach(value -> sorted.listed
                                        .computeIfAbsent(value, none -> new ArrayList<>())
                                        .add(each)),
                                () -> sorted.others.add(each));
            }
            return sorted;
        }

        List<InForce> with(List<String> values) {
            List<InForce> found = new ArrayList<>(others);
            values.stream().distinct().forEach(value -> found.addAll(listed.getOrDefault(value, List.of())));
            return found.stream().distinct().toList();
        }
    }

    /** Returns the smallest set of shaping policies that can match, found by the values of one field. */
    private static List<InForce> candidates(RequestMatcher match, List<InForce> all, Map<String, ByValue> byField) {
        List<InForce> fewest = all;
        for (String field : match.conditions().keySet()) {
            List<String> values = match.literalValues(field).orElse(null);
            if (values != null) {
                List<InForce> some = byField.computeIfAbsent(field, name -> ByValue.of(name, all))
                        .with(values);
                fewest = some.size() < fewest.size() ? some : fewest;
            }
        }
        return fewest;
    }
}
