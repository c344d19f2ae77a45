package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.backlog.BucketContents;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.Flow;
import dev.weir.shape.backlog.FlowQueue;
import dev.weir.shape.backlog.Pacing;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.backlog.QueueDecisions;
import dev.weir.shape.backlog.QueueOccupancy;
import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.QueueStore;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.Slot.Waiting;
import dev.weir.shape.backlog.WaitingRequests;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.total.OutflowState;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The leaky bucket as a queue: requests come as they like and leave at a steady rate, a higher priority first, tiers by
 * weight, clients evenly. Each that is taken in ends once: it is released, expires, is evicted, or is withdrawn.
 *
 * <pre>
 *                 offer                       drain
 *   ── nothing ──────────▶ waiting ────────────────────▶ released       at its turn, not before the pace allows
 *                            │  │ └────────────────────▶ expired        at its deadline, or after max-wait
 *                    cancel  │  └──────────────────────▶ evicted        offer of a higher priority, queue full
 *                            └─────────────────────────▶ withdrawn
 * </pre>
 *
 * <p>Time is an argument and never runs backwards, unless it {@linkplain #stepBack steps back}.
 *
 * <p>Memory grows with the flows that wait, not with what waits behind their
 * heads; every step is O(log flows + tiers), and touches a handful of the store's entries.
 */
final class LeakyBucketQueue {

    private static final long NANOS_PER_MS = 1_000_000;

    /** What would expire later never does. */
    private static final long MAX_TIME_MS = Shaper.MAX_TIME_MS;

    /** How many flows, tags and slots of alarms a state lists at most. */
    private static final int MAX_LISTED_PARTS = 32;

    private static final Ahead NONE_AHEAD = new Ahead(0, 0);

    private final BucketId id;
    private final Outlet outlet;
    private final WaitingRequests room;
    private QueueRules rules;
    private Pacing pacing;
    private OutflowState outflow;
    private long clockNanos;
    private long scheduledNanos;
    private long scheduleOrder = -1;
    private boolean isDeleted;
    private boolean isChanged;
    private boolean isSummarized; // whether the state that was saved last lists what waits

    /**
     * A bucket as its store has it; if its state does not say what waits in it, once that is {@linkplain #restore
     * restored}.
     *
     * @param queueRules those of its queue; by another rate than theirs if the state was counted by another
     * @param backlog what waits in all buckets of the queue, which this one updates
     */
    LeakyBucketQueue(
            BucketState state, PacedQueueRules queueRules, QueueStore store, QueueBacklog backlog, Outlet outlet) {
        id = state.id();
        this.outlet = outlet;
        PacedQueueRules counted = queueRules.withRate(state.limit(), state.perMs());
        rules = counted.rules();
        pacing = counted.pacing();
        outflow = state.outflow();
        isSummarized = state.contents() != null;
        room = new WaitingRequests(rules, state.contents(), store, backlog);
    }

    /** The state of a bucket that has released nothing. */
    static BucketState fresh(BucketId id, PacedQueueRules paced, long nowNanos) {
        OutflowState outflow = new OutflowState(paced.pacing().fresh(nowNanos), nowNanos, 0, nowNanos);
        BucketContents contents = id.isKeyed() ? BucketContents.EMPTY : null;
        return new BucketState(id, paced.rules().limit(), paced.rules().perMs(), outflow, contents, List.of());
    }

    /** Takes note of what a slot holds; each flow's slots in their order. */
    void restore(long position, Waiting waiting) {
        room.restore(position, waiting);
    }

    /** Goes on once all is restored: who came first is first. */
    void resume() {
        room.resume();
    }

    /** What is kept of it; with what waits in it if that {@link #isSmall}. */
    BucketState state() {
        BucketContents contents = isSmall() ? room.contents() : null;
        return new BucketState(id, rules.limit(), rules.perMs(), outflow, contents, List.of());
    }

    /** Whether what waits in it is few enough flows for its state to list them, as it does for buckets of keys only. */
    boolean isSmall() {
        return id.isKeyed() && room.partCount() <= MAX_LISTED_PARTS;
    }

    BucketId id() {
        return id;
    }

    /** Whether nothing waits and all that has left no longer matters, so that a fresh bucket would do the same. */
    boolean isIdle() {
        return room.isEmpty() && idleNanos() <= clockNanos;
    }

    /** When it will be idle if nothing comes. */
    long idleNanos() {
        return Math.max(outflow.arrival().ceilNanos(), outflow.lastNanos());
    }

    /** Whether {@link #state} has changed since this was called last. */
    boolean testAndClearChanged() {
        boolean isSmall = isSmall();
        boolean changed = room.testAndClearChanged() && isSmall || isSmall != isSummarized || isChanged;
        isSummarized = isSmall;
        isChanged = false;
        return changed;
    }

    /** Whether it would change if these rules were put in force. */
    boolean isOutdated(QueueRules current) {
        return !rules.equals(current);
    }

    /** When it is planned to be due, ns since the epoch; not before it is. */
    long scheduledNanos() {
        return scheduledNanos;
    }

    /** Breaks ties between buckets that are planned for the same time: unique. */
    long scheduleOrder() {
        return scheduleOrder;
    }

    void scheduleAt(long nanos, long order) {
        scheduledNanos = nanos;
        scheduleOrder = order;
    }

    /** Makes {@link #testAndClearChanged} return true. */
    void markChanged() {
        isChanged = true;
    }

    /** Puts other rules in force, for what waits as well; but when it expires was settled when it came. */
    void setRules(PacedQueueRules newRules, long nowNanos) {
        advanceTo(nowNanos);
        isDeleted = false;
        if (newRules.rules() == rules) {
            return;
        }
        if (newRules.rules().equals(rules)) {
            rules = newRules.rules();
            return;
        }
        adoptRules(newRules);
        room.setRules(rules);
        isChanged = true;
    }

    private void adoptRules(PacedQueueRules newRules) {
        rules = newRules.rules();
        Pacing old = pacing;
        pacing = newRules.pacing();
        outflow = new OutflowState(
                pacing.adopt(old, outflow.arrival(), clockNanos), outflow.lastNanos(), outflow.sequence(), clockNanos);
    }

    /** Lets nobody in any more; who waits leaves by the last rules. */
    void delete() {
        isDeleted = true;
    }

    /**
     * Lets a request in, or tells why not; answers in any case. A {@link RequestKind#PEEK} is answered as if it came
     * in.
     *
     * @param number its place in the order of arrival
     * @param enqueuedAtMs when it came, not after now
     */
    void offer(Admission admission, long number, long enqueuedAtMs, long nowNanos) {
        advanceTo(nowNanos);
        Decision decision = decisionFor(admission, enqueuedAtMs);
        if (decision.outcome() == Outcome.QUEUED && admission.request().kind() != RequestKind.PEEK) {
            if (isFull()) {
                evict();
            }
            room.enter(admission, number, enqueuedAtMs, expiry(admission.request(), enqueuedAtMs).atMs);
        }
        answer(admission, decision);
    }

    /** What a request is told that comes now. */
    private Decision decisionFor(Admission admission, long enqueuedAtMs) {
        Flow flow = Waiting.flowOf(admission);
        long cost = admission.request().cost();
        boolean hasRoom = !isFull()
                || rules.share(flow.tier()).priority() > room.occupancy().lowestPriority();
        Expiry expiry = expiry(admission.request(), enqueuedAtMs);
        long tooLateMs = ceilMs(turnNanos(room.minAhead(flow), cost)) - expiry.atMs;
        if (isDeleted) {
            return QueueDecisions.noQueue(admission, nowMs());
        }
        if (cost > rules.maxCost()) {
            return QueueDecisions.neverFits(admission, rules.maxCost(), nowMs());
        }
        if (tooLateMs > 0) {
            Long retryAfterMs = expiry.isDeadline ? null : (Long) Math.max(tooLateMs, isFull() ? roomAfterMs() : 0);
            return QueueDecisions.denied(
                    admission,
                    Reason.TOO_LATE,
                    LimitStatus.of(expiry.limitedBy(), expiry.limitMs),
                    retryAfterMs,
                    nowMs());
        }
        if (!hasRoom) {
            return noRoom(admission, Reason.QUEUE_FULL);
        }
        Ahead ahead = room.expectedAhead(flow, cost);
        long waitMs = ceilMs(turnNanos(ahead, cost) - clockNanos);
        return QueueDecisions.queued(admission, ahead.requests() + 1, waitMs, nowMs());
    }

    private boolean isFull() {
        return room.size() >= rules.capacity();
    }

    /**
     * What a request would be told that came now, or one that withdraws another; leaves all as it is.
     *
     * @param current the rules in force, null if there are none any more
     */
    Decision check(Admission admission, QueueRules current, long nowNanos) {
        return simulate(current, nowNanos, () -> {
            if (admission.request().kind() == RequestKind.CANCEL) {
                return QueueDecisions.cancelResult(
                        admission, room.find(WaitingRequests.ticket(admission)) != null, nowMs());
            }
            return decisionFor(admission, nowMs());
        });
    }

    /**
     * How it is now; leaves all as it is.
     *
     * @param current the rules in force, null if there are none any more
     */
    QueueView view(QueueRules current, long nowNanos) {
        return simulate(
                current,
                nowNanos,
                () -> new QueueView(
                        rules,
                        isDeleted,
                        room.size(),
                        room.occupancy().tokens(),
                        tiers(),
                        oldestWaitMs(),
                        outflow.sequence(),
                        room.isEmpty()
                                ? null
                                : (Long) turnNanos(NONE_AHEAD, room.next().headCost()),
                        drainMs()));
    }

    /** As {@link #view}, of a bucket of a queue with key fields in which requests wait. */
    QueueView.KeyView viewOfKey(QueueRules current, long nowNanos) {
        return simulate(
                current,
                nowNanos,
                () -> new QueueView.KeyView(
                        id.values(), waiting(), room.occupancy().tokens(), oldestWaitMs(), drainMs()));
    }

    /** How many requests wait. */
    long waiting() {
        return room.occupancy().size();
    }

    /** When the one that has waited longest began to wait, ms since the epoch; null if none waits. */
    Long oldestEnqueuedAtMs() {
        return room.oldestEnqueuedAtMs();
    }

    /**
     * How long it takes until all that waits has left. One that costs at most the burst leaves the burst before the end
     * of its slots, whatever it costs: the same as if the last one cost 1.
     */
    private long drainMs() {
        if (room.isEmpty()) {
            return 0;
        }
        long costOfLast = waiting() == 1
                ? room.next().headCost()
                : Math.min(1, room.occupancy().tokens());
        Ahead ahead =
                new Ahead(waiting() - 1, waiting() == 1 ? 0 : room.occupancy().tokens() - costOfLast);
        return ceilMs(turnNanos(ahead, costOfLast) - clockNanos);
    }

    private Long oldestWaitMs() {
        Long sinceMs = room.oldestEnqueuedAtMs();
        return sinceMs == null ? null : (Long) Math.max(0, nowMs() - sinceMs);
    }

    private List<QueueView.TierView> tiers() {
        Map<String, Long> waiting = new HashMap<>();
        QueueOccupancy crowd = room.occupancy();
        crowd.tiers().forEach(tier -> waiting.put(tier, crowd.size(tier)));
        return QueueView.tiers(rules, waiting);
    }

    /**
     * Asks something at a moment, by the rules then in force, and goes on as if nobody had. Who waits is still in the
     * order of the rules before, if these have changed since the queue was worked on last.
     */
    private <T> T simulate(QueueRules current, long nowNanos, Supplier<T> question) {
        QueueRules rulesBefore = rules;
        Pacing pacingBefore = pacing;
        OutflowState outflowBefore = outflow;
        boolean deletedBefore = isDeleted;
        long clockBefore = clockNanos;
        try {
            advanceTo(nowNanos);
            isDeleted = current == null;
            if (current != null && !current.equals(rules)) {
                adoptRules(PacedQueueRules.of(current));
            }
            return question.get();
        } finally {
            rules = rulesBefore;
            pacing = pacingBefore;
            outflow = outflowBefore;
            isDeleted = deletedBefore;
            clockNanos = clockBefore;
        }
    }

    /** Withdraws the request that has the same id and client, the newest if there are several; answers both. */
    void cancel(Admission cancel, long nowNanos) {
        advanceTo(nowNanos);
        Place place = room.find(WaitingRequests.ticket(cancel));
        answer(cancel, QueueDecisions.cancelResult(cancel, place != null, nowMs()));
        if (place != null) {
            Waiting waiting = room.get(place);
            room.leave(place, waiting);
            answer(waiting.admission(), QueueDecisions.cancelled(waiting.admission(), nowMs()));
        }
    }

    /**
     * Releases what may leave, up to the look-ahead before its time, and lets expire what must.
     *
     * @param budget how much is done at most; what is left over is due at once
     */
    void drain(long nowNanos, WorkBudget budget) {
        advanceTo(nowNanos);
        release(budget);
        expire(nowNanos, budget);
    }

    /**
     * When there is something to {@link #drain}, or, if nothing waits in one of several buckets, when it is {@linkplain
     * #isIdle idle}; {@link Long#MAX_VALUE} if nothing waits in the only one.
     */
    long dueNanos() {
        if (room.isEmpty()) {
            return id.isKeyed() ? idleNanos() : Long.MAX_VALUE;
        }
        FlowQueue next = room.next();
        long turnNanos = turnNanos(NONE_AHEAD, next.headCost());
        boolean hopeless = turnNanos > nanos(next.headExpiresAtMs());
        long releaseNanos = hopeless ? Long.MAX_VALUE : turnNanos - lookAheadNanos();
        return Math.min(releaseNanos, nanos(room.nextExpiryMs()));
    }

    /** The latest time at which something was done with it. */
    long nowNanos() {
        return clockNanos;
    }

    boolean isEmpty() {
        return room.isEmpty();
    }

    /** The tier of the request that leaves next. */
    String headTier() {
        return room.next().flow().tier();
    }

    long headCost() {
        return room.next().headCost();
    }

    /** When the request that leaves next expires; {@link Long#MAX_VALUE} if it never does. */
    long headExpiryNanos() {
        return nanos(room.next().headExpiresAtMs());
    }

    /**
     * Since when the request that leaves next may leave by the pace of this bucket, or when it may; {@link
     * Long#MAX_VALUE} if it expires before.
     */
    long headTurnNanos() {
        FlowQueue next = room.next();
        long paceNanos = pacing.earliestNanos(outflow.arrival(), next.headCost(), outflow.lastNanos());
        long enqueuedNanos = Math.min(clockNanos, next.headEnqueuedAtMs() * NANOS_PER_MS); // unless time was set back
        long turnNanos = Math.max(paceNanos, enqueuedNanos);
        return turnNanos > headExpiryNanos() ? Long.MAX_VALUE : turnNanos;
    }

    /** When one of those that wait expires if none leaves before; {@link Long#MAX_VALUE} if none ever does. */
    long nextExpiryNanos() {
        return nanos(room.nextExpiryMs());
    }

    /** How many tokens this bucket could release in some time by its own pace; at least the cost of the next. */
    long tokensWithin(long nanos) {
        long atPace = Math.max(headCost(), rules.burst() + pacing.slotsIn(nanos));
        return Math.min(room.occupancy().tokens(), atPace);
    }

    /** Releases the request that leaves next, at a time that is not before its turn. */
    void releaseHead(long atNanos, long nowNanos) {
        advanceTo(nowNanos);
        release(room.next(), atNanos);
    }

    /** Lets expire what must, and releases nothing. */
    void expire(long nowNanos, WorkBudget budget) {
        advanceTo(nowNanos);
        for (Place place = room.nextExpired(nowMs(), budget);
                place != null;
                place = room.nextExpired(nowMs(), budget)) {
            expire(place);
        }
    }

    private void release(WorkBudget budget) {
        long horizonNanos = clockNanos + lookAheadNanos();
        while (!room.isEmpty()) {
            FlowQueue line = room.next();
            long atNanos = turnNanos(NONE_AHEAD, line.headCost());
            boolean hopeless = atNanos > nanos(line.headExpiresAtMs());
            boolean isDue = hopeless ? line.headExpiresAtMs() <= nowMs() : atNanos <= horizonNanos;
            if (!isDue || !budget.trySpend()) {
                return;
            }
            if (hopeless) {
                expire(line.head());
            } else {
                release(line, atNanos);
            }
        }
    }

    private void release(FlowQueue line, long atNanos) {
        Waiting waiting = room.get(line.head());
        room.serve(line, waiting);
        outflow = new OutflowState(
                pacing.released(outflow.arrival(), waiting.cost(), atNanos),
                atNanos,
                outflow.sequence() + 1,
                clockNanos);
        isChanged = true;
        Request request = waiting.admission().request();
        outlet.emitRelease(
                waiting.admission(),
                new Release(
                        request.requestId(),
                        request.client(),
                        request.tier(),
                        rules.id(),
                        id.values(),
                        outflow.sequence(),
                        waiting.enqueuedAtMs(),
                        atNanos,
                        request.cost(),
                        request.attributes(),
                        request.payload()));
    }

    private void expire(Place place) {
        Waiting waiting = room.get(place);
        Admission admission = waiting.admission();
        room.leave(place, waiting);
        Expiry expiry = expiry(admission.request(), nowMs());
        long tooLateMs = ceilMs(turnNanos(room.minAhead(waiting.flow()), waiting.cost())) - expiry.atMs;
        boolean isDeadline =
                Long.valueOf(waiting.expiresAtMs()).equals(admission.request().deadlineMs());
        Long retryAfterMs = isDeadline || isDeleted ? null : (Long) Math.max(1, tooLateMs);
        answer(
                admission,
                QueueDecisions.expired(
                        admission, isDeadline ? "deadline" : "max-wait", retryAfterMs, waiting.expiresAtMs()));
    }

    private void evict() {
        Place place = room.occupancy().newestOfLowest().tail();
        Waiting waiting = room.get(place);
        Decision decision = noRoom(waiting.admission(), Reason.EVICTED);
        room.leave(place, waiting);
        answer(waiting.admission(), decision);
    }

    private Decision noRoom(Admission admission, Reason reason) {
        return QueueDecisions.denied(
                admission, reason, LimitStatus.of("capacity", rules.capacity()), roomAfterMs(), nowMs());
    }

    /** When one more can be taken in, if nothing else comes. */
    private long roomAfterMs() {
        QueueOccupancy crowd = room.occupancy();
        long tooMany = crowd.size() - rules.capacity();
        long nextCost = room.next().headCost();
        long leavesNanos = Math.min(turnNanos(NONE_AHEAD, nextCost), nanos(room.nextExpiryMs()));
        if (tooMany > 0) { // the capacity has been lowered
            leavesNanos = turnNanos(new Ahead(tooMany, crowd.tokens() / crowd.size() * tooMany), nextCost);
        }
        return Math.max(1, ceilMs(leavesNanos - clockNanos));
    }

    /** When one may leave behind those ahead of it, if nothing else comes. */
    private long turnNanos(Ahead ahead, long cost) {
        long fromNanos = Math.max(clockNanos, outflow.lastNanos());
        Pacing.Arrival arrival =
                ahead.tokens() == 0 ? outflow.arrival() : pacing.released(outflow.arrival(), ahead.tokens(), fromNanos);
        return pacing.earliestNanos(arrival, cost, fromNanos);
    }

    /** When a request that came at some time expires, and by what. */
    private record Expiry(long atMs, boolean isDeadline, Long limitMs) {
        String limitedBy() {
            return isDeadline ? "deadline" : "max-wait";
        }
    }

    private Expiry expiry(Request request, long enqueuedAtMs) {
        long latestMs =
                rules.maxWaitMs() > MAX_TIME_MS - enqueuedAtMs ? Waiting.NEVER : enqueuedAtMs + rules.maxWaitMs();
        Long deadlineMs = request.deadlineMs();
        return deadlineMs != null && deadlineMs <= Math.min(latestMs, MAX_TIME_MS)
                ? new Expiry(Math.max(0, deadlineMs), true, null)
                : new Expiry(latestMs, false, rules.maxWaitMs());
    }

    private long lookAheadNanos() {
        return rules.lookAheadMs() * NANOS_PER_MS;
    }

    private void answer(Admission admission, Decision decision) {
        outlet.emitDecision(admission, decision);
    }

    /**
     * Sets the time back, because it was wrong. What was used of the burst stays used, and requests leave at the rate
     * from the new time on.
     */
    void stepBack(long nowNanos) {
        clockNanos = nowNanos;
        if (outflow.clockNanos() > nowNanos) {
            outflow = outflow.movedTo(nowNanos);
            isChanged = true;
        }
    }

    private void advanceTo(long nowNanos) {
        clockNanos = Math.max(clockNanos, nowNanos);
    }

    private long nowMs() {
        return clockNanos / NANOS_PER_MS;
    }

    private static long nanos(long ms) {
        return ms > MAX_TIME_MS ? Long.MAX_VALUE : ms * NANOS_PER_MS;
    }

    private static long ceilMs(long nanos) {
        return -Math.floorDiv(-nanos, NANOS_PER_MS);
    }
}
