package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.RequestKind;
import dev.weir.shape.backlog.Attempts;
import dev.weir.shape.backlog.Head;
import dev.weir.shape.backlog.QueueOccupancy;
import dev.weir.shape.backlog.ScheduleSummary;
import dev.weir.shape.backlog.WaitingRequests;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.QueueStore.Ticket;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.view.QueueView;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a bucket answers at a time: to requests that arrive then, and to queries. It changes nothing, and is valid until
 * the bucket changes. Waiting requests remain in the order of the rules by which the bucket last worked.
 *
 * @param terms the rules in force and what was released
 * @param isPaused whether nothing is released at present
 */
record BucketAnswers(
        BucketId id,
        BucketTerms terms,
        WaitingRequests requests,
        AttemptLifecycle attempts,
        long clockNanos,
        boolean isPaused) {

    private static final long NANOS_PER_MS = 1_000_000;

    /** Returns the decision on a request, a cancellation, or a worker's report that arrives now. */
    Decision check(Admission admission) {
        if (admission.request().kind() == RequestKind.CANCEL) {
            return toCancel(admission);
        }
        return admission.request().kind().isAcknowledgement()
                ? attempts.answerTo(admission, nowMs())
                : toRequest(admission, nowMs());
    }

    /** Returns the decision on a request that arrives now. */
    Decision toRequest(Admission admission, long enqueuedAtMs) {
        return terms.isDeleted()
                ? QueueDecisions.noQueue(admission, nowMs())
                : forecast().decide(admission, enqueuedAtMs);
    }

    /** Returns the decision on a cancellation. */
    Decision toCancel(Admission cancel) {
        Ticket ticket = WaitingRequests.ticket(cancel);
        if (requests.scheduled().find(ticket) != null) { // it goes before another with the same requestId
            return QueueDecisions.cancelResult(cancel, true, nowMs());
        }
        Place place = requests.find(ticket);
        return attempts.isInFlight(place)
                ? QueueDecisions.inFlight(cancel, nowMs())
                : QueueDecisions.cancelResult(cancel, place != null, nowMs());
    }

    QueueForecast forecast() {
        return new QueueForecast(terms.rules(), terms.pacing(), terms.outflow(), requests, clockNanos, isPaused);
    }

    /** Returns the current state of the bucket. */
    QueueView view() {
        return new QueueView(
                        terms.rules(),
                        terms.isDeleted(),
                        new QueueView.BacklogView(
                                requests.size(),
                                requests.occupancy().tokens(),
                                tiers(),
                                oldestWaitMs(),
                                forecast().drainMs()),
                        new QueueView.OneBucket(terms.outflow().sequence(), nextReleaseNanos()))
                .withScheduled(scheduled())
                .withInFlight(inFlight());
    }

    /** Returns when the next request leaves, null if that is unknown or none waits. */
    private Long nextReleaseNanos() {
        Head next = requests.next();
        boolean isUnknown =
                next == null || isPaused || terms.rules().total() != null || !requests.hasSlots(next.cost());
        return isUnknown ? null : (Long) terms.turnNanos(next.cost(), clockNanos);
    }

    private QueueView.ScheduledView scheduled() {
        ScheduleSummary summary = requests.scheduled().summary();
        return new QueueView.ScheduledView(
                summary.requests(), summary.first().map(ScheduleKey::atMs).orElse(null));
    }

    private QueueView.InFlightView inFlight() {
        Attempts all = requests.attempts();
        return new QueueView.InFlightView(
                all.inFlight(),
                all.slots(),
                all.slotsByTier(),
                all.waiting(),
                QueueView.ageMs(all.oldestSinceMs(), nowMs()));
    }

    /** Like {@link #view}, for a bucket of a queue with key fields in which requests wait. */
    QueueView.KeyView viewOfKey() {
        return new QueueView.KeyView(
                id.values(),
                requests.size(),
                requests.occupancy().tokens(),
                oldestWaitMs(),
                forecast().drainMs(),
                requests.attempts().slots());
    }

    private Long oldestWaitMs() {
        return QueueView.ageMs(requests.oldestEnqueuedAtMs(), nowMs());
    }

    private List<QueueView.TierView> tiers() {
        Map<String, Long> waiting = new HashMap<>();
        QueueOccupancy occupancy = requests.occupancy();
        occupancy.tiers().forEach(tier -> waiting.put(tier, occupancy.size(tier)));
        return QueueView.tiers(terms.rules(), waiting);
    }

    private long nowMs() {
        return clockNanos / NANOS_PER_MS;
    }
}
