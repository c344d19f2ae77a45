package dev.weir.lease;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/**
 * A holder of one shared limit: its {@link LeaseBook}, and the requests that wait for a lease. It is the same for a
 * stream task and for a client library. It performs no action itself: whoever runs it asks {@link #isFirstReady} which
 * waiting request to decide next, {@link #nextMessage} what to send, and {@link #dueAtMs} when to ask again.
 *
 * <pre>
 *               park                       ready: decide again                removeFirst
 *   request ──────────▶ waiting ──────────────────────────────────▶ decided ─────────────▶
 *                          ▲      enough available, refused, or timed out │
 *                          ╰──────────────────────────────────────────────╯  not enough after all
 * </pre>
 *
 * <p>Not thread-safe. All times are of the holder's monotonic clock, but for decision times ({@link LeaseBook}).
 *
 * @param <R> a request that waits
 */
public final class LeaseHolder<R> {

    private final LeaseSession session;
    private final Deque<Waiting<R>> waiting = new ArrayDeque<>(0);
    private LeaseBook book;
    private LeaseTerms configured;
    private LeaseTerms terms;
    private long termsRoundTripMs;
    private long clockSteps;
    private long unmetDemand;
    private long responses;
    private long unansweredSinceMs = -1;

    /**
     * A request that waits.
     *
     * @param untilMs when it is decided at the latest
     * @param responses that had arrived when it began to wait
     */
    public record Waiting<R>(R request, long cost, long untilMs, long responses) {}

    private LeaseHolder(LeaseSession session, LeaseBook book, LeaseTerms terms) {
        this.session = session;
        this.book = book;
        clockSteps = session.clockSteps();
        setTerms(terms);
    }

    /** Returns a holder that has nothing. */
    public static <R> LeaseHolder<R> empty(LeaseSession session, LeaseTerms terms) {
        return new LeaseHolder<>(session, LeaseBook.empty(), terms);
    }

    /** Returns a holder that takes over the book of an earlier one, whose leases are reported and returned. */
    public static <R> LeaseHolder<R> restored(LeaseSession session, LeaseBook book, LeaseTerms terms) {
        return new LeaseHolder<>(session, book.revoked(), terms);
    }

    /** Sets the terms of the policy in force; what is measured makes them longer. */
    public void setTerms(LeaseTerms next) {
        if (!next.equals(configured)) {
            configured = next;
            termsRoundTripMs = -1;
        }
    }

    /** How leases are requested now. */
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
     * Enters what requests have used, together, since the book was read.
     *
     * @param nowMs and {@code atMs} when the last of them was decided
     */
    public Change take(long tokens, long nowMs, long atMs) {
        LeaseBook before = book; // also if the clock was stepped since
        book = book.withDemand(tokens, nowMs).take(tokens, nowMs, atMs);
        return new Change(before, book);
    }

    /** Replaces the book by what a decision has made of it. */
    public void setBook(LeaseBook next) {
        book = next;
    }

    /** Records that a request needs more than is available, whether it waits or not. */
    public void recordUnmetDemand(long cost) {
        unmetDemand = Math.max(unmetDemand, cost);
    }

    public boolean hasWaiting() {
        return !waiting.isEmpty();
    }

    /** The requests that wait, in their order. */
    public Iterable<Waiting<R>> waiting() {
        return waiting;
    }

    /** Adds a request behind those that wait. */
    public void park(R request, long cost, long untilMs) {
        waiting.add(new Waiting<>(request, cost, untilMs, responses));
    }

    /** The first request that waits, null if none does. */
    public Waiting<R> first() {
        return waiting.peek();
    }

    public void removeFirst() {
        waiting.remove();
    }

    /**
     * Whether the first request that waits is to be decided now: enough is available, was refused, or it waited long
     * enough.
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

    /** Whether the first request timed out and no response arrived while it waited. */
    public boolean isFirstUnanswered(long nowMs) {
        Waiting<R> first = waiting.peek();
        LeaseBook current = book();
        return nowMs >= first.untilMs
                && first.responses == responses
                && first.cost > current.available(nowMs, current.decisionTimeMs(nowMs));
    }

    /** Takes what the ledger has answered. */
    public void handleResponse(LeaseResponse response, long nowMs) {
        LeaseBook current = book();
        if (current.isExpected(response)) {
            session.recordResponse(response.appendedAtMs(), current.request().sentMs(), nowMs);
            responses++;
            unansweredSinceMs = -1;
        }
        book = current.withResponse(response, terms(), nowMs);
    }

    /** Whether a request is under way for so long. */
    public boolean isUnanswered(long ms, long nowMs) {
        return unansweredSinceMs >= 0 && nowMs - unansweredSinceMs >= ms;
    }

    /** Whether a request for what was {@linkplain #recordUnmetDemand missed} would be sent now. */
    public boolean shouldRequest(long nowMs) {
        LeaseBook current = book();
        return unmetDemand > 0 && !current.request().isPending() && current.mayBeGranted(unmetDemand, terms(), nowMs);
    }

    /** The message to send to the ledger now. Call it after each event, or series of events. */
    public Optional<LeaseRequest> nextMessage(long nowMs) {
        long waits = waiting.isEmpty() ? unmetDemand : waiting.peek().cost;
        unmetDemand = 0;
        LeaseBook.Transition sending = book().nextMessage(session, waits, terms(), nowMs);
        if (sending == null) {
            return Optional.empty();
        }
        book = sending.book();
        if (sending.message() != null && sending.message().minTokens() > 0 && unansweredSinceMs < 0) {
            unansweredSinceMs = nowMs;
        }
        return Optional.ofNullable(sending.message());
    }

    /** The last message: all usage is reported, and the rest returned. */
    public Optional<LeaseRequest> lastMessage() {
        LeaseBook.Transition sending = book().lastMessage(session.name());
        book = sending.book();
        return Optional.ofNullable(sending.message());
    }

    /** When it has something to do if nothing else happens, {@link Long#MAX_VALUE}: never. */
    public long dueAtMs(long nowMs) {
        LeaseBook current = book();
        long dueMs = current.dueAtMs(terms(), nowMs);
        Waiting<R> first = waiting.peek();
        return first == null
                ? dueMs
                : Math.min(dueMs, Math.min(first.untilMs, current.request().nextAttemptAtMs(terms())));
    }

    /** Whether a new holder would behave the same. */
    public boolean isIdle(long nowMs) {
        return waiting.isEmpty() && book().isIdle(terms(), nowMs);
    }

    /** When it becomes idle if nothing else happens. */
    public long idleAtMs() {
        return book().idleAtMs(terms());
    }
}
