package dev.weir.policy;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.ThrottleConflict.InForce;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A search for {@linkplain ShadowedPolicy policies that never apply}, with a bound on its work. */
final class ShadowSearch {

    /** How many requests that a policy matches are tried. */
    private static final int MAX_EXAMPLES = 8;

    /** Up to so many changed policies are compared with each other policy; of more, all policies are looked up. */
    private static final int FEW = 8;

    /** Replaces wildcards in examples. It is unlikely to be in a pattern. */
    private static final String FILLER = "\u2042";

    private final Collection<InForce> all;
    private final PolicyTable table;
    private final long nowMs;
    private final GlobInclusion comparison = new GlobInclusion(GlobInclusion.DEFAULT_STEPS);
    private final PolicyTable.Search search = new PolicyTable.Search();
    private final List<ShadowedPolicy> found = new ArrayList<>();

    /** @param table the same policies as {@code all} */
    ShadowSearch(Collection<InForce> all, PolicyTable table, long nowMs) {
        this.all = all;
        this.table = table;
        this.nowMs = nowMs;
    }

    List<ShadowedPolicy> all() {
        all.forEach(each -> lookUp(each, Set.of()));
        return found;
    }

    /** Returns those pairs that have a policy with one of these ids. */
    List<ShadowedPolicy> involving(Set<String> ids) {
        if (ids.size() > FEW) {
            all.forEach(each -> lookUp(each, ids));
            return found;
        }
        List<InForce> changes =
                all.stream().filter(each -> ids.contains(each.policy().id())).toList();
        for (InForce change : changes) {
            lookUp(change, ids);
            for (InForce other : all) {
                boolean isOther = !ids.contains(other.policy().id());
                if (isOther && goesFirst(change.policy(), other.policy()) && covers(change, other)) {
                    add(new ShadowedPolicy(other.policy(), change.policy()));
                }
            }
        }
        return found;
    }

    private void add(ShadowedPolicy one) {
        if (found.size() < ShadowedPolicy.MAX_REPORTED) {
            found.add(one);
        }
    }

    /**
     * Finds the policy that shadows another one by what applies to requests that this one matches. If it applies to one
     * of them itself, it is not shadowed.
     *
     * @param ids the policies of which one must be in the pair; any if there are none
     */
    private void lookUp(InForce policy, Set<String> ids) {
        long fromMs = Math.max(nowMs, policy.policy().effectiveFromMs());
        if (policy.untilMs() <= fromMs) {
            return;
        }
        Map<String, List<Glob>> conditions = policy.policy().match().conditions();
        int examples = Math.max(
                1, conditions.values().stream().mapToInt(List::size).max().orElse(1));
        for (int i = 0; i < Math.min(MAX_EXAMPLES, examples); i++) {
            table.find(example(conditions, i, fromMs), fromMs, search);
            int at = search.index(policy.policy().layer());
            if (at < 0 || search.policy(at).id().equals(policy.policy().id())) {
                return;
            }
            InForce first = new InForce(search.policy(at), search.candidate(at).untilMs());
            if (covers(first, policy)) {
                boolean isInvolved = ids.isEmpty()
                        || ids.contains(policy.policy().id())
                        || ids.contains(first.policy().id());
                if (isInvolved) {
                    add(new ShadowedPolicy(policy.policy(), first.policy()));
                }
                return;
            }
        }
    }

    /** Returns a request that meets the conditions, by one pattern of each. */
    private static Request example(Map<String, List<Glob>> conditions, int pattern, long atMs) {
        Map<String, String> values = new HashMap<>();
        conditions.forEach((field, globs) ->
                values.put(field, globs.get(Math.min(pattern, globs.size() - 1)).example(FILLER)));
        String client = values.getOrDefault("client", FILLER);
        String tier = values.get("tier");
        values.remove("client");
        values.remove("tier");
        return Request.builder("", client)
                .kind(RequestKind.PEEK)
                .tier(tier)
                .cost(0)
                .attributes(values)
                .timestampMs(atMs)
                .build();
    }

    /** Returns whether one policy matches all requests of another one for as long as that is in force. */
    private boolean covers(InForce first, InForce other) {
        long fromMs = Math.max(nowMs, other.policy().effectiveFromMs());
        return fromMs < other.untilMs()
                && first.policy().effectiveFromMs() <= fromMs
                && first.untilMs() >= other.untilMs()
                && first.policy().match().includes(other.policy().match(), comparison);
    }

    private static boolean goesFirst(Policy policy, Policy other) {
        return policy.layer().equals(other.layer())
                && (policy.priority() != other.priority()
                        ? policy.priority() > other.priority()
                        : policy.id().compareTo(other.id()) < 0);
    }
}
