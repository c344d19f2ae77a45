package dev.weir.shape;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Receipt;
import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.backlog.Attempts;
import dev.weir.shape.backlog.Head;
import dev.weir.shape.backlog.WaitingRequests;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueEntry.Phase.Backoff;
import dev.weir.shape.store.QueueEntry.Phase.InFlight;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.timer.WorkBudget;

/**
 * The life of the requests that a bucket with slots has released, from the first release to their end.
 *
 * <pre>
 *   state       event                        next state   effects
 *   ─────────────────────────────────────────────────────────────────────────────────────────────────────────
 *   waiting     its turn                     in flight    release; it takes slots, its flow is charged
 *   in flight   extended by a worker         in flight    answer; its flow is charged more if it lasts long
 *               done                         ended        answer
 *               failed                       ended        answer, decision, dead letter
 *               retry                        backoff *    answer; one more failure
 *               overdue, was extended        backoff *    one more failure
 *               overdue, was not extended    backoff      none: workers that are down use up no attempts
 *               cancelled, purged            in flight    none: the cancellation is rejected
 *   backoff     its time is over             due          waits for its turn, before new requests of its flow
 *               cancelled, purged            ended        decision
 *   due         its turn                     in flight    as if it had been waiting
 *               its turn, no slots by now    ended        release that expects no answer
 *               cancelled, purged, expired   ended        decision
 *
 *   * ended, with a decision and a dead letter, if max-attempts have failed
 * </pre>
 *
 * <p>At the end of an attempt, its slots are free, and its flow has been charged for the time that it lasted. A report
 * about an attempt that is not in flight any more gets an answer that it is stale, and changes nothing.
 *
 * <p>This class handles the events of attempts, {@link LeakyBucketQueue} the others. {@link Attempts} stores what is in
 * flight, in backoff or due; {@link WaitingRequests} has the order in which requests take their turn.
 */
final class AttemptLifecycle {

    private static final long NANOS_PER_MS = 1_000_000;

    private final BucketId id;
    private final WaitingRequests requests;
    private final Attempts attempts;
    private final EffectLog effects;

    AttemptLifecycle(BucketId id, WaitingRequests requests, EffectLog effects) {
        this.id = id;
        this.requests = requests;
        attempts = requests.attempts();
        this.effects = effects;
    }

    /**
     * Begins the next attempt of the request that leaves next.
     *
     * @param before what is at its place
     * @param atNanos when a worker can begin
     */
    Release.Attempt begin(Head head, QueueEntry before, long atNanos, InFlightRules limits) {
        long charge = requests.expectedService(head.flow(), head.cost());
        InFlight lasting = lasting(head.cost(), charge, atNanos, limits);
        Attempted begun = begun(before, lasting);
        requests.release(head, before, begun, charge);
        return new Release.Attempt(begun.attempt(), receipt(head.place(), begun).text(), limits.ackTimeoutMs());
    }

    private static InFlight lasting(long cost, long charge, long atNanos, InFlightRules limits) {
        long atMs = -Math.floorDiv(-atNanos, NANOS_PER_MS);
        return new InFlight(limits.slots(cost), atMs, atMs + limits.ackTimeoutMs(), false, charge);
    }

    private static Attempted begun(QueueEntry before, InFlight lasting) {
        return before instanceof Attempted retry
                ? new Attempted(retry.request(), retry.attempt() + 1, retry.failures(), lasting, retry.error())
                : new Attempted(((Waiting) before).released(), 1, 0, lasting, null);
    }

    private Receipt receipt(Place place, Attempted begun) {
        Receipt.FlowName flow =
                new Receipt.FlowName(place.flow().tier(), place.flow().value());
        Request.Source source = begun.request().admission().request().source();
        return new Receipt(id.queue(), id.values(), flow, place.position(), source, begun.attempt());
    }

    /** Returns how many slots the requests in flight occupy. */
    long slots() {
        return attempts.slots();
    }

    /** Returns whether the request at a place, null for none, is in flight. */
    boolean isInFlight(Place place) {
        return place != null
                && !attempts.isEmpty()
                && attempts.get(place) != null
                && attempts.get(place).phase() instanceof InFlight;
    }

    /** Returns the answer to a worker that reports now. Changes nothing. */
    Decision answerTo(Admission report, long nowMs) {
        return isOpen(attempts.get(place(report)), report, nowMs)
                ? QueueDecisions.acknowledged(report, nowMs)
                : QueueDecisions.staleAttempt(report, nowMs);
    }

    /** Ends or prolongs the attempt that a worker reports about, if it is open, and answers the worker. */
    void acknowledge(Admission report, QueueRules rules, long nowMs) {
        Place place = place(report);
        Attempted attempted = attempts.get(place);
        effects.decide(report, answerTo(report, nowMs));
        if (!isOpen(attempted, report, nowMs)) {
            return;
        }
        if (report.request().kind() == RequestKind.EXTEND) {
            extend(place, attempted, rules, nowMs);
        } else {
            complete(place, attempted, report.request().acknowledgement(), rules, nowMs);
        }
    }

    private static Place place(Admission report) {
        Receipt receipt = report.request().acknowledgement().attempt();
        return new Place(new Flow(receipt.flow().tier(), receipt.flow().value()), receipt.position());
    }

    /** Returns whether a report names an attempt of its client that has not ended. */
    private static boolean isOpen(Attempted attempted, Admission report, long nowMs) {
        Request request = report.request();
        return attempted != null
                && attempted.attempt() == request.acknowledgement().attempt().attempt()
                && isSame(attempted.request().admission().request(), request)
                && attempted.phase() instanceof InFlight lasting
                && lasting.untilMs() > nowMs;
    }

