package dev.weir.event;

import dev.weir.policy.PolicyTable;

/**
 * When and by which policies a request was decided. A replay needs it besides the requests and the policies. It has no
 * effect on the decision.
 *
 * @param order the position of the decision; null if the request was decided in the order of its own offset
 * @param policiesChecksum {@link PolicyTable#checksum} of the policies in force; null if it was not recorded
 */
public record DecisionContext(DecisionOrder order, Long policiesChecksum) {

    /** The context of decisions for which nothing was recorded. */
    public static final DecisionContext UNKNOWN = new DecisionContext(null, null);
}
