package dev.weir.client;

import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.event.LeaseUsage;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseHolder;
import dev.weir.lease.LeaseHolder.Waiting;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseSession;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** The leases that this client has of one shared quota, for threads that {@link #lock} it. */
// The book of the holder is an immutable value, and a new one for each request would be much to make. So what is
// available until the book has to be read again is a number, and what is taken of it meanwhile is another, which is
// then settled into the book:
//
//   load      available = what the book has,  until a lease ends or the second is over (demand is counted by seconds)
//   take      available −= cost,  taken += cost
//   settle    book = book with taken,  taken = 0
//
// All that is taken between two settlements is so taken of usable leases, in one second.
final class ClientLease {

    private final ReentrantLock lock = new ReentrantLock();
    private final StateKey key;
    private final LeasedKeys keys;
    private final long number;
    private final UsageAggregator usage;
    private final LeaseSession session;
    private final LeaseHolder<LeasedDecisions.Waiter> holder;
    private LeasedPolicyDecider policy;
    private long clockMs;
    private long aheadMs;
    private long endsMs;
    private long staleAtMs;
    private long clockSteps;
    private long available;
    private long taken;
    private long requests;
    private long firstTakenMs;
    private long lastTakenMs;
    private long lastNowMs;
    private long alarmMs = Long.MAX_VALUE;
    private boolean isDue;
    private boolean isRemoved;

    /**
     * What is to be sent.
     *
     * @param message to the ledger
     * @param usage to auditors
     */
    record Messages(Optional<LeaseRequest> message, List<LeaseUsage> usage) {
        static final Messages NONE = new Messages(Optional.empty(), List.of());
    }

    /** @param number of those that are locked together, the one with the least is locked first */
    ClientLease(
            StateKey key,
            ClientPolicyRegistry.Rule rule,
            long number,
            UsageAggregator usage,
            LeaseSession session,
            long nowMs) {
        this.key = key;
        this.keys = rule.keys();
        this.number = number;
        this.policy = rule.policy();
        this.usage = usage;
        this.session = session;
        holder = LeaseHolder.empty(session, policy.terms());
        load(nowMs);
    }

    StateKey key() {
        return key;
    }

    LeasedKeys keys() {
        return keys;
    }

    long number() {
        return number;
    }

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    /** Whether it is out of use: another one takes its place. */
    boolean isRemoved() {
        return isRemoved;
    }

    void go() {
        isRemoved = true;
    }

    /** Schedules maintenance. Returns false if it was already scheduled. */
    boolean setDue() {
        boolean wasDue = isDue;
        isDue = true;
        return !wasDue;
    }

    void setDone() {
        isDue = false;
    }

    /** When maintenance is due in any case, {@link Long#MAX_VALUE} if not at all. */
    long alarmMs() {
        return alarmMs;
    }

    void setAlarm(long atMs) {
        alarmMs = atMs;
    }

    /** The decision time of what is decided now. */
    long timeMs(long nowMs) {
        return Math.max(clockMs, nowMs + aheadMs);
    }

    /** Whether so much is available to a decision at a time, and no request waits for it. */
    boolean has(long cost, LeasedPolicyDecider by, long nowMs, long atMs) {
        if (nowMs >= staleAtMs || by != policy || clockSteps != session.clockSteps()) {
            settle();
            setPolicy(by);
            load(nowMs);
        }
        return cost <= available && atMs < endsMs && !holder.hasWaiting();
    }

    /** Takes what is available, for one request. */
    void take(long cost, long nowMs, long atMs) {
        firstTakenMs = requests == 0 ? atMs : firstTakenMs;
        lastTakenMs = atMs;
        lastNowMs = nowMs;
        clockMs = atMs;
        available -= cost;
        taken += cost;
        requests++;
    }

    long available() {
        return available;
    }

    /** Enters what was taken into the book. */
    private void settle() {
        if (requests > 0) {
            LeaseHolder.Change change = holder.take(taken, lastNowMs, lastTakenMs);
            usage.allowed(change.before(), change.after(), requests, firstTakenMs, lastTakenMs);
            taken = 0;
            requests = 0;
        }
    }

    private void setPolicy(LeasedPolicyDecider next) {
        policy = next;
        holder.setTerms(next.terms());
    }

    private void load(long nowMs) {
        clockSteps = session.clockSteps();
        LeaseBook book = holder.book();
        clockMs = book.earliestMs(nowMs);
        aheadMs = book.brokerAheadMs(nowMs);
        long atMs = timeMs(nowMs);
        available = book.available(nowMs, atMs);
        endsMs = book.availableUntilLedgerMs(nowMs, atMs);
        long secondEndsMs = (Math.floorDiv(nowMs, 1_000) + 1) * 1_000;
        staleAtMs = Math.min(book.availableUntilMs(nowMs, atMs), secondEndsMs);
    }

    /** The book, with all that was taken. */
    LeaseBook book() {
        settle();
        return holder.book();
    }

    /** How leases are requested now. */
    LeasedPolicyDecider policy() {
        return policy;
    }

    LeaseHolder<LeasedDecisions.Waiter> holder() {
        return holder;
    }

    /** Continues with the book of a request that was decided by it. */
    void put(LeaseBook next, LeasedPolicyDecider by, long nowMs) {
        holder.setBook(next);
        setPolicy(by);
        load(nowMs);
    }

    /** Counts one request that was allowed between two books. */
    void allowed(LeaseBook before, long atMs) {
        usage.allowed(before, holder.book(), 1, atMs, atMs);
    }

    void denied(long atMs) {
        usage.denied(atMs);
    }

    /** Whether a message that is sent now may soon bring more. */
    boolean isToRequest(long nowMs) {
        return holder.shouldRequest(nowMs);
    }

    void park(LeasedDecisions.Waiter waiter, long untilMs) {
        holder.park(waiter, waiter.request().cost(), untilMs);
    }

    /** The first request that waits, null if none does. */
    Waiting<LeasedDecisions.Waiter> first() {
        settle();
        return holder.first();
    }

    void removeFirst() {
        holder.removeFirst();
    }

    /** Takes what the ledger has answered. */
    void respond(LeaseResponse response, long nowMs) {
        settle();
        holder.handleResponse(response, nowMs);
        load(nowMs);
    }

    /**
     * What is to be sent now.
     *
     * @param by the policy as it is now, null if there is none any more
     */
    Messages next(LeasedPolicyDecider by, long nowMs) {
        settle();
        setPolicy(by == null ? policy : by);
        Optional<LeaseRequest> message = holder.nextMessage(nowMs);
        load(nowMs);
        boolean tells = message.isPresent() || isIdle(nowMs);
        return new Messages(message, tells ? usage.drain(policy.policy()) : List.of());
    }

    /** What is to be sent if it is not used any more. */
    Messages last() {
        settle();
        return new Messages(holder.lastMessage(), usage.drain(policy.policy()));
    }

    /** Whether a new one would behave the same. */
    boolean isIdle(long nowMs) {
        return requests == 0 && holder.isIdle(nowMs);
    }

    /** When maintenance is due if nothing else happens. */
    long dueMs(long nowMs) {
        settle();
        long dueMs = holder.dueAtMs(nowMs);
        long idleAtMs = holder.idleAtMs();
        return idleAtMs > nowMs ? Math.min(dueMs, idleAtMs) : dueMs;
    }
}
