package dev.weir.processor;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.lease.LeaseRequest;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.RulesInForce;
import dev.weir.requests.CarriedHeaders;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.storage.QueueKeys;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Forwards the output of {@link Decide}: decisions, their replies, admissions to queues, and messages to ledgers. The
 * sinks of WeirTopology write them to their topics. {@link QueueEffectForwarder} forwards the decisions of queues.
 */
record DecisionForwarder(
        ProcessorContext<byte[], Object> context,
        Decide.Outlets outlets,
        ReplyForwarder replies,
        EnforcerMetrics metrics) {

    /**
     * Forwards a decision with the headers of its request, or an admission with these headers for the release.
     *
     * @param record the record of the request; its value is not read
     * @param decisionContext when it was decided, and by which policies
     * @param rules the rules by which it was decided
     */
    void forward(Record<byte[], ?> record, DecisionResult result, DecisionContext decisionContext, RulesInForce rules) {
        if (result instanceof Decision decision) {
            Decision decided = decision.withContext(decisionContext);
            metrics.decided(decided);
            metrics.answered(context.currentSystemTimeMs() - record.timestamp());
            context.forward(record.withValue(decided), outlets.decisions());
            replies.forward(record, decided);
        } else {
            Admission admission =
                    ((Admission) result).withHeadersAndContext(CarriedHeaders.from(record.headers()), decisionContext);
            Admission keyed = QueueRules.withKey(admission, rules.queue(admission.queue()));
            byte[] bucket = QueueKeys.record(BucketId.of(keyed));
            context.forward(
                    new Record<>(bucket, new QueueMessage.Admitted(keyed), record.timestamp()), outlets.admissions());
        }
    }

    /** Sends a message to a ledger. The ledger reads it after the next commit. */
    void send(LeaseStore.Message message, long nowMs) {
        LeaseRequest request = message.request();
        metrics.sent(new EnforcerMetrics.Leasing(message.key().policyId(), EnforcerMetrics.LeaseMessage.of(request)));
        LeaseRequestAvro.Addressed addressed =
                new LeaseRequestAvro.Addressed(request, context.taskId().partition());
        context.forward(new Record<>(KeyCodec.encode(message.key()), addressed, nowMs), outlets.leaseRequests());
    }
}
