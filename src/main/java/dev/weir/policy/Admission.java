package dev.weir.policy;

import java.util.List;
import java.util.Map;

/**
 * A request on its way into a queue, or one that withdraws another from it.
 *
 * @param queue which one
 * @param key the values of the queue's key fields, by name; empty if it has none, or none was known yet
 * @param policyId the policy that sends it there, null for a {@link Kind#CANCEL}
 * @param policyVersion its version, null for a CANCEL
 * @param limitedBy the limit that the request exceeds, null if the policy sends everything
 * @param limit the most that this limit gives at once, null if the policy sends everything
 * @param repeated its requestId was sent to the queue before: to be answered as it was then
 * @param rememberUntilMs until when a repeated requestId is to be answered as this one, ms since the epoch; 0: not at all
 * @param headers of the request's record, for its release
 * @param context when and by which policies it was decided; {@link DecisionContext#UNKNOWN} until that is recorded
 */
public record Admission(
        Request request,
        String queue,
        Map<String, String> key,
        String policyId,
        Long policyVersion,
        String limitedBy,
        Long limit,
        boolean repeated,
        long rememberUntilMs,
        List<Header> headers,
        DecisionContext context)
        implements Ruling {

    /** One that is not recorded yet, and whose bucket is not known yet. */
    public Admission(
            Request request,
            String queue,
            String policyId,
            Long policyVersion,
            String limitedBy,
            Long limit,
            boolean repeated,
            long rememberUntilMs,
            List<Header> headers) {
        this(
                request,
                queue,
                Map.of(),
                policyId,
                policyVersion,
                limitedBy,
                limit,
                repeated,
                rememberUntilMs,
                headers,
                DecisionContext.UNKNOWN);
    }

    /** A header of a record; its value may be null. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    public record Header(String key, byte[] value) {}

    /** The same, to be answered again until then. */
    Admission rememberedUntil(long untilMs) {
        return new Admission(
                request, queue, key, policyId, policyVersion, limitedBy, limit, repeated, untilMs, headers, context);
    }

    /** The same with headers and another context. */
    public Admission with(List<Header> all, DecisionContext other) {
        return new Admission(
                request, queue, key, policyId, policyVersion, limitedBy, limit, repeated, rememberUntilMs, all, other);
    }

    /** The same on its way into a bucket of the queue. */
    public Admission to(Map<String, String> bucket) {
        return new Admission(
                request,
                queue,
                bucket,
                policyId,
                policyVersion,
                limitedBy,
                limit,
                repeated,
                rememberUntilMs,
                headers,
                context);
    }
}
