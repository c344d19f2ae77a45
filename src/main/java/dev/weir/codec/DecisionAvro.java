package dev.weir.codec;

import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Reason;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import java.time.Instant;

/** Decisions as Avro. Threads may share an instance. */
public final class DecisionAvro {

    private static final Decision.Queueing NOT_SHAPED = new Decision.Queueing(null, null, null);

    private final AvroBytes<dev.weir.avro.Decision> bytes = new AvroBytes<>(new dev.weir.avro.Decision(), 2);

    public byte[] encode(Decision decision) {
        Decision.Queueing queueing = decision.queueing() == null ? NOT_SHAPED : decision.queueing();
        return bytes.encode(dev.weir.avro.Decision.newBuilder()
                .setRequestId(decision.requestId())
                .setClient(decision.client())
                .setOutcome(dev.weir.avro.Outcome.valueOf(decision.outcome().name()))
                .setReason(decision.reason().name())
                .setPolicyId(decision.policyId())
                .setPolicyVersion(decision.policyVersion())
                .setLimitedBy(decision.limitedBy())
                .setLimit(decision.limit())
                .setWindowMs(decision.windowMs())
                .setRemaining(decision.remaining())
                .setResetAfterMs(decision.resetAfterMs())
                .setRetryAfterMs(decision.retryAfterMs())
                .setDelayMs(decision.delayMs())
                .setObserved(decision.observed())
                .setShadowBanned(decision.shadowBanned())
                .setRepeated(decision.repeated())
                .setQueue(queueing.queue())
                .setPosition(queueing.position())
                .setExpectedWaitMs(queueing.expectedWaitMs())
                .setHttpStatus(decision.httpStatus())
                .setDecidedAt(Instant.ofEpochMilli(decision.decidedAtMs()))
                .setSourcePartition(decision.source().partition())
                .setSourceOffset(decision.source().offset())
                .build());
    }

    /** @throws UnreadableException if the bytes are no decision */
    public Decision decode(byte[] value) throws UnreadableException {
        dev.weir.avro.Decision event = bytes.decode(value);
        return new Decision(
                event.getRequestId(),
                event.getClient(),
                Outcome.valueOf(event.getOutcome().name()),
                reason(event.getReason()),
                event.getPolicyId(),
                event.getPolicyVersion(),
                event.getLimitedBy(),
                event.getLimit(),
                event.getWindowMs(),
                event.getRemaining(),
                event.getResetAfterMs(),
                event.getRetryAfterMs(),
                event.getDelayMs(),
                event.getObserved(),
                event.getShadowBanned(),
                event.getRepeated(),
                event.getQueue() == null
                        ? null
                        : new Decision.Queueing(event.getQueue(), event.getPosition(), event.getExpectedWaitMs()),
                event.getHttpStatus(),
                event.getDecidedAt().toEpochMilli(),
                new Request.Source(event.getSourcePartition(), event.getSourceOffset()));
    }

    private static Reason reason(String name) throws UnreadableException {
        try {
            return Reason.valueOf(name);
        } catch (IllegalArgumentException e) {
            throw new UnreadableException(Rejection.UNKNOWN_SCHEMA, "its reason is of a later version: " + name);
        }
    }
}
