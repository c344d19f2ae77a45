package dev.weir.event;

import java.util.List;

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
     * @param observedBy {@link Decision.Status#observedBy}
     */
    record SentToQueue(String queue, PolicyVersion policy, LimitStatus exceeded, List<String> observedBy)
            implements IdempotentAnswer {

        public SentToQueue {
            observedBy = List.copyOf(observedBy);
        }

        /** Creates an answer without observing policies. */
        public SentToQueue(String queue, PolicyVersion policy, LimitStatus exceeded) {
            this(queue, policy, exceeded, List.of());
        }
    }
}
