package dev.weir.event;

import java.util.List;
import java.util.Map;

/**
 * A message to a queue: a request to admit, one that withdraws another, or the answer of a worker to a release.
 *
 * @param request the request
 * @param sent the queue, and why the request is sent to it
 * @param key the values of the queue's key fields, by name; empty if it has none, or if none is known yet
 * @param identity what the request has in common with its repeats, and with its reservation
 * @param headers the headers of the request's record, which are copied to the release
 * @param context when and by which policies it was decided; {@link DecisionContext#UNKNOWN} until that is recorded
 */
public record Admission(
        Request request,
        IdempotentAnswer.SentToQueue sent,
        Map<String, String> key,
        Identity identity,
        List<Header> headers,
        DecisionContext context)
        implements DecisionResult {

    /**
     * How other requests can name this one.
     *
     * @param repeated whether its requestId was sent to the queue before, so that the queue repeats its first answer
     * @param idempotentUntilMs until when repeats of the requestId get the same answer, in milliseconds since the epoch;
     *     0 for not at all
     * @param reservation the number of the reservation that the request created, which ends if the queue does not
     *     release the request; 0 if it created none
     * @param reservedUntilMs {@link Decision.Timing#reservedUntilMs}
     */
    public record Identity(boolean repeated, long idempotentUntilMs, long reservation, Long reservedUntilMs) {

        /** No other request names it. */
        public static final Identity NONE = new Identity(false, 0, 0, null);
    }

    /** A header of a record. Its value can be null. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    public record Header(String key, byte[] value) {}

    /**
     * Returns the admission of a first request, without headers, context and key.
     *
     * @param exceeded the limit that the request exceeds; null if the policy sends all requests
     */
    public static Admission of(Request request, String queue, PolicyVersion policy, LimitStatus exceeded) {
        return of(request, new IdempotentAnswer.SentToQueue(queue, policy, exceeded));
    }

    public static Admission of(Request request, IdempotentAnswer.SentToQueue sent) {
        return new Admission(request, sent, Map.of(), Identity.NONE, List.of(), DecisionContext.UNKNOWN);
    }

    /** Returns the message for a {@link RequestKind#CANCEL}, which is sent by no policy. */
    public static Admission cancel(Request request) {
        return of(request, request.queue(), null, null);
    }

    /** Returns the message for the answer of a worker, a {@link RequestKind#COMPLETE} or {@link RequestKind#EXTEND}. */
    public static Admission acknowledgement(Request request) {
        Receipt receipt = request.acknowledgement().attempt();
        return of(request, receipt.queue(), null, null).withKey(receipt.key());
    }

    /** Returns this admission with the ids of the observing policies that would have denied the request. */
    public Admission withObservedBy(List<String> ids) {
        if (ids.isEmpty()) {
            return this;
        }
        IdempotentAnswer.SentToQueue observed =
                new IdempotentAnswer.SentToQueue(sent.queue(), sent.policy(), sent.exceeded(), ids);
        return new Admission(request, observed, key, identity, headers, context);
    }

    /** Returns this admission with the time until which repeats get the same answer. */
    public Admission withIdempotentUntilMs(long untilMs) {
        return with(new Identity(identity.repeated, untilMs, identity.reservation, identity.reservedUntilMs));
    }

    /** Returns this admission of a request that created a reservation. */
    public Admission withReservation(long number) {
        return with(new Identity(identity.repeated, identity.idempotentUntilMs, number, identity.reservedUntilMs));
    }

    /** Returns this admission with {@link Decision.Timing#reservedUntilMs}. */
    public Admission withReservedUntilMs(Long untilMs) {
        return with(new Identity(identity.repeated, identity.idempotentUntilMs, identity.reservation, untilMs));
    }

    private Admission with(Identity other) {
        return new Admission(request, sent, key, other, headers, context);
    }

    /** Returns this admission for a request whose requestId was sent to the queue before. */
    public Admission asRepeated() {
        return with(new Identity(true, identity.idempotentUntilMs, identity.reservation, identity.reservedUntilMs));
    }

    /** Returns this admission with headers and another context. */
    public Admission withHeadersAndContext(List<Header> all, DecisionContext other) {
        return new Admission(request, sent, key, identity, all, other);
    }

    /** Returns this admission with the key of its bucket in the queue. */
    public Admission withKey(Map<String, String> bucket) {
        return new Admission(request, sent, bucket, identity, headers, context);
    }

    /** Returns {@link Identity#repeated}. */
    public boolean repeated() {
        return identity.repeated;
    }

    /** Returns {@link Identity#idempotentUntilMs}. */
    public long idempotentUntilMs() {
        return identity.idempotentUntilMs;
    }

    /** Returns {@link Decision.Timing#reservedUntilMs}. */
    public Long reservedUntilMs() {
        return identity.reservedUntilMs;
    }

    /**
     * Returns whether a decision of the queue ends the reservation of the request, because the queue will not release
     * it. {@link dev.weir.decision.Decider#cancelQueued} ends it.
     */
    public boolean isReservationEndedBy(Decision decision) {
        return identity.reservation > 0
                && (decision.outcome() == Outcome.DENIED || decision.outcome() == Outcome.EXPIRED);
    }

    public String queue() {
        return sent.queue();
    }

    /** Returns the policy; null for a {@link RequestKind#CANCEL}. */
    public PolicyVersion policy() {
        return sent.policy();
    }

    /** Returns the limit that the request exceeds; null if the policy sends all requests. */
    public LimitStatus exceeded() {
        return sent.exceeded();
    }
}
