package dev.weir.policy;

/** What is remembered of the first answer to a request: the decision, or that a queue gives it. */
public sealed interface FirstAnswer permits Decision, FirstAnswer.Sent {

    /**
     * The request was sent to a queue.
     *
     * @param policy the policy that sent it; null for a {@link Kind#CANCEL}, which is never remembered
     * @param exceeded the label and the bound of the limit that the request exceeds; null if the policy sends everything
     */
    record Sent(String queue, PolicyVersion policy, LimitStatus exceeded) implements FirstAnswer {}
}
