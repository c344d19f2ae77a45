package dev.weir.event;

/** What is remembered of the first answer to a request: the decision, or that a queue gives it. */
public sealed interface IdempotentAnswer permits Decision, IdempotentAnswer.SentToQueue {

    /**
     * The request was sent to a queue.
     *
     * @param policy the policy that sent it; null for a {@link RequestKind#CANCEL}, which is never remembered
     * @param exceeded the label and the bound of the limit that the request exceeds; null if the policy sends
     *     everything
     */
    record SentToQueue(String queue, PolicyVersion policy, LimitStatus exceeded) implements IdempotentAnswer {}
}
