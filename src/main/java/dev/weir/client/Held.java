package dev.weir.client;

import dev.weir.lease.Ask;
import dev.weir.lease.Book;
import dev.weir.lease.Grant;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Decision;
import dev.weir.policy.LeasedPolicy;
import dev.weir.policy.StateKey;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** What this client holds of one quota that is shared, for threads that {@link #lock} it. */
// The book is an immutable value, and a new one for each request would be much to make. So what is at hand until the
// book is to be looked at again is a number, and what is taken of it meanwhile is another, which is then settled into
// the book:
//
//   load      available = what the book has,  until a slice ends or the second is over (demand is counted by seconds)
//   take      available −= cost,  taken += cost
//   settle    book = book with taken,  taken = 0
//
// All that is taken between two settlements is so taken of slices that are good, in one second.
final class Held {

    private final ReentrantLock lock = new ReentrantLock();
    private final StateKey key;
    private final HeldKeys keys;
    private final long number;
    private final UsageCount usage;
    private final Deque<Waiting> waiting = new ArrayDeque<>(0);
    private LeasedPolicy policy;
    private Book book;
    private long clockMs;
    private long available;
    private long staleAtMs;
    private long taken;
    private long requests;
    private long firstMs;
    private long lastMs;
    private long missed;
    private long answers;
    private long unansweredSinceMs;
    private long alarmMs = Long.MAX_VALUE;
    private boolean isDue;
    private boolean isGone;

    /**
     * A request that waits.
     *
     * @param untilMs for how long, ms since the epoch
     * @param answers how often the ledger had answered when it began to
     */
    record Waiting(Leases.Waiter waiter, long untilMs, long answers) {
        long cost() {
            return waiter.request().cost();
        }
    }

    /**
     * What is to be told.
     *
     * @param ask to the ledger; null: nothing
     * @param usage to auditors
     */
    record Telling(Ask ask, List<Decision> usage) {}

    /** @param number of those that are locked together, the one with the least is locked first */
    Held(StateKey key, FollowedPolicies.Rule rule, long number, UsageCount usage, long nowMs) {
        this.key = key;
        this.keys = rule.keys();
        this.number = number;
        this.policy = rule.policy();
        this.usage = usage;
        book = Book.empty(nowMs);
        load(nowMs);
    }

    StateKey key() {
        return key;
    }

    HeldKeys keys() {
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
    boolean isGone() {
        return isGone;
    }

    void go() {
        isGone = true;
    }

    /** Has it looked after soon. Returns whether that was not to be done anyway. */
    boolean setDue() {
        boolean wasDue = isDue;
        isDue = true;
        return !wasDue;
    }

    void setDone() {
        isDue = false;
    }

    /** When it is looked after in any case, {@link Long#MAX_VALUE} if not at all. */
    long alarmMs() {
        return alarmMs;
    }

    void setAlarm(long atMs) {
        alarmMs = atMs;
    }

    /** The time that its decisions have come to, or {@code nowMs} if that is later. */
    long timeMs(long nowMs) {
        return Math.max(clockMs, nowMs);
    }

    /** Whether so much is at hand, and nobody waits for it. */
    boolean has(long cost, LeasedPolicy by, long nowMs) {
        if (nowMs >= staleAtMs || by != policy) {
            settle();
            policy = by;
            load(nowMs);
        }
        return cost <= available && waiting.isEmpty();
    }

    /** Takes what is at hand, for one request. */
    void take(long cost, long nowMs) {
        firstMs = requests == 0 ? nowMs : firstMs;
        lastMs = nowMs;
        clockMs = nowMs;
        available -= cost;
        taken += cost;
        requests++;
    }

    long available() {
        return available;
    }

    /** Writes into the book what was taken. */
    void settle() {
        if (requests > 0) {
            Book after = book.wanted(taken, lastMs).take(taken, policy.terms(), lastMs);
            usage.allowed(book, after, requests, firstMs, lastMs);
            book = after;
            taken = 0;
            requests = 0;
        }
    }

    private void load(long nowMs) {
        LeaseTerms terms = policy.terms();
        clockMs = book.timeMs(Math.max(clockMs, nowMs));
        available = book.available(terms, clockMs);
        long secondEndsMs = (clockMs / 1_000 + 1) * 1_000;
        staleAtMs = Math.min(book.availableUntilMs(terms, clockMs), secondEndsMs);
    }

    /** The book, with all that was taken. */
    Book book() {
        settle();
        return book;
    }

    /** Goes on with another book, that of a request decided by it. */
    void put(Book next, LeasedPolicy by, long nowMs) {
        book = next;
        policy = by;
        load(nowMs);
    }

    /** Counts one request that was allowed between two books. */
    void allowed(Book before, long nowMs) {
        usage.allowed(before, book, 1, nowMs, nowMs);
    }

    void denied(long nowMs) {
        usage.denied(nowMs);
    }

    /** Takes note that so much was wanted at once and is not at hand. */
    void miss(long cost) {
        missed = cost;
    }

    boolean isAwaited() {
        return !waiting.isEmpty();
    }

    /** Whether a ledger that is asked now may soon say something new. */
    boolean isToAsk(long nowMs) {
        return missed > 0 && !book.question().isOpen() && book.mayCome(missed, policy.terms(), nowMs);
    }

    /** Whether the ledger has said nothing for so long, though it was asked. */
    boolean isUnanswered(long ms, long nowMs) {
        return unansweredSinceMs > 0 && nowMs - unansweredSinceMs >= ms;
    }

    void park(Leases.Waiter waiter, long untilMs) {
        waiting.add(new Waiting(waiter, untilMs, answers));
    }

    /** Who waits first, null if nobody does. */
    Waiting first() {
        return waiting.peek();
    }

    void removeFirst() {
        waiting.remove();
    }

    /** Whether the one who waits first has to wait further. */
    boolean mustWait(long nowMs) {
        Waiting first = waiting.peek();
        settle();
        return nowMs < first.untilMs
                && first.cost() > book.available(policy.terms(), nowMs)
                && book.mayCome(first.cost(), policy.terms(), nowMs);
    }

    /** Whether the one who waits first has done so in vain: the ledger has said nothing meanwhile. */
    boolean isInVain(long nowMs) {
        Waiting first = waiting.peek();
        settle();
        return nowMs >= first.untilMs
                && first.answers == answers
                && first.cost() > book.available(policy.terms(), nowMs);
    }

    /** Takes what the ledger has answered. */
    void answered(Grant grant, long nowMs) {
        settle();
        book = book.answered(grant, policy.terms(), nowMs);
        answers++;
        unansweredSinceMs = 0;
        load(nowMs);
    }

    /**
     * What is to be told now.
     *
     * @param by the policy as it is now, null if there is none any more
     */
    Telling tell(String holder, LeasedPolicy by, long nowMs) {
        settle();
        policy = by == null ? policy : by;
        long waits = waiting.isEmpty() ? missed : waiting.peek().cost();
        missed = 0;
        Book.Telling telling = book.tell(holder, waits, policy.terms(), nowMs);
        Ask ask = null;
        if (telling != null) {
            book = telling.book();
            ask = telling.ask();
        }
        if (ask != null && ask.least() > 0 && unansweredSinceMs == 0) {
            unansweredSinceMs = nowMs;
        }
        load(nowMs);
        return new Telling(ask, ask != null || isIdle(nowMs) ? usage.take(policy.policy()) : List.of());
    }

    /** What is to be told if it is not used any more. */
    Telling tellAll(String holder) {
        settle();
        Book.Telling telling = book.tellAll(holder);
        book = telling.book();
        return new Telling(telling.ask(), usage.take(policy.policy()));
    }

    /** Whether a new one says the same. */
    boolean isIdle(long nowMs) {
        return waiting.isEmpty()
                && requests == 0
                && book.settled() == 0
                && nowMs >= book.forgettableAtMs(policy.terms());
    }

    /** When it is to be looked after if nothing comes before. */
    long dueMs() {
        LeaseTerms terms = policy.terms();
        long dueMs = Math.min(book.tellAtMs(terms), book.forgettableAtMs(terms));
        Waiting first = waiting.peek();
        if (first != null) {
            long askMs = book.question().againAtMs(terms);
            dueMs = Math.min(dueMs, Math.min(first.untilMs, askMs));
        }
        return dueMs;
    }
}
