package dev.weir.client.lease;

import dev.weir.decision.Decider;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Decides one request after the other by leases, for one thread. It locks the leases of a request while it decides, in
 * an order that is the same for all threads.
 */
final class DecisionAttempt implements WritableLeases {

    /** Handles a request that has to wait, under the locks of its leases. Returns why it is undecided. */
    private interface OnWait {

        LeaseReply park(AwaitLease wait, ClientLease on);
    }

    private final ClientLeases leases;
    private final LeaseSession session;
    private final ClientPolicyRegistry policies;
    private final Waits waits;
    private final Runnable wake;
    private final PolicyTable.Search search = new PolicyTable.Search();
    private ClientPolicyRegistry.Rule[] rules = {};
    private ClientLease[] locked = {};
    private ClientLease[] byNumber = {};
    private LeaseBook[] before = {};
    private PolicyTable table;
    private int size;
    private ClientLease waitsOn;
    private long nowMs;
    private long atMs;

    /**
     * How long requests wait for ledgers that do not respond.
     *
     * @param unansweredMs how long a ledger may take to respond before requests are no longer denied for lack of quota,
     *     but are undecided
     * @param hasCircuit whether requests do not wait for ledgers that have been silent for longer
     */
    record Waits(long unansweredMs, boolean hasCircuit) {}

    /**
     * Creates an attempt for the calling thread.
     *
     * @param wake wakes the thread that requests leases
     */
    DecisionAttempt(
            ClientLeases leases, LeaseSession session, ClientPolicyRegistry policies, Waits waits, Runnable wake) {
        this.leases = leases;
        this.session = session;
        this.policies = policies;
        this.waits = waits;
        this.wake = wake;
    }

    /** Decides a request without letting it wait. If it would have to wait, {@link #decide} must be called for it. */
    LeaseReply tryDecide(Request request) {
        return decide(request, true, true, (wait, on) -> restoreBooks());
    }

    /** Decides a request, or lets it wait. */
    LeaseReply decide(LeaseWaiter waiter) {
        return decide(waiter.request(), true, true, (wait, on) -> park(waiter, wait, on));
    }

    /** Decides a request that is the first to wait for a lease. Returns empty if it must wait longer for the same one. */
    Optional<LeaseReply> decideAgain(LeaseWaiter waiter, ClientLease served, long untilMs) {
        LeaseReply reply = decide(
                waiter.request(),
                false,
                leases.nowMs() < untilMs,
                (wait, on) -> parkAgain(waiter, served, on, untilMs));
        return reply == LeaseReply.Undecided.WAITS && waitsOn == served ? Optional.empty() : Optional.of(reply);
    }

    private LeaseReply decide(Request request, boolean isFirst, boolean mayWait, OnWait onWait) {
        waitsOn = null;
        session.checkClock();
        nowMs = leases.nowMs();
        long ledgerMs = session.ledgerTimeMs(nowMs, System.currentTimeMillis());
        boolean isOwn = request.kind() == RequestKind.CONSUME || request.kind() == RequestKind.PEEK;
        if (!isOwn || request.reserveMs() != null || !find(request, ledgerMs)) {
            return LeaseReply.Undecided.OVER_TOPIC;
        }
        try {
            atMs = Long.MIN_VALUE;
            for (int i = 0; i < size; i++) {
                atMs = observes(i) ? atMs : Math.max(atMs, locked[i].timeMs(nowMs));
            }
            return canTake(request)
                    ? new LeaseReply.Decided(take(request, ledgerMs))
                    : decideByBooks(at(request, ledgerMs), new LeaseContext(this, nowMs, isFirst, mayWait), onWait);
        } finally {
            unlock();
        }
    }

