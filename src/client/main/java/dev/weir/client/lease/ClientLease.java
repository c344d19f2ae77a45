package dev.weir.client.lease;

import dev.weir.client.clock.AnswerClock;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.event.LeaseUsage;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.WaitingLine;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** The leases that a client holds of one key of a shared limit. Threads {@link #lock} it to use it. */
// The holder's book is immutable, and creating a new one for each request would be expensive. So the quota that is
// available until the book must be read again is kept as a number, and what is taken of it as another, which is later
// settled into the book:
//
//   load      available = tokens in the book, until a lease ends or the second is over (demand is counted per second)
//   take      available −= cost,  taken += cost
//   settle    book = book with taken,  taken = 0
//
// So everything that is taken between two settlements is taken from usable leases, within one second.
//
// Maintenance takes longer than a decision, so it is not scheduled after each decision. It is scheduled for when no
// more can be taken until a lease must be requested, and for a lead after the last maintenance, since the round trip
// can have changed by then.
//
// Messages for which no request waits are sent in batches with those of other keys, since the ledgers commit after each
// batch and a commit costs much more than a message. All batches end at multiples of their interval, so long intervals
// end together with short ones:
//
//   a lease must be renewed    at the latest a lead before it ends or is used up
//   interval of its batches    the longest of 5, 10, 20, 40, … ms that is at most a sixteenth of the term, and leaves
//                              of the lead what the round trip needs
final class ClientLease {

    /** How many different leads there are. */
    static final int LEADS = 16;

    private static final int BATCHES_PER_TERM = 16;
    private static final long MIN_BATCH_MS = 5;

    private final ReentrantLock lock = new ReentrantLock();
    private final Place place;
    private final LeasedKeys keys;
    private final UsageAggregator usage;
    private final LeaseSession session;
    private final LeaseHolder<LeaseWaiter> holder;
    private LeasedPolicyDecider policy;
    private long clockMs;
    private long aheadMs;
    private long endsMs;
    private long staleAtMs;
    private long clockSteps;
    private long available;
    private long free; // what the ledger could lend by its last response
    private long taken;
    private long requests;
    private long firstTakenMs;
    private long lastTakenMs;
    private long lastNowMs;
    private long takenSinceMaintenance;
    private long takenUntilDue; // how much can be taken until maintenance is due
    private long maintainedUntilMs; // until when that is true
    private long timerMs = DueTime.NEVER;
    private Due due = Due.NEVER;
    private boolean isRemoved;

    /** When maintenance is scheduled, besides at the {@link #timerMs}. */
    private enum Due {
        NEVER,
        /** At the end of the batch. */
        WITH_BATCH,
        NOW
    }

    /**
     * Messages to send.
     *
     * @param message the message to the ledger
     * @param usage reports on lease usage, which auditors read
     */
    record Messages(Optional<LeaseRequest> message, List<LeaseUsage> usage) {
        static final Messages NONE = new Messages(Optional.empty(), List.of());
    }

    /**
     * Where an instance belongs.
     *
     * @param number the order in which instances are locked together, lowest first
     * @param ledger measures for how long the ledger of the key has not answered
     */
    record Place(StateKey key, long number, AnswerClock ledger) {}

    /** Creates an instance without leases. */
    ClientLease(Place place, ClientPolicyRegistry.Rule rule, UsageAggregator usage, LeaseSession session, long nowMs) {
        this.place = place;
        this.keys = rule.keys();
        this.policy = rule.policy();
        this.usage = usage;
        this.session = session;
        holder = LeaseHolder.empty(session, terms(policy));
        load(nowMs);
    }

    StateKey key() {
        return place.key;
    }

    /** Returns the clock of the key's ledger. */
    AnswerClock ledger() {
        return place.ledger;
    }

    LeasedKeys keys() {
        return keys;
    }

    long number() {
        return place.number;
    }

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    /** Returns whether this instance is no longer used, because another one replaces it. */
    boolean isRemoved() {
        return isRemoved;
    }

    /** Marks that this instance is no longer used, and forgets the requests that wait, which have ended. */
    void markRemoved() {
        isRemoved = true;
        holder.lines().forEach(line -> {
            while (!line.isEmpty()) {
                line.removeFirst();
            }
        });
    }

    /** Schedules maintenance now. Returns false if it was already scheduled so. */
    boolean setDue() {
        boolean wasDue = due == Due.NOW;
        due = Due.NOW;
        return !wasDue;
    }

    /** Schedules maintenance at the end of the batch. Returns false if it was already scheduled. */
    boolean setDueWithBatch() {
        boolean wasDue = due != Due.NEVER;
        due = wasDue ? due : Due.WITH_BATCH;
        return !wasDue;
    }

    /** Returns whether maintenance is scheduled at the end of the batch, not now. */
    boolean isDueWithBatch() {
        return due == Due.WITH_BATCH;
    }

    void setDone() {
        due = Due.NEVER;
    }

    /** Returns when the batch ends that contains {@code atMs}. */
    long batchEndMs(long atMs) {
        LeaseTerms terms = holder.terms();
        long roundTripMs = session.roundTrip().smoothedMs();
        long longestMs = Math.min(terms.termMs() / BATCHES_PER_TERM, terms.leadMs() - roundTripMs - roundTripMs / 4);
        if (longestMs < MIN_BATCH_MS) {
            return atMs;
        }
        long intervalMs = MIN_BATCH_MS * Long.highestOneBit(longestMs / MIN_BATCH_MS);
        return -Math.floorDiv(-atMs, intervalMs) * intervalMs; // rounded up
    }

    /** Returns when maintenance is scheduled at the latest, or {@link DueTime#NEVER} if it is not scheduled. */
    long timerMs() {
        return timerMs;
    }

    void setTimer(long atMs) {
        timerMs = atMs;
    }

    /** Returns the decision time of a request that is decided now. */
    long timeMs(long nowMs) {
        return Math.max(clockMs, nowMs + aheadMs);
    }

    /** Returns whether the cost is available to a decision at a time, and no request waits for quota. */
    boolean has(long cost, LeasedPolicyDecider by, long nowMs, long atMs) {
        if (nowMs >= staleAtMs || by != policy || clockSteps != session.clockSteps()) {
            settle();
            if (by != policy || clockSteps != session.clockSteps()) {
                maintainedUntilMs = nowMs;
            }
            setPolicy(by);
            load(nowMs);
        }
        return cost <= available && atMs < endsMs && !holder.hasWaiting();
    }

    /** Takes available quota for one request. Returns whether maintenance must be scheduled. */
    boolean take(long cost, long nowMs, long atMs) {
        firstTakenMs = requests == 0 ? atMs : firstTakenMs;
        lastTakenMs = atMs;
        lastNowMs = nowMs;
        clockMs = atMs;
        available -= cost;
        taken += cost;
        takenSinceMaintenance += cost;
        requests++;
        return takenSinceMaintenance > takenUntilDue - cost || nowMs >= maintainedUntilMs;
    }

    /** Returns what remains of the limit after what was taken. */
    long remaining() {
        return available > Long.MAX_VALUE - free ? Long.MAX_VALUE : free + available;
    }

    /** Updates the book with everything that was taken. */
    private void settle() {
        if (requests > 0) {
            LeaseHolder.Change change = holder.take(taken, lastNowMs, lastTakenMs);
            usage.allowed(change.before(), change.after(), requests, firstTakenMs, lastTakenMs);
            taken = 0;
            requests = 0;
        }
    }

    private void setPolicy(LeasedPolicyDecider next) {
        if (next != policy) {
            policy = next;
            holder.setTerms(terms(next));
        }
    }

    /**
     * Returns the terms of a policy with a lead that is up to twice as long, by the number of this instance. Otherwise
     * leases that were requested together would always be renewed together, which delays other requests.
     */
    private LeaseTerms terms(LeasedPolicyDecider by) {
        LeaseTerms terms = by.terms();
        return LeaseTerms.of(
                terms.termMs(), terms.leadMs() + terms.leadMs() * (place.number % LEADS) / LEADS, terms.graceMs());
    }

    private void load(long nowMs) {
        clockSteps = session.clockSteps();
        LeaseBook book = holder.book();
        clockMs = book.pool().earliestMs(nowMs);
        aheadMs = book.pool().brokerAheadMs(nowMs);
        long atMs = timeMs(nowMs);
        available = book.available(nowMs, atMs);
        free = book.answers().balance().lendable();
        endsMs = book.pool().availableUntilLedgerMs(nowMs, atMs);
        long secondEndsMs = (Math.floorDiv(nowMs, 1_000) + 1) * 1_000;
        staleAtMs = Math.min(book.pool().availableUntilMs(nowMs, atMs), secondEndsMs);
    }

    /** Returns the book, including everything that was taken. */
    LeaseBook book() {
        settle();
        return holder.book();
    }

    /** Returns the policy by which leases are requested now. */
    LeasedPolicyDecider policy() {
        return policy;
    }

    LeaseHolder<LeaseWaiter> holder() {
        return holder;
    }

    /** Replaces the book with the one that a decision returned. */
    void put(LeaseBook next, LeasedPolicyDecider by, long nowMs) {
        holder.setBook(next);
        setPolicy(by);
        load(nowMs);
    }

    /** Counts a request that was allowed and changed the book. */
    void allowed(LeaseBook before, long atMs) {
        usage.allowed(before, holder.book(), 1, atMs, atMs);
    }

    void denied(long atMs) {
        usage.denied(atMs);
    }

    /** Returns whether a message that is sent now requests a lease. */
    boolean isToRequest(long nowMs) {
        return holder.shouldRequest(nowMs);
    }

    /** Lets a request wait for a lease, or a PEEK for an answer. */
    void park(LeaseWaiter waiter, long untilMs) {
        long cost = waiter.request().cost();
        if (waiter.request().kind() == RequestKind.PEEK) {
            holder.parkPeek(waiter, cost, untilMs);
        } else {
            holder.park(waiter, cost, untilMs);
        }
    }

    /** Returns the lines of waiting requests. */
    List<WaitingLine<LeaseWaiter>> lines() {
        settle();
        return holder.lines();
    }

    /** Processes a response of the ledger. */
    void respond(LeaseResponse response, long nowMs) {
        settle();
        holder.handleResponse(response, nowMs);
        load(nowMs);
    }

    /**
     * Returns the messages to send now.
     *
     * @param by the current policy, null if there is none any more
     */
    Messages next(LeasedPolicyDecider by, long nowMs) {
        settle();
        setPolicy(by == null ? policy : by);
        Optional<LeaseRequest> message = holder.nextMessage(nowMs);
        load(nowMs);
        takenSinceMaintenance = 0;
        takenUntilDue = holder.tokensUntilDue(nowMs);
        maintainedUntilMs = nowMs + holder.terms().leadMs();
        boolean sendsUsage = message.isPresent() || isIdle(nowMs);
        return new Messages(message, sendsUsage ? usage.drain(policy.policy()) : List.of());
    }

    /** Returns the messages to send when the instance is no longer used. */
    Messages last() {
        settle();
        return new Messages(holder.lastMessage(), usage.drain(policy.policy()));
    }

    /** Returns whether a new instance would behave the same. */
    boolean isIdle(long nowMs) {
        return requests == 0 && holder.isIdle(nowMs);
    }

    /** Returns when maintenance is due if nothing else happens. */
    long dueMs(long nowMs) {
        settle();
        long dueMs = holder.dueAtMs(nowMs);
        long idleAtMs = holder.idleAtMs();
        long nextMs = idleAtMs > nowMs ? Math.min(dueMs, idleAtMs) : dueMs;
        boolean isWaitedFor = holder.lines().stream().anyMatch(line -> !line.isEmpty());
        return nextMs == DueTime.NEVER || isWaitedFor ? nextMs : batchEndMs(nextMs);
    }
}
