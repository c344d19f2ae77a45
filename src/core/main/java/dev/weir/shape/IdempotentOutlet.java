package dev.weir.shape;

import dev.weir.decision.IdempotencyCache;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.shape.backlog.QueueDecisions;

/** Passes on what queues say, and remembers the first answers that are to be given again. */
final class IdempotentOutlet implements Outlet {

    private final IdempotencyCache memory;
    private final Outlet next;

    IdempotentOutlet(IdempotencyCache memory, Outlet next) {
        this.memory = memory;
        this.next = next;
    }

    @Override
    public void decide(Admission of, Decision decision) {
        if (of.rememberUntilMs() > 0 && !decision.endsWait()) {
            long atMs = of.request().timestampMs();
            Request request = of.request();
            memory.put(RequestKey.of(request), ContentHash.of(request), decision, atMs, of.rememberUntilMs());
        }
        next.decide(of, decision);
    }

    @Override
    public void release(Admission of, Release release) {
        next.release(of, release);
    }

    /** Answers a request that was here before. */
    void repeat(Admission repeat, long nowMs) {
        next.decide(repeat, again(repeat, nowMs));
    }

    /** The answer to a request that was here before; whoever sent it knows that its time is not over. */
    Decision again(Admission repeat, long nowMs) {
        IdempotencyCache.Entry first = memory.get(RequestKey.of(repeat.request()));
        boolean isKnown = first != null && first.content().equals(ContentHash.of(repeat.request()));
        return !isKnown
                ? QueueDecisions.taken(repeat, nowMs)
                : ((Decision) first.answer()).again(repeat.request().source());
    }
}
