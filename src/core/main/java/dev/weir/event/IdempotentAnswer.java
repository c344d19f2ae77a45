package dev.weir.event;

/**
 * The stored first answer to a request: a decision, or the fact that the request was sent to a queue, which decides.
 */
public sealed interface IdempotentAnswer permits Decision, IdempotentAnswer.SentToQueue {

    /**
     * The request was sent to a queue.
     *
     * @param queue the id of the queue
     * @param policy the policy that sent it; null for a {@link RequestKind#CANCEL}, which is never stored
     * @param exceeded the limit that the request exceeds, with its bound; null if the policy sends all requests
     */
    record SentToQueue(String queue, PolicyVersion policy, LimitStatus exceeded) implements IdempotentAnswer {}
}
