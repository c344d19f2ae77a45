package dev.weir.policy;

import java.util.List;

/**
 * Answers a request that was answered before as the first time. It is one if a request of the same client, kind and id was
 * answered, under policies that ask for that, less than their longest window ago.
 *
 * <pre>
 *   repeat  ⟺  now < first decision's time + the longest idempotency of the policies that applied then,
 *               and some policy that applies now asks for idempotency
 * </pre>
 *
 * <p>{@link Kind#PEEK} takes nothing: it is neither remembered nor answered from memory.
 */
final class Repeats {

    private Repeats() {}

    /** For how long the answer is to be given again, 0 if it is not. */
    static long windowMs(Request request, Policy[] applicable) {
        long windowMs = 0;
        if (request.kind() != Kind.PEEK) {
            for (Policy policy : applicable) {
                windowMs = Math.max(windowMs, policy.idempotencyMs());
            }
        }
        return windowMs;
    }

    /** What was ruled the first time, made out to this request; null if this is the first time. */
    static Ruling again(Request request, FirstAnswers memory) {
        FirstAnswers.Entry first = memory.get(RequestKey.of(request));
        if (first == null || request.timestampMs() >= first.untilMs()) {
            return null;
        }
        if (first.answer() instanceof FirstAnswer.Sent sent) {
            return new Admission(
                    request,
                    sent.queue(),
                    sent.policyId(),
                    sent.policyVersion(),
                    sent.limitedBy(),
                    sent.limit(),
                    true,
                    first.untilMs(),
                    List.of());
        }
        return ((Decision) first.answer()).again(request.source());
    }

    /** Remembers a ruling for so long, unless it is to wait for one; gives it, marked if it is a queue that has to remember the answer. */
    static Ruling remember(Request request, Ruling ruling, long windowMs, FirstAnswers memory) {
        if (ruling instanceof Wait) {
            return ruling;
        }
        long nowMs = ruling instanceof Decision decision ? decision.decidedAtMs() : request.timestampMs();
        long untilMs = nowMs + windowMs;
        if (ruling instanceof Admission admission) {
            FirstAnswer.Sent sent = new FirstAnswer.Sent(
                    admission.queue(),
                    admission.policyId(),
                    admission.policyVersion(),
                    admission.limitedBy(),
                    admission.limit());
            memory.put(RequestKey.of(request), sent, nowMs, untilMs);
            return admission.rememberedUntil(untilMs);
        }
        memory.put(RequestKey.of(request), (Decision) ruling, nowMs, untilMs);
        return ruling;
    }
}
