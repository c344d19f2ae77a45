package dev.weir.query;

import dev.weir.decision.state.lease.HeldLeases;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.query.InstanceQueries.LedgerQuestion;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What a request could use of shared limits: what the task's leases hold, and what the ledgers could lend. It is for a
 * dry run, which waits for no lease: the ledgers are asked before.
 */
final class AnsweredLeases implements HeldLeases {

    private final HeldLeases leases;
    private final String holder;
    private final long cost;
    private final Map<LedgerQuestion, LeaseResponse.Checked> answers;
    private final long nowMs;
    private final Set<LedgerQuestion> unanswered = new LinkedHashSet<>();

    /**
     * @param held the leases of the task
     * @param holder the name of the task as a holder
     * @param cost the cost of the request
     * @param answers the answers of the ledgers so far
     */
    AnsweredLeases(
            HeldLeases leases,
            String holder,
            long cost,
            Map<LedgerQuestion, LeaseResponse.Checked> answers,
            long nowMs) {
        this.leases = leases;
        this.holder = holder;
        this.cost = Math.max(1, cost);
        this.answers = answers;
        this.nowMs = nowMs;
    }

    /** Returns the context of a decision by these leases. */
    LeaseContext context() {
        return LeaseContext.readOnly(this, 0, false, false);
    }

    /** Returns the questions that the last decision depends on and that are not answered. */
    Set<LedgerQuestion> unanswered() {
        return unanswered;
    }

    @Override
    public LeaseBook book(StateKey key) {
        LedgerQuestion question = question(key);
        LeaseResponse.Checked answer = answers.get(question);
        if (answer == null) {
            unanswered.add(question);
            return LeaseBook.empty();
        }
        long available = available(key);
        long free = Math.max(0, Math.min(answer.free(), Long.MAX_VALUE - available));
        return LeaseBook.reconstructed(
                available + free, OptionalLong.of(0), nowMs, answer.retryAfterMs(), answer.isLent());
    }

    /** Returns the question whether the ledger would lend the cost; it does not depend on leases, which change. */
    private LedgerQuestion question(StateKey key) {
        List<String> namesAndValues = key.namesAndValues();
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i < namesAndValues.size(); i += 2) {
            values.put(namesAndValues.get(i), namesAndValues.get(i + 1));
        }
        return new LedgerQuestion(key.policyId(), values, cost, holder);
    }

    private long available(StateKey key) {
        LeaseBook book = leases.book(key);
        return book.available(nowMs, book.decisionTimeMs(nowMs));
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return false;
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return leases.terms(key);
    }

    @Override
    public long roundTripMs() {
        return 0;
    }

    @Override
    public long leaseWaitMs() {
        return 0;
    }
}
