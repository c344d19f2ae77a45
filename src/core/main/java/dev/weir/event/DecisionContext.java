package dev.weir.event;

import dev.weir.policy.PolicyTable;

/**
 * When and by which policies a request was decided: what a replay needs besides the requests and the policies. It does
 * not take part in the decision.
 *
 * @param order null if the request was decided in the order of its own offset
 * @param policiesChecksum {@link PolicyTable#checksum} of the policies that decided; null if it was not recorded
 */
public record DecisionContext(DecisionOrder order, Long policiesChecksum) {

    /** Nothing was recorded, as by earlier versions. */
    public static final DecisionContext UNKNOWN = new DecisionContext(null, null);
}
