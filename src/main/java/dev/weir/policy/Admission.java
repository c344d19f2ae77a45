package dev.weir.policy;

import java.util.List;

/**
 * A request on its way into a queue, or one that withdraws another from it.
 *
 * @param queue which one
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
        String policyId,
        Long policyVersion,
        String limitedBy,
        Long limit,
        boolean repeated,
        long rememberUntilMs,
        List<Header> headers,
        DecisionContext context)
        implements Ruling {

    /** One that is not recorded yet. */
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
                request, queue, policyId, policyVersion, limitedBy, limit, repeated, untilMs, headers, context);
    }

    /** The same with headers and another context. */
    public Admission with(List<Header> all, DecisionContext other) {
        return new Admission(
                request, queue, policyId, policyVersion, limitedBy, limit, repeated, rememberUntilMs, all, other);
    }
}
