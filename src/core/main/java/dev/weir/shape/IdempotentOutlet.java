package dev.weir.shape;

import dev.weir.decision.IdempotencyCache;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.shape.backlog.QueueDecisions;

/** An outlet that forwards the output of queues and stores the first answers to requests that may be repeated. */
final class IdempotentOutlet implements Outlet {

    private final IdempotencyCache cache;
    private final Outlet next;

    IdempotentOutlet(IdempotencyCache memory, Outlet next) {
        this.cache = memory;
        this.next = next;
    }

    @Override
    public void emitDecision(Admission of, Decision decision) {
        if (of.idempotentUntilMs() > 0 && !decision.endsWait()) {
            long atMs = of.request().timestampMs();
            Request request = of.request();
            cache.put(RequestKey.of(request), ContentHash.of(request), decision, atMs, of.idempotentUntilMs());
        }
        next.emitDecision(of, decision);
    }

    @Override
    public void emitRelease(Admission of, Release release) {
        next.emitRelease(of, release);
    }

    /** Answers a repeated request. */
    void decideRepeat(Admission repeat, long nowMs) {
        next.emitDecision(repeat, repeatedDecision(repeat, nowMs));
    }

    /** Returns the answer to a repeated request. The sender has checked that the first answer has not expired. */
    Decision repeatedDecision(Admission repeat, long nowMs) {
        IdempotencyCache.Entry first = cache.get(RequestKey.of(repeat.request()));
        boolean isKnown = first != null && first.content().equals(ContentHash.of(repeat.request()));
        return !isKnown
                ? QueueDecisions.acceptedRepeat(repeat, nowMs)
                : ((Decision) first.answer()).asRepeated(repeat.request().source());
    }
}