    /** Returns whether a report is about this request of its client. An earlier one may have had the same place. */
    private static boolean isSame(Request released, Request report) {
        return released.client().equals(report.client())
                && released.source().equals(report.acknowledgement().attempt().source());
    }

    private void extend(Place place, Attempted attempted, QueueRules rules, long nowMs) {
        InFlight lasting = (InFlight) attempted.phase();
        InFlightRules limits = rules.inFlight();
        long untilMs = limits == null
                ? lasting.untilMs()
                : Math.min(nowMs + limits.ackTimeoutMs(), lasting.startedAtMs() + limits.maxDurationMs());
        long servedMs = Math.max(0, nowMs - lasting.startedAtMs());
        long charge = limits == null
                ? lasting.charge()
                : Math.max(lasting.charge(), rules.service(attempted.request().cost(), servedMs));
        InFlight claimed = new InFlight(
                lasting.slots(), lasting.startedAtMs(), Math.max(lasting.untilMs(), untilMs), true, charge);
        requests.chargeMore(place.flow(), charge - lasting.charge());
        change(place, attempted, attempted.in(claimed));
    }

    private void change(Place place, Attempted before, Attempted after) {
        attempts.replace(place, before, after);
        requests.readmit(place.flow());
    }

    /** Ends an attempt whose request waits for another one. */
    private void backOff(Place place, Attempted before, Attempted after, long retryAtMs, long nowMs) {
        requests.settle(place.flow(), before, nowMs);
        change(place, before, after.in(new Backoff(retryAtMs)));
    }

    /** Ends an attempt and its request. */
    private void end(Place place, Attempted attempted, long nowMs) {
        requests.settle(place.flow(), attempted, nowMs);
        requests.leave(place, attempted);
    }

    private void complete(Place place, Attempted attempted, Acknowledgement outcome, QueueRules rules, long nowMs) {
        switch (outcome.result()) {
            case DONE -> {
                end(place, attempted, nowMs);
                count(AttemptEnd.DONE);
            }
            case FAILED -> {
                count(AttemptEnd.FAILED);
                Decision decision = QueueDecisions.failed(attempted.request().admission(), nowMs);
                giveUp(place, attempted, decision, Rejection.FAILED, outcome.error(), nowMs);
            }
            case RETRY -> {
                Attempted failed = attempted.failed(outcome.error());
                Long afterMs = outcome.retryAfterMs();
                long backoffMs = afterMs != null ? afterMs : backoffMs(failed.failures(), rules);
                fail(place, attempted, failed, AttemptEnd.RETRY, nowMs + backoffMs, rules, nowMs);
            }
        }
    }

    /**
     * Has a request wait for its next attempt after one that failed, or gives it up.
     *
     * @param before the request before that failure
     * @param failed the request with it
     * @param end how the attempt ended, unless it was the last one
     * @param retryAtMs when the next attempt can begin
     */
    private void fail(
            Place place,
            Attempted before,
            Attempted failed,
            AttemptEnd end,
            long retryAtMs,
            QueueRules rules,
            long nowMs) {
        InFlightRules limits = rules.inFlight();
        if (limits != null && failed.failures() >= limits.maxAttempts()) {
            Admission admission = failed.request().admission();
            Decision decision = QueueDecisions.attemptsExhausted(admission, limits.maxAttempts(), nowMs);
            count(AttemptEnd.EXHAUSTED);
            giveUp(place, before, decision, Rejection.ATTEMPTS_EXHAUSTED, failed.error(), nowMs);
        } else {
            backOff(place, before, failed, retryAtMs, nowMs);
            count(end);
        }
    }

    private void count(AttemptEnd end) {
        effects.add(new QueueEffect.AttemptEnded(id.queue(), end));
    }

    private static long backoffMs(int failures, QueueRules rules) {
        return rules.inFlight() == null ? 0 : rules.inFlight().backoffMs(failures);
    }

    private void giveUp(
            Place place, Attempted attempted, Decision decision, Rejection rejection, String error, long nowMs) {
        Admission admission = attempted.request().admission();
        end(place, attempted, nowMs);
        effects.decide(admission, decision);
        String made = attempted.attempt() == 1 ? "1 attempt" : attempted.attempt() + " attempts";
        String detail = "queue " + id.queue() + ", after " + made + (error == null ? "" : ": " + error);
        effects.add(new QueueEffect.GivenUp(admission, rejection, detail));
    }

    /**
     * Ends the attempts that have lasted too long, and has requests wait for their turn whose backoff is over.
     *
     * @param budget the most steps of work
     */
    void endOverdue(QueueRules rules, long nowMs, WorkBudget budget) {
        Place place = attempts.overdue(nowMs);
        while (place != null && budget.trySpend()) {
            Attempted attempted = attempts.get(place);
            if (attempted.phase() instanceof InFlight lost) {
                lose(place, attempted, lost, rules, nowMs);
            } else {
                requests.enterAgain(place, attempted);
            }
            place = attempts.overdue(nowMs);
        }
    }

    private void lose(Place place, Attempted attempted, InFlight lost, QueueRules rules, long nowMs) {
        if (lost.isClaimed()) {
            Attempted failed = attempted.failed("not completed in time");
            long retryAtMs = lost.untilMs() + backoffMs(failed.failures(), rules);
            fail(place, attempted, failed, AttemptEnd.TIMED_OUT, retryAtMs, rules, nowMs);
        } else {
            long retryAtMs = lost.untilMs() + backoffMs(attempted.failures(), rules);
            backOff(place, attempted, attempted, retryAtMs, nowMs);
            count(AttemptEnd.UNCLAIMED);
        }
    }
}