    /** Finds and locks the leases that a request uses. Returns false if the request is not decided here. */
    private boolean find(Request request, long ledgerMs) {
        ClientPolicyRegistry.Rules current = policies.rules();
        table = current.table();
        table.find(request, ledgerMs, search);
        size = search.size();
        if (size == 0) {
            return false;
        }
        reserve();
        for (int i = 0; i < size; i++) {
            rules[i] = current.byPolicy().get(search.policy(i));
            if (rules[i] == null) {
                return false;
            }
        }
        do {
            for (int i = 0; i < size; i++) {
                ClientLease found = rules[i].keys().find(request);
                locked[i] = found == null ? leases.add(request, rules[i]) : found;
                if (locked[i] == null) {
                    return false;
                }
            }
        } while (!lock());
        return true;
    }

    private void reserve() {
        if (locked.length < size) {
            rules = new ClientPolicyRegistry.Rule[size];
            locked = new ClientLease[size];
            byNumber = new ClientLease[size];
            before = new LeaseBook[size];
        }
    }

    /** Locks the leases in the common order. Returns false, and locks none, if one of them was removed. */
    private boolean lock() {
        for (int i = 0; i < size; i++) {
            int at = i;
            for (; at > 0 && byNumber[at - 1].number() > locked[i].number(); at--) {
                byNumber[at] = byNumber[at - 1];
            }
            byNumber[at] = locked[i];
        }
        boolean isGone = false;
        for (int i = 0; i < size; i++) {
            byNumber[i].lock();
            isGone |= byNumber[i].isRemoved();
        }
        if (isGone) {
            unlock();
        }
        return !isGone;
    }

    private void unlock() {
        for (int i = size - 1; i >= 0; i--) {
            byNumber[i].unlock();
        }
    }

    private boolean canTake(Request request) {
        boolean canTake = request.kind() == RequestKind.CONSUME && request.cost() > 0;
        for (int i = 0; i < size && canTake; i++) {
            LeasedPolicyDecider policy = rules[i].policy();
            canTake = locked[i].has(request.cost(), policy, nowMs, takenAtMs(i)) && policy.permitsSize(request);
        }
        return canTake;
    }

