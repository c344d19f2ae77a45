package dev.weir.audit;

import dev.weir.lease.Book;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Limit;
import dev.weir.policy.Decision;
import dev.weir.policy.Holdings;
import dev.weir.policy.Kind;
import dev.weir.policy.Outcome;
import dev.weir.policy.Request;
import dev.weir.policy.StateKey;
import dev.weir.policy.Turn;
import java.util.List;

/**
 * What was held of shared quota when a decision was made, as far as the decision shows: what nobody else knows is taken from it, so that
 * all else it says can be decided anew.
 *
 * <pre>
 *   the policy that it names    allowed:   what remains, and what was taken
 *                               refused:   what remains, to be asked for again when it says
 *   every other one             enough
 * </pre>
 */
final class Held implements Holdings {

    /** No slice ends while a decision is made. */
    private static final long LONG_MS = 86_400_000;

    private final Request request;
    private final Decision told;
    private final long nowMs;

    private Held(Request request, Decision told, long nowMs) {
        this.request = request;
        this.told = told;
        this.nowMs = nowMs;
    }

    /**
     * The turn of a request.
     *
     * @param told what was decided, null if nothing is known: then there was enough
     * @param mayStandBehind whether it may have been refused since others waited, with enough at hand
     */
    static Turn turn(Request request, Decision told, boolean mayStandBehind) {
        long nowMs = told == null || told.queueing() != null ? request.timestampMs() : told.decidedAtMs();
        Held held = new Held(request, told, nowMs);
        boolean standsBehind = mayStandBehind && held.standsBehind();
        return new Turn(held, nowMs, standsBehind, standsBehind);
    }

    private boolean standsBehind() {
        return request.kind() == Kind.CONSUME
                && told != null
                && told.outcome() == Outcome.DENIED
                && told.remaining() != null
                && told.remaining() >= request.cost();
    }

    private boolean isNamed(StateKey key) {
        return told != null && key.policyId().equals(told.policyId());
    }

    @Override
    public Book book(StateKey key) {
        if (isNamed(key) && told.queueing() != null) {
            return Book.empty(nowMs); // it was sent there because there was not enough
        }
        if (!isNamed(key) || told.remaining() == null) {
            return book(Limit.MAX_LEVEL, 0);
        }
        boolean isRefused = told.outcome() == Outcome.DENIED || told.observed();
        long taken = isRefused || request.kind() == Kind.PEEK ? 0 : Math.max(0, request.cost());
        long retryMs = told.retryAfterMs() == null ? 0 : told.retryAfterMs();
        return book(Math.max(0, Math.min(Limit.MAX_LEVEL, told.remaining())) + taken, nowMs + retryMs);
    }

    private Book book(long amount, long retryAtMs) {
        Book.Slice slice = new Book.Slice(1, amount, 0, 0, nowMs + LONG_MS, true, false);
        Book.Question question = new Book.Question(false, nowMs, 1, retryAtMs, retryAtMs);
        return new Book(nowMs, List.of(slice), Book.empty(nowMs).demand(), question, 1, 0);
    }

    /** Nothing asks again: it is one decision's. */
    @Override
    public void put(StateKey key, Book book) {}

    @Override
    public void miss(StateKey key, long cost) {}

    @Override
    public boolean isAwaited(StateKey key) {
        return isNamed(key);
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return LeaseTerms.DEFAULTS;
    }
}
