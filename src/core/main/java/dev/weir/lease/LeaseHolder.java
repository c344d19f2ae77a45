package dev.weir.lease;

import dev.weir.limit.Limit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * A holder of leases of one shared limit: its {@link LeaseBook} and the requests that wait for a lease. Stream tasks
 * and client libraries use the same class. It performs no I/O: the caller uses {@link #isFirstReady} to find the
 * waiting request to decide next, {@link #nextMessage} to get the message to send, and {@link #dueAtMs} to schedule the
 * next call.
 *
 * <pre>
 *               park                       ready: decide again                removeFirst
 *   request ──────────▶ waiting ──────────────────────────────────▶ decided ─────────────▶
 *                          ▲      enough available, refused, or timed out │
 *                          ╰──────────────────────────────────────────────╯  still not enough
 * </pre>
 *
 * <p>No timer runs at the end of a lease. From then on, {@link LeaseBook} does not count its tokens as available. After
 * a grace period, {@link Ledger} charges what was not reported, when it handles the next message.
 *
 * <p>Not thread-safe. All times are of the holder's monotonic clock, except decision times ({@link LeaseBook}).
 *
 * @param <R> the type of waiting requests
 */
public final class LeaseHolder<R> {

    private final LeaseSession session;
    private final Deque<Waiting<R>> waiting = new ArrayDeque<>(0);
    private LeaseBook book;
    private LeaseTerms configured;
    private LeaseTerms terms;
    private long termsRoundTripMs;
    private long clockSteps;
    private long waitingTokens;
    private long unmetDemand;
    private long responses;
    private long unansweredSinceMs = -1;

    /**
     * A waiting request.
     *
     * @param request the request
     * @param cost tokens that it needs
     * @param untilMs the time at which it is decided without a lease
     * @param responses the number of responses that had arrived when it started to wait
     */
    public record Waiting<R>(R request, long cost, long untilMs, long responses) {}

    private LeaseHolder(LeaseSession session, LeaseBook book, LeaseTerms terms) {
        this.session = session;
        this.book = book;
        clockSteps = session.clockSteps();
        setTerms(terms);
    }

    /** Returns a holder without leases. */
    public static <R> LeaseHolder<R> empty(LeaseSession session, LeaseTerms terms) {
        return new LeaseHolder<>(session, LeaseBook.empty(), terms);
    }

    /**
     * Returns a holder that continues the book of an earlier one. The leases of the book are reported and returned,
     * not used.
     */
    public static <R> LeaseHolder<R> restored(LeaseSession session, LeaseBook book, LeaseTerms terms) {
        return new LeaseHolder<>(session, book.revoked(), terms);
    }

    /** Sets the terms of the policy in force. The measured round trip can lengthen them. */
    public void setTerms(LeaseTerms next) {
        if (!next.equals(configured)) {
            configured = next;
            termsRoundTripMs = -1;
        }
    }

    /** Returns the current terms, adjusted to the measured round trip. */
    public LeaseTerms terms() {
        long roundTripMs = session.roundTrip().smoothedMs();
        if (roundTripMs != termsRoundTripMs) {
            termsRoundTripMs = roundTripMs;
            terms = configured.withRoundTrip(roundTripMs);
        }
        return terms;
    }

    public LeaseBook book() {
        if (clockSteps != session.clockSteps()) {
            clockSteps = session.clockSteps();
            book = book.revoked();
        }
        return book;
    }

    /** The books before and after a change. */
    public record Change(LeaseBook before, LeaseBook after) {}

    /**
     * Charges what one or more requests have used since the book was read.
     *
     * @param tokens the sum of their costs
     * @param nowMs the holder's time of the last decision
     * @param atMs the decision time of the last decision
     */
    public Change take(long tokens, long nowMs, long atMs) {
        LeaseBook before = book; // as it was read, even if the clock was stepped since then
        book = book.withDemand(tokens, nowMs).take(tokens, nowMs, atMs);
        return new Change(before, book);
    }

    /** Replaces the book with the one that a decision returned. */
    public void setBook(LeaseBook next) {
        book = next;
    }

    /** Records unmet demand: a request needs {@code cost} and less is available. The request may wait or not. */
    public void recordUnmetDemand(long cost) {
        unmetDemand = Math.max(unmetDemand, cost);
    }

    public boolean hasWaiting() {
        return !waiting.isEmpty();
    }

    /** Returns the waiting requests in order. */
    public Iterable<Waiting<R>> waiting() {
        return waiting;
    }

    /** Appends a request to the waiting ones. */
    public void park(R request, long cost, long untilMs) {
        waiting.add(new Waiting<>(request, cost, untilMs, responses));
        waitingTokens = Math.min(Limit.MAX_LEVEL, waitingTokens + cost);
    }

    /** Returns the first waiting request, or null if none waits. */
    public Waiting<R> first() {
        return waiting.peek();
    }

    public void removeFirst() {
        waitingTokens = Math.max(0, waitingTokens - waiting.remove().cost);
    }

    /** Lets the first waiting request wait until another time, because the ledger is busy with others. */
    public void waitLonger(long untilMs) {
        Waiting<R> first = waiting.remove();
        waiting.addFirst(new Waiting<>(first.request, first.cost, untilMs, first.responses));
    }

    /**
     * Returns whether the first waiting request must be decided now: enough is available, the ledger refused, or the
     * request timed out.
     */
    public boolean isFirstReady(long nowMs) {
        Waiting<R> first = waiting.peek();
        if (first == null) {
            return false;
        }
        LeaseBook current = book();
        return nowMs >= first.untilMs
                || first.cost <= current.available(nowMs, current.decisionTimeMs(nowMs))
                || !current.mayBeGranted(first.cost, terms(), nowMs);
    }

    /** Returns whether the first waiting request timed out without a response from the ledger. */
    public boolean isFirstUnanswered(long nowMs) {
        Waiting<R> first = waiting.peek();
        LeaseBook current = book();
        return nowMs >= first.untilMs
                && first.responses == responses
                && first.cost > current.available(nowMs, current.decisionTimeMs(nowMs));
    }

    /** Applies a response of the ledger. */
    public void handleResponse(LeaseResponse response, long nowMs) {
        LeaseBook current = book();
        if (current.isExpected(response)) {
            session.recordResponse(response.appendedAtMs(), current.request().sentMs(), nowMs);
            responses++;
            unansweredSinceMs = -1;
        }
        book = current.withResponse(response, terms(), nowMs);
    }

    /** Returns whether a request has been unanswered for {@code ms} or longer. */
    public boolean isUnanswered(long ms, long nowMs) {
        return unansweredSinceMs >= 0 && nowMs - unansweredSinceMs >= ms;
    }

    /**
     * Returns whether {@link #nextMessage} would request a lease for the
     * {@linkplain #recordUnmetDemand unmet demand} now.
     */
    public boolean shouldRequest(long nowMs) {
        LeaseBook current = book();
        return unmetDemand > 0 && !current.request().isPending() && current.mayBeGranted(unmetDemand, terms(), nowMs);
    }

    /** Returns the message to send to the ledger now, if any. Call it after each event, or batch of events. */
    public Optional<LeaseRequest> nextMessage(long nowMs) {
        long waits = waiting.isEmpty() ? unmetDemand : waiting.peek().cost;
        unmetDemand = 0;
        LeaseBook.Transition sending =
                book().nextMessage(session, waits, Math.max(waits, waitingTokens), terms(), nowMs);
        if (sending == null) {
            return Optional.empty();
        }
        book = sending.book();
        if (sending.message() != null && sending.message().minTokens() > 0 && unansweredSinceMs < 0) {
            unansweredSinceMs = nowMs;
        }
        return Optional.ofNullable(sending.message());
    }

    /** Returns the final message, which reports all usage and returns the rest; empty if there is nothing to report. */
    public Optional<LeaseRequest> lastMessage() {
        LeaseBook.Transition sending = book().lastMessage(session.name());
        book = sending.book();
        return Optional.ofNullable(sending.message());
    }

    /** Returns when the holder next has something to do if nothing else happens; {@link Long#MAX_VALUE} for never. */
    public long dueAtMs(long nowMs) {
        LeaseBook current = book();
        long dueMs = current.dueAtMs(terms(), nowMs);
        Waiting<R> first = waiting.peek();
        return first == null
                ? dueMs
                : Math.min(dueMs, Math.min(first.untilMs, current.request().nextAttemptAtMs(terms())));
    }

    /** Returns how many tokens can be used before {@link #dueAtMs} without a need to call {@link #nextMessage} earlier. */
    public long tokensUntilDue(long nowMs) {
        return waiting.isEmpty() ? book().tokensUntilDue(terms(), nowMs) : 0;
    }

    /** Returns whether a new holder would behave the same. */
    public boolean isIdle(long nowMs) {
        return waiting.isEmpty() && book().isIdle(terms(), nowMs);
    }

    /** Returns when the holder becomes {@linkplain #isIdle idle} if nothing else happens. */
    public long idleAtMs() {
        return book().idleAtMs(terms());
    }
}