    private Decision take(Request request, long ledgerMs) {
        int binding = -1;
        List<EnforcedLimit> limits = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            if (locked[i].take(request.cost(), nowMs, takenAtMs(i))) {
                leases.setDueWithBatch(locked[i]);
            }
            if (!observes(i)) {
                rules[i].policy().addLimits(locked[i].remaining(), atMs, limits);
                binding = binding < 0 || isBinding(i, binding) ? i : binding;
            }
        }
        return binding < 0
                ? Decision.unmatched(at(request, ledgerMs))
                : rules[binding].policy().allowedDecision(request, locked[binding].remaining(), limits, atMs);
    }

    private boolean isBinding(int index, int before) {
        LeasedPolicyDecider best = rules[before].policy();
        return rules[index].policy().isBinding(locked[index].remaining(), best, locked[before].remaining());
    }

    private boolean observes(int index) {
        return rules[index].policy().policy().observes();
    }

    /** Returns the time at which a lease is used. Leases of policies that observe do not determine that of others. */
    private long takenAtMs(int index) {
        return observes(index) ? locked[index].timeMs(nowMs) : atMs;
    }

    /** Decides a request that is not simply permitted, in the same way as an enforcer. */
    private LeaseReply decideByBooks(Request request, LeaseContext context, OnWait onWait) {
        for (int i = 0; i < size; i++) {
            before[i] = locked[i].book();
        }
        DecisionResult result = Decider.leased(context).decide(request, table);
        boolean isToWake = false;
        LeaseReply reply;
        if (result instanceof Decision decided) {
            reply = count(request, decided);
        } else {
            AwaitLease wait = (AwaitLease) result;
            waitsOn = of(wait.key());
            reply = onWait.park(wait, waitsOn);
        }
        for (int i = 0; i < size; i++) {
            isToWake |= locked[i].isToRequest(nowMs);
            leases.setDue(locked[i]);
            before[i] = null;
        }
        if (isToWake) {
            wake.run();
        }
        return reply;
    }

    /** Counts a decision. One that is due to a ledger that does not answer is none. */
    private LeaseReply count(Request request, Decision decision) {
        if (request.kind() != RequestKind.CONSUME) {
            return isUnanswered(decision) ? LeaseReply.Undecided.NO_LEASE : new LeaseReply.Decided(decision);
        }
        for (int i = 0; i < size; i++) {
            boolean isByThis = rules[i].policy().policy().id().equals(decision.policyId());
            if (decision.outcome() == Outcome.ALLOWED) {
                locked[i].allowed(before[i], observes(i) ? takenAtMs(i) : decision.decidedAtMs());
            } else if (isByThis && decision.reason() == Reason.QUOTA_NOT_AT_HAND && isUnanswered(locked[i])) {
                return LeaseReply.Undecided.NO_LEASE;
            } else if (isByThis) {
                locked[i].denied(decision.decidedAtMs());
            }
        }
        return new LeaseReply.Decided(decision);
    }

    /** Returns whether a PEEK was denied because a ledger has not answered for long; it is then undecided. */
    private boolean isUnanswered(Decision decision) {
        for (int i = 0; i < size && decision.reason() == Reason.QUOTA_NOT_AT_HAND; i++) {
            boolean isByThis = rules[i].policy().policy().id().equals(decision.policyId());
            if (isByThis && isUnanswered(locked[i])) {
                return true;
            }
        }
        return false;
    }

    private boolean isUnanswered(ClientLease one) {
        return one.holder().isUnanswered(waits.unansweredMs, nowMs);
    }

    /** Restores the books, since the request is decided again and its demand must not be counted twice. */
    private LeaseReply restoreBooks() {
        for (int i = 0; i < size; i++) {
            locked[i].put(before[i], rules[i].policy(), nowMs);
        }
        return LeaseReply.Undecided.WAITS;
    }

    private LeaseReply park(LeaseWaiter waiter, AwaitLease wait, ClientLease on) {
        long nowNanos = System.nanoTime();
        long waitNanos = Math.min(waiter.withinNanos(), TimeUnit.MILLISECONDS.toNanos(wait.maxWaitMs()));
        on.ledger().requested(nowNanos);
        if (waits.hasCircuit && on.ledger().isSilentFor(waitNanos, nowNanos)) {
            return LeaseReply.Undecided.NO_LEDGER;
        }
        if (!waiter.enter(on.ledger())) {
            return LeaseReply.Undecided.NO_ROOM;
        }
        on.park(waiter, nowMs + wait.maxWaitMs());
        return LeaseReply.Undecided.WAITS;
    }

    private LeaseReply parkAgain(LeaseWaiter waiter, ClientLease served, ClientLease on, long untilMs) {
        if (on != served) {
            waiter.waitFor(on.ledger());
            on.park(waiter, untilMs);
        }
        return LeaseReply.Undecided.WAITS;
    }

    private ClientLease of(StateKey key) {
        for (int i = 0; i < size; i++) {
            if (locked[i].key().equals(key)) {
                return locked[i];
            }
        }
        throw new IllegalStateException("not held: " + key);
    }

    @Override
    public LeaseBook book(StateKey key) {
        return of(key).book();
    }

    @Override
    public void put(StateKey key, LeaseBook book) {
        for (int i = 0; i < size; i++) {
            if (locked[i].key().equals(key)) {
                locked[i].put(book, rules[i].policy(), nowMs);
            }
        }
    }

    @Override
    public void recordUnmetDemand(StateKey key, long cost) {
        of(key).holder().recordUnmetDemand(cost);
    }

    @Override
    public void recordQuestion(StateKey key, long cost) {
        of(key).holder().recordQuestion(cost);
    }

    @Override
    public void reset(StateKey key) {
        throw new IllegalStateException("a reset is decided over the topic");
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return of(key).holder().hasWaiting();
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return of(key).holder().terms();
    }

    @Override
    public long roundTripMs() {
        return session.roundTrip().smoothedMs();
    }

    @Override
    public long leaseWaitMs() {
        return session.roundTrip().waitMs();
    }

    /** Returns the request with the time of the decision as its timestamp, and without a source. */
    private static Request at(Request request, long nowMs) {
        return request.toBuilder()
                .payload(null)
                .queue(null)
                .timestampMs(nowMs)
                .source(Request.Source.NONE)
                .build();
    }
}
