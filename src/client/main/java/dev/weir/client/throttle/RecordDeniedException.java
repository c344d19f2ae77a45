package dev.weir.client.throttle;

import dev.weir.event.Decision;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Indicates that the policy of a record can never allow it, for example because its cost exceeds the capacity of a
 * limit, or because the policy sends it to a queue. The message names the record and the decision.
 */
public final class RecordDeniedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Decision decision;

    RecordDeniedException(ConsumerRecord<?, ?> record, Decision decision) {
        super(ThrottledPartition.place(record) + ": " + decision.outcome() + " by policy " + decision.policyId() + ", "
                + decision.reason() + "; no later attempt can pass. Change the policy, or handle such records with"
                + " onNeverAllowed");
        this.decision = decision;
    }

    /**
     * Returns the decision that denied the record.
     *
     * @return the decision; null if the exception was deserialized
     */
    public Decision decision() {
        return decision;
    }
}
