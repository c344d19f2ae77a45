package dev.weir.decision;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.WritablePolicyStates;
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
 * The rules of idempotency. A request is a repeat if a request of the same client, kind and requestId was answered
 * under policies with {@code idempotency}, less than their longest window ago by its timestamp. Policies that only
 * observe do not count: their {@code idempotency} has no effect. A repeat must have the
 * {@linkplain ContentHash content} of the first request and gets the first answer; otherwise it is a mismatch, which
 * is denied.
 *
 * <pre>
 *   repeat    ⟺  now &lt; first decision's time + the longest idempotency of the policies that applied then,
 *                 and some policy that applies now has idempotency
 *   mismatch  ⟺  repeat, and the content differs from that of the first request
 * </pre>
 *
 * <p>A {@link RequestKind#PEEK} charges nothing, so its answer is neither stored nor repeated.
 */
final class IdempotencyCheck {

    private IdempotencyCheck() {}

    /** Returns how long the answer to a request is repeated, in milliseconds; 0 if it is not. */
    static long windowMs(Request request, Policy[] applicable) {
        long windowMs = 0;
        if (request.kind() != RequestKind.PEEK) {
            for (Policy policy : applicable) {
                windowMs = policy.observes() ? windowMs : Math.max(windowMs, policy.idempotencyMs());
            }
        }
        return windowMs;
    }

    /**
     * Returns the policy that denies a mismatch: the one with the longest window, or the first of these by layer, among
     * those that do not only observe; null if {@link #windowMs} is 0.
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
     * Returns the first answer to a request with the same client, kind and requestId; null if there is none or it
     * has expired.
     */
    static IdempotencyCache.Entry firstAnswer(Request request, PolicyStates states) {
        IdempotencyCache.Entry first = states.firstAnswer(RequestKey.of(request));
        return first == null || request.timestampMs() >= first.untilMs() ? null : first;
    }

    /** Returns whether a repeat has the content of the first request. */
    static boolean isSameContent(Request request, IdempotencyCache.Entry first) {
        return first.content().equals(ContentHash.of(request));
    }

    /** Returns the first answer, addressed to this request. */
    static DecisionResult repeatAnswer(Request request, IdempotencyCache.Entry first) {
        return repeatAnswer(request, first.answer(), first.untilMs());
    }

    /**
     * Returns an answer, addressed to this request.
     *
     * @param untilMs until when the queue must repeat its answer, if the request was sent to one
     */
    static DecisionResult repeatAnswer(Request request, IdempotentAnswer first, long untilMs) {
        return first instanceof IdempotentAnswer.SentToQueue sent
                ? Admission.of(request, sent).withIdempotentUntilMs(untilMs).asRepeated()
                : ((Decision) first).asRepeated(request.source());
    }

    /**
     * Stores a result for {@code windowMs}, unless the request must wait for a lease, and returns it. An admission is
     * returned with the time until which the queue must store its answer.
     */
    static DecisionResult storeAnswer(
            Request request, DecisionResult result, long windowMs, WritablePolicyStates states) {
        if (result instanceof AwaitLease) {
            return result;
        }
        long nowMs = result instanceof Decision decision ? decision.decidedAtMs() : request.timestampMs();
        long untilMs = nowMs + windowMs;
        if (result instanceof Admission admission) {
            states.storeAnswer(RequestKey.of(request), ContentHash.of(request), admission.sent(), nowMs, untilMs);
            return admission.withIdempotentUntilMs(Math.max(untilMs, admission.idempotentUntilMs()));
        }
        states.storeAnswer(RequestKey.of(request), ContentHash.of(request), (Decision) result, nowMs, untilMs);
        return result;
    }
}
