package dev.weir.decision;

import dev.weir.event.Admission;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.ContentHash;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestKey;

/**
 * Answers a request that was answered before as the first time. It is a repeat if a request of the same client, kind
 * and id was answered, under policies that ask for that, less than their longest window ago. A repeat must have the
 * {@linkplain ContentHash content} of the first request; otherwise it is denied.
 *
 * <pre>
 *   repeat    ⟺  now < first decision's time + the longest idempotency of the policies that applied then,
 *                 and some policy that applies now asks for idempotency
 *   mismatch  ⟺  repeat, and the content is not that of the first request
 * </pre>
 *
 * <p>{@link RequestKind#PEEK} takes nothing: it is neither remembered nor answered from memory.
 */
final class IdempotencyCheck {

    private IdempotencyCheck() {}

    /** For how long the answer is to be given again, 0 if it is not. */
    static long windowMs(Request request, Policy[] applicable) {
        long windowMs = 0;
        if (request.kind() != RequestKind.PEEK) {
            for (Policy policy : applicable) {
                windowMs = Math.max(windowMs, policy.idempotencyMs());
            }
        }
        return windowMs;
    }

    /**
     * The policy that denies a repeat with another content: of those that ask for idempotency and do not only observe,
     * the one with the longest window, or the first of these by layer. Null if there is none.
     */
    static Policy denyingPolicy(Policy[] applicable) {
        Policy longest = null;
        for (Policy policy : applicable) {
            boolean asks = policy.idempotencyMs() > 0 && !policy.observes();
            if (asks && (longest == null || policy.idempotencyMs() > longest.idempotencyMs())) {
                longest = policy;
            }
        }
        return longest;
    }

    /**
     * The first answer to a request with the same client, kind and id; null if there is none, or its window is over.
     */
    static IdempotencyCache.Entry firstAnswer(Request request, PolicyStates states) {
        IdempotencyCache.Entry first = states.firstAnswer(RequestKey.of(request));
        return first == null || request.timestampMs() >= first.untilMs() ? null : first;
    }

    /** Whether a repeat asks for what the first request asked for. */
    static boolean isSameContent(Request request, IdempotencyCache.Entry first) {
        return first.content().equals(ContentHash.of(request));
    }

    /** What was ruled the first time, made out to this request. */
    static DecisionResult repeatAnswer(Request request, IdempotencyCache.Entry first) {
        if (first.answer() instanceof IdempotentAnswer.SentToQueue sent) {
            return Admission.of(request, sent)
                    .withIdempotentUntilMs(first.untilMs())
                    .asRepeated();
        }
        return ((Decision) first.answer()).asRepeated(request.source());
    }

    /**
     * Remembers a ruling for so long, unless it is to wait for one; gives it, marked if it is a queue that has to
     * remember the answer.
     */
    static DecisionResult storeAnswer(
            Request request, DecisionResult ruling, long windowMs, WritablePolicyStates states) {
        if (ruling instanceof AwaitLease) {
            return ruling;
        }
        long nowMs = ruling instanceof Decision decision ? decision.decidedAtMs() : request.timestampMs();
        long untilMs = nowMs + windowMs;
        if (ruling instanceof Admission admission) {
            states.storeAnswer(RequestKey.of(request), ContentHash.of(request), admission.sent(), nowMs, untilMs);
            return admission.withIdempotentUntilMs(untilMs);
        }
        states.storeAnswer(RequestKey.of(request), ContentHash.of(request), (Decision) ruling, nowMs, untilMs);
        return ruling;
    }
}
