package dev.weir.lease.holder;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.WaitingLine.Waiting;
import dev.weir.lease.ledger.Ledger;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.Optional;

/**
 * A holder of leases of one shared limit: its {@link LeaseBook}, the requests that wait for a lease, and those that
 * wait for the answer to a question or for the renewal of slots. Stream tasks and client libraries use the same class. It performs no I/O: the
 * caller uses {@link #isFirstReady} to find the waiting request to decide next, {@link #nextMessage} to get the message
 * to send, and {@link #dueAtMs} to schedule the next call.
 *
 * <pre>
 *               park                       ready: decide again                removeFirst
 *   request ──────────▶ waiting ──────────────────────────────────▶ decided ─────────────▶
 *                          ▲      enough available, refused, or timed out │
 *                          ╰──────────────────────────────────────────────╯  still not enough
 * </pre>
 *
 * <p>A {@code PEEK} takes nothing, so it waits in a line of its own: it delays no other request and needs no lease. So
 * does a {@code RENEW}, which needs no slot but the one that it has.
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
    private final WaitingLine<R> takers = new WaitingLine<>();
    private final WaitingLine<R> peeks = new WaitingLine<>();
    private final WaitingLine<R> renewals = new WaitingLine<>();
    private final List<WaitingLine<R>> lines = List.of(renewals, takers, peeks);
    private LeaseBook book;
    private LeaseTerms configured;
    private LeaseTerms terms;
    private long termsRoundTripMs;
    private long clockSteps;
    private long unmetDemand;
    private long question;
    private boolean isToReset;
    private boolean hasRenewed; // a response since the last message
    private long responses;
    private long unansweredSinceMs = -1;

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

    /** Records the question whether the ledger would lend {@code cost}. The request may wait for the answer or not. */
    public void recordQuestion(long cost) {
        question = Math.max(question, cost);
    }

    /** Frees the usage of the limit with the next message, which is sent at once. */
    public void reset() {
        book = book().reset();
        isToReset = true;
    }

    /** Returns whether requests wait for a lease. */
    public boolean hasWaiting() {
        return !takers.isEmpty();
    }

    /** Returns the requests that wait for a lease. */
    public WaitingLine<R> takers() {
        return takers;
    }

    /** Returns the lines of waiting requests: for a renewal, for a lease, and for an answer. */
    public List<WaitingLine<R>> lines() {
        return lines;
    }

    /** Appends a request to those that wait for a lease, and returns its place. */
    public Waiting<R> park(R request, long cost, long untilMs) {
        Waiting<R> place = new Waiting<>(request, cost, untilMs, responses);
        takers.add(place);
        return place;
    }

    /** Appends a request to those that wait for the answer to a question, and returns its place. */
    public Waiting<R> parkPeek(R request, long cost, long untilMs) {
        Waiting<R> place = new Waiting<>(request, cost, untilMs, responses);
        peeks.add(place);
        return place;
    }

    /** Appends a request to those that wait for the renewal of slots. */
    public void parkRenewal(R request, long untilMs) {
        renewals.add(new Waiting<>(request, 0, untilMs, responses));
    }

    /**
     * Records that the first request that waits for a renewal was decided, and must continue to wait: that line is not
     * ready until the ledger responds to another renewal. What the decision asks of the ledger changes the book, and must
     * not make the line ready again.
     */
    public void awaitRenewal() {
        hasRenewed = false;
    }

    /** Returns the first line whose first request must be decided now; null if there is none. */
    public WaitingLine<R> readyLine(long nowMs) {
        for (WaitingLine<R> line : lines) {
            if (isFirstReady(line, nowMs)) {
                return line;
            }
        }
        return null;
    }

    /**
     * Returns whether the first request of a line must be decided now: enough is available, the ledger refused, or the
     * request timed out.
     */
    public boolean isFirstReady(WaitingLine<R> line, long nowMs) {
        Waiting<R> first = line.first();
        if (first == null) {
            return false;
        }
        if (line == renewals) {
            return hasRenewed || nowMs >= first.untilMs();
        }
        LeaseBook current = book();
        return nowMs >= first.untilMs()
                || first.cost() <= current.available(nowMs, current.decisionTimeMs(nowMs))
                || (line == takers
                        ? !current.mayBeGranted(first.cost(), terms(), nowMs)
                        : current.isAnswered(first.cost(), terms(), nowMs));
    }

    /** Returns whether the first request of a line timed out without a response from the ledger. */
    public boolean isFirstUnanswered(WaitingLine<R> line, long nowMs) {
        Waiting<R> first = line.first();
        LeaseBook current = book();
        return nowMs >= first.untilMs()
                && first.responses() == responses
                && first.cost() > current.available(nowMs, current.decisionTimeMs(nowMs));
    }

    /** Applies a response of the ledger. */
    public void handleResponse(LeaseResponse response, long nowMs) {
        LeaseBook current = book();
        current.sentMs(response).ifPresent(sentMs -> {
            hasRenewed |= response instanceof LeaseResponse.Renewed;
            session.recordResponse(response.appendedAtMs(), sentMs, nowMs);
            responses++;
            unansweredSinceMs = -1;
        });
        book = current.withResponse(response, terms(), nowMs);
    }

    /** Returns whether a request has been unanswered for {@code ms} or longer. */
    public boolean isUnanswered(long ms, long nowMs) {
        return unansweredSinceMs >= 0 && nowMs - unansweredSinceMs >= ms;
    }

    /**
     * Returns whether {@link #nextMessage} would request a lease for the
     * {@linkplain #recordUnmetDemand unmet demand}, or ask the {@linkplain #recordQuestion question} now.
     */
    public boolean shouldRequest(long nowMs) {
        LeaseBook current = book();
        boolean requests =
                unmetDemand > 0 && !current.request().isPending() && current.mayBeGranted(unmetDemand, terms(), nowMs);
        return requests || current.shouldAsk(question, terms(), nowMs);
    }

    /**
     * Returns the message to send to the ledger now, if any. Call it after each event, or batch of events, until there is
     * none.
     */
    public Optional<LeaseRequest> nextMessage(long nowMs) {
        if (book().renewals().isDue(nowMs)) {
            LeaseBook.Transition renewing = book().nextMessage(session, LeaseBook.Needs.NONE, terms(), nowMs);
            book = renewing.book();
            return Optional.of(renewing.message());
        }
        long waits = takers.isEmpty() ? unmetDemand : takers.first().cost();
        long peek = peeks.isEmpty() ? question : peeks.first().cost();
        LeaseBook.Needs needs = new LeaseBook.Needs(waits, Math.max(waits, takers.tokens()), peek, isToReset);
        unmetDemand = 0;
        question = 0;
        isToReset = false;
        hasRenewed = false;
        LeaseBook.Transition sending = book().nextMessage(session, needs, terms(), nowMs);
        if (sending == null) {
            return Optional.empty();
        }
        book = sending.book();
        LeaseRequest message = sending.message();
        if (message != null && (message.minTokens() > 0 || message.isCheck()) && unansweredSinceMs < 0) {
            unansweredSinceMs = nowMs;
        }
        return Optional.ofNullable(message);
    }

    /** Returns the final message, which reports all usage and returns the rest; empty if there is nothing to report. */
    public Optional<LeaseRequest> lastMessage() {
        LeaseBook.Transition sending = book().lastMessage(session);
        book = sending.book();
        return Optional.ofNullable(sending.message());
    }

    /** Returns when the holder next has something to do if nothing else happens; {@link DueTime#NEVER} for never. */
    public long dueAtMs(long nowMs) {
        LeaseBook current = book();
        long dueMs = current.schedule(terms()).dueAtMs(nowMs);
        if (!takers.isEmpty()) {
            long attemptMs = current.request().nextAttemptAtMs(terms());
            dueMs = Math.min(dueMs, Math.min(takers.first().untilMs(), attemptMs));
        }
        for (WaitingLine<R> line : List.of(peeks, renewals)) {
            dueMs = line.isEmpty() ? dueMs : Math.min(dueMs, line.first().untilMs());
        }
        return dueMs;
    }

    /** Returns how many tokens can be used before {@link #dueAtMs} without a need to call {@link #nextMessage} earlier. */
    public long tokensUntilDue(long nowMs) {
        return takers.isEmpty() ? book().schedule(terms()).tokensUntilDue(nowMs) : 0;
    }

    /** Returns whether a new holder would behave the same. */
    public boolean isIdle(long nowMs) {
        return takers.isEmpty() && peeks.isEmpty() && renewals.isEmpty() && !isToReset && book().isIdle(terms(), nowMs);
    }

    /** Returns when the holder becomes {@linkplain #isIdle idle} if nothing else happens. */
    public long idleAtMs() {
        return book().idleAtMs(terms());
    }
}
