package dev.weir.policy;

import dev.weir.event.Request;
import java.util.Comparator;
import java.util.SortedSet;

/**
 * A version of a policy in the {@link PolicyIndex}.
 *
 * @param untilMs when the version ends or a later version of the policy takes effect
 * @param terms the terms by which it is found; none if it is tested for each request
 */
record PolicyCandidate(Policy policy, long untilMs, SortedSet<IndexTerm> terms) {

    /** The order in which the candidates of one layer are tested. Of one policy, the newest version is the first. */
    static final Comparator<PolicyCandidate> BEST_FIRST = (one, other) -> {
        int order = Integer.compare(other.policy.priority(), one.policy.priority());
        if (order == 0) {
            order = one.policy.id().compareTo(other.policy.id());
        }
        return order == 0 ? Long.compare(other.policy.version(), one.policy.version()) : order;
    };

    PolicyCandidate with(SortedSet<IndexTerm> otherTerms) {
        return new PolicyCandidate(policy, untilMs, otherTerms);
    }

    boolean applies(Request request, long atMs) {
        return atMs >= policy.effectiveFromMs()
                && atMs < untilMs
                && policy.match().matches(request);
    }
}
