package dev.weir.simulation;

import dev.weir.lease.Book;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.Holdings;
import dev.weir.policy.Kind;
import dev.weir.policy.Outcome;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import dev.weir.policy.StateKey;
import dev.weir.policy.Turn;
import java.util.List;

/** What there was at hand of shared quota when a request was answered, as the answer tells it; of what it does not tell, plenty. */
final class AtHand implements Holdings {

    private static final long PLENTY = 1_000_000;
    private static final long FAR_MS = 1_000_000_000;

    private final Request request;
    private final String tellsOf;
    private final long atMs;
    private final long available;
    private final long retryAtMs;
    private final boolean standsBehind;

    private AtHand(
            Request request, String tellsOf, long atMs, long available, long retryAfterMs, boolean standsBehind) {
        this.request = request;
        this.tellsOf = tellsOf;
        this.atMs = atMs;
        this.available = available;
        this.retryAtMs = atMs + retryAfterMs;
        this.standsBehind = standsBehind;
    }

    /** The turn at which a request was answered. */
    static Turn turn(Request request, Ruling answer) {
        AtHand atHand = answer instanceof Decision decision
                ? of(request, decision)
                : new AtHand(request, exceeded((Admission) answer), 0, 0, 1, false);
        return new Turn(atHand, atHand.atMs, atHand.standsBehind, atHand.standsBehind);
    }

    private static String exceeded(Admission admission) {
        return admission.limitedBy() == null ? null : admission.policyId();
    }

    private static AtHand of(Request request, Decision decision) {
        long left = decision.remaining() == null ? PLENTY : decision.remaining();
        boolean wasTaken = decision.outcome() == Outcome.ALLOWED && request.kind() != Kind.PEEK;
        boolean standsBehind = request.kind() == Kind.CONSUME
                && decision.outcome() == Outcome.DENIED
                && decision.remaining() != null
                && left >= request.cost(); // others wait, and it may not
        long available = left + (wasTaken ? Math.max(0, request.cost()) : 0);
        if (decision.outcome() == Outcome.DENIED && !standsBehind) {
            available = Math.min(left, request.cost() - 1);
        }
        long retryAfterMs = decision.retryAfterMs() == null ? 1 : decision.retryAfterMs();
        return new AtHand(
                request,
                decision.policyId(),
                decision.decidedAtMs(),
                Math.max(0, available),
                retryAfterMs,
                standsBehind);
    }

    @Override
    public Book book(StateKey key) {
        long amount = key.policyId().equals(tellsOf) ? available : PLENTY;
        Book.Slice slice = new Book.Slice(1, amount, 0, 0, atMs + FAR_MS, true, false);
        return new Book(
                atMs, List.of(slice), new Book.Demand(0, 0, 0), new Book.Question(false, atMs, 1, retryAtMs, 0), 0, 0);
    }

    @Override
    public void put(StateKey key, Book book) {}

    @Override
    public void miss(StateKey key, long cost) {}

    @Override
    public boolean isAwaited(StateKey key) {
        return standsBehind && key.policyId().equals(tellsOf);
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return LeaseTerms.DEFAULTS;
    }

    @Override
    public String toString() {
        return request + " at " + atMs;
    }
}
