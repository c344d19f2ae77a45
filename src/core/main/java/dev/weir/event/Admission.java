package dev.weir.event;

import java.util.List;
import java.util.Map;

/**
 * A request on its way into a queue, or one that withdraws another from it.
 *
 * @param sent which queue it is sent to, and why
 * @param key the values of the queue's key fields, by name; empty if it has none, or none was known yet
 * @param repeated its requestId was sent to the queue before: to be answered as it was then
 * @param idempotentUntilMs until when a repeated requestId is to be answered as this one, ms since the epoch; 0: not at
 *     all
 * @param headers of the request's record, for its release
 * @param context when and by which policies it was decided; {@link DecisionContext#UNKNOWN} until that is recorded
 */
public record Admission(
        Request request,
        IdempotentAnswer.SentToQueue sent,
        Map<String, String> key,
        boolean repeated,
        long idempotentUntilMs,
        List<Header> headers,
        DecisionContext context)
        implements DecisionResult {

    /** A header of a record; its value may be null. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    public record Header(String key, byte[] value) {}

    /**
     * A first request that is not recorded yet, and whose bucket is not known yet.
     *
     * @param exceeded null if the policy sends everything
     */
    public static Admission of(Request request, String queue, PolicyVersion policy, LimitStatus exceeded) {
        return of(request, new IdempotentAnswer.SentToQueue(queue, policy, exceeded));
    }

    public static Admission of(Request request, IdempotentAnswer.SentToQueue sent) {
        return new Admission(request, sent, Map.of(), false, 0, List.of(), DecisionContext.UNKNOWN);
    }

    /** A request that withdraws another, which no policy sends. */
    public static Admission cancel(Request request) {
        return of(request, request.queue(), null, null);
    }

    /** The same, to be answered again until then. */
    public Admission withIdempotentUntilMs(long untilMs) {
        return new Admission(request, sent, key, repeated, untilMs, headers, context);
    }

    /** The same for a request whose id was sent to the queue before. */
    public Admission asRepeated() {
        return new Admission(request, sent, key, true, idempotentUntilMs, headers, context);
    }

    /** The same with headers and another context. */
    public Admission withHeadersAndContext(List<Header> all, DecisionContext other) {
        return new Admission(request, sent, key, repeated, idempotentUntilMs, all, other);
    }

    /** The same on its way into a bucket of the queue. */
    public Admission withKey(Map<String, String> bucket) {
        return new Admission(request, sent, bucket, repeated, idempotentUntilMs, headers, context);
    }

    public String queue() {
        return sent.queue();
    }

    /** Null for a {@link RequestKind#CANCEL}. */
    public PolicyVersion policy() {
        return sent.policy();
    }

    /** The limit that the request exceeds; null if the policy sends everything. */
    public LimitStatus exceeded() {
        return sent.exceeded();
    }
}
