package dev.weir.decision;

import dev.weir.event.Outcome;
import dev.weir.policy.Policy;

/**
 * Receives the result of each policy that is evaluated for a request, also of those that the decision does not name. It
 * is called once for each policy and decided request, and not for a request that must wait for a lease.
 */
@FunctionalInterface
public interface EvaluationListener {

    /** Ignores all results. */
    EvaluationListener NONE = (policy, result) -> {};

    /**
     * @param result {@code DENIED} if the policy denies the request, {@code QUEUED} if it sends the request to its
     *     queue, otherwise {@code ALLOWED}
     */
    void evaluated(Policy policy, Outcome result);

    /**
     * Is called for each key field of an evaluated policy that the request lacks. All requests without it share one
     * count.
     *
     * @param field the name of the field
     */
    default void keyFieldMissing(Policy policy, String field) {}
}
