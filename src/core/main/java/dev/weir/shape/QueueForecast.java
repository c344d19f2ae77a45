package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.shape.backlog.AheadRange;
import dev.weir.shape.backlog.QueueOccupancy;
import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.WaitingRequests;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.total.OutflowState;
import dev.weir.shape.total.TotalLedger;

/**
 * Foresees when a request would leave a bucket if nothing else arrived, and decides by that whether it is admitted.
 *
 * <ul>
 *   <li>The position and the expected wait are upper bounds, exact where {@link WaitingRequests#ahead} is. They assume
 *       that nothing ahead of the request expires or is cancelled.
 *   <li>A request is {@link Reason#TOO_LATE} if a lower bound of its wait is too long, so a denial is always right. If
 *       nothing can expire before the request leaves or expires, that is the lower bound of the order of service, and
 *       exact where the wait is exact. Otherwise it counts the request's own flow, and higher priorities if nothing
 *       can expire before they have left, and allows for requests of its flow that expire.
 *   <li>{@code retryAfterMs} is when a request with the same client, tier and cost would be admitted, or later. A
 *       request that arrives in the millisecond of a release is decided before it.
 * </ul>
 *
 * <p>Under a total, releases also depend on other buckets and partitions, and with slots on workers. Then the lower bound
 * is still right, the wait is unknown, and the time of the next release is estimated.
 */
final class QueueForecast {

    private static final long NANOS_PER_MS = 1_000_000;

    private final QueueRules rules;
    private final Pacing pacing;
    private final OutflowState outflow;
    private final WaitingRequests waiting;
    private final QueueOccupancy occupancy;
    private final long clockNanos;
    private final boolean isPaused;

    /**
     * @param clockNanos the current time; the forecast is valid until the bucket changes
     * @param isPaused whether nothing is released at present, so that no wait is known; the other values are as if it
     *     were
     */
    QueueForecast(
            QueueRules rules,
            Pacing pacing,
            OutflowState outflow,
            WaitingRequests waiting,
            long clockNanos,
            boolean isPaused) {
        this.rules = rules;
        this.pacing = pacing;
        this.outflow = outflow;
        this.waiting = waiting;
        this.clockNanos = clockNanos;
        this.isPaused = isPaused;
        occupancy = waiting.occupancy();
    }

    /** Returns the decision on a request that arrives now in a queue that admits requests. */
    Decision decide(Admission admission, long enqueuedAtMs) {
        Request request = admission.request();
        long cost = request.cost();
        if (cost > rules.maxCost()) {
            return QueueDecisions.neverFits(admission, rules.maxCost(), nowMs());
        }
        if (isEarly(request, nowMs())) {
            return decideEarly(admission);
        }
        Flow flow = rules.flowOf(request);
        QueueExpiry expiry = QueueExpiry.of(rules, request.deadlineMs(), enqueuedAtMs);
        AheadRange ahead = waiting.ahead(flow, cost);
        long latestNanos = latestTurnNanos(ahead.most(), cost);
        if (ceilMs(leastTurnNanos(flow, cost, ahead, latestNanos, expiry)) > expiry.atMs()) {
            return QueueDecisions.denied(
                    admission,
                    Reason.TOO_LATE,
                    LimitStatus.of(expiry.limitedBy(), expiry.limitMs()),
                    expiry.isDeadline() ? null : retryAfterMs(request, true),
                    nowMs());
        }
        if (isFull() && !holdsBelow(rules.share(flow.tier()).priority())) {
            return noRoom(admission, Reason.QUEUE_FULL);
        }
        long waitMs = Math.min(ceilMs(latestNanos - clockNanos), expiry.atMs() - nowMs());
        return QueueDecisions.queued(
                admission, ahead.most().requests() + 1, isOwnPace() && !isPaused ? (Long) waitMs : null, nowMs());
    }

    /** Returns whether a request has to wait for its time. */
    static boolean isEarly(Request request, long nowMs) {
        return request.notBeforeMs() != null && request.notBeforeMs() > nowMs;
    }

    /** Returns the decision on a request that has to wait for its time. It evicts none. */
    private Decision decideEarly(Admission admission) {
        Request request = admission.request();
        long notBeforeMs = request.notBeforeMs();
        QueueExpiry expiry = QueueExpiry.of(rules, request.deadlineMs(), notBeforeMs);
        if (notBeforeMs > expiry.atMs()) {
            return tooLate(admission, LimitStatus.of("deadline", null));
        }
        if (notBeforeMs - nowMs() > Request.MAX_POSTPONED_MS) { // its timestamp is ahead of the queue's time
            return tooLate(admission, LimitStatus.of("notBefore", Request.MAX_POSTPONED_MS));
        }
        if (isFull()) {
            return QueueDecisions.denied(
                    admission,
                    Reason.QUEUE_FULL,
                    LimitStatus.of("capacity", rules.capacity()),
                    Math.max(1, roomAtMs() - nowMs()),
                    nowMs());
        }
        return QueueDecisions.queued(admission, null, earlyWaitMs(request, expiry), nowMs());
    }

    private Decision tooLate(Admission admission, LimitStatus limit) {
        return QueueDecisions.denied(admission, Reason.TOO_LATE, limit, null, nowMs());
    }

    /**
     * Returns an upper bound of the wait of a request that has to wait for its time; null if it is unknown, as the time of
     * another one comes no later.
     */
    private Long earlyWaitMs(Request request, QueueExpiry expiry) {
        long notBeforeMs = request.notBeforeMs();
        if (!isOwnPace() || isPaused || waiting.scheduled().dueMs() <= notBeforeMs) {
            return null;
        }
        Ahead now = occupancy.from(rules.flowOf(request).tier());
        long turnMs = Math.max(notBeforeMs, ceilMs(latestTurnNanos(now, request.cost())));
        return Math.min(turnMs, expiry.atMs()) - nowMs();
    }

    boolean isFull() {
        return waiting.size() >= rules.capacity();
    }

    private boolean holdsBelow(int priority) {
        return occupancy.size() > 0 && occupancy.lowestPriority() < priority;
    }

    /** Returns whether only the pace of this bucket delays requests. */
    private boolean isOwnPace() {
        return rules.total() == null && rules.inFlight() == null;
    }

    /** Returns an upper bound of what leaves before a request of a flow that arrives at any time from now on. */
    private Ahead ofPriority(Flow flow) {
        return waiting.hasMinShares() ? new Ahead(occupancy.size(), occupancy.tokens()) : occupancy.from(flow.tier());
    }

    /** Returns the denial of a request for which there is no room. */
    Decision noRoom(Admission admission, Reason reason) {
        return QueueDecisions.denied(
                admission,
                reason,
                LimitStatus.of("capacity", rules.capacity()),
                retryAfterMs(admission.request(), false),
                nowMs());
    }

    /**
     * Returns how long until a request that is not admitted now would be, if nothing else arrives, or longer; 1 or
     * more, null if it would not, or not surely, be before its deadline. It may be too late for its deadline by then.
     *
     * @param isTooLate whether it is too late now, so that it is not sure that it would be admitted before that time
     */
    Long retryAfterMs(Request request, boolean isTooLate) {
        Flow flow = rules.flowOf(request);
        long cost = request.cost();
        Long deadlineMs = request.deadlineMs();
        boolean isFull = isFull();
        long roomMs = isFull ? roomAtMs() : nowMs();
        AheadRange ahead = waiting.aheadLater(flow, cost, isFull, false);
        long turnMs = Math.max(roomMs, ceilMs(latestTurnNanos(ahead.most(), cost)));
        if (!staysUntil(turnMs)) {
            ahead = waiting.aheadLater(flow, cost, isFull, true);
            turnMs = Math.max(roomMs, ceilMs(latestTurnNanos(ahead.most(), cost)));
        }
        boolean isNever = deadlineMs != null
                && (roomMs > deadlineMs || ahead.isExact() && staysUntil(turnMs) && turnMs > deadlineMs);
        if (isNever) {
            return null;
        }
        long lastMs = lastTurnMs(flow, cost, turnMs);
        long atMs = rules.maxWaitMs() < lastMs - roomMs ? Math.min(lastMs - rules.maxWaitMs(), allGoneMs()) : roomMs;
        atMs = Math.max(atMs, roomMs);
        if (deadlineMs == null || atMs <= deadlineMs) {
            return Math.max(1, atMs - nowMs());
        }
        return isTooLate ? null : (Long) Math.max(1, roomMs - nowMs()); // it may be admitted before the upper bound
    }

    /** Returns whether nothing expires before a time, in milliseconds. */
    private boolean staysUntil(long ms) {
        return waiting.soonestExpiryMs() >= ms;
    }

    /**
     * Returns an upper bound of when a request of a flow would leave that arrives at any time from now on. By then, its
     * flow may have left and lost its place, so it may have to wait until all of its priority have left.
     */
    private long lastTurnMs(Flow flow, long cost, long turnMs) {
        return Math.max(turnMs, ceilMs(latestTurnNanos(ofPriority(flow), cost)));
    }

    /**
     * Returns when all that waits now has left or expired, and what was released last delays no request for longer than
     * the maximum wait; unless that was longer when some were queued.
     */
    private long allGoneMs() {
        long lastMs = ceilMs(pacing.spanNanos(Math.max(rules.burst(), occupancy.largestCost())));
        long releasedMs = ceilMs(outflow.arrival().ceilNanos()) - rules.maxWaitMs();
        return Math.max(releasedMs, nowMs() + Math.max(rules.maxWaitMs(), lastMs)) + 1;
    }

    /**
     * Returns the first millisecond in which there is room for one more request, if nothing else arrives; if the
     * capacity was lowered or under a total, possibly a later one.
     */
    private long roomAtMs() {
        long tooMany = waiting.size() - rules.capacity();
        long nanos = nextDepartureNanos();
        if (tooMany > 0 && occupancy.size() > 0) {
            long largest = occupancy.largestCost();
            boolean isMore = largest > 0 && tooMany > occupancy.tokens() / largest;
            Ahead before = new Ahead(tooMany, isMore ? occupancy.tokens() : tooMany * largest);
            nanos = Math.max(nanos, latestTurnNanos(before, largest) - lookAheadNanos());
        }
        if (rules.total() != null) {
            long nextCost =
                    waiting.next() == null ? 1 : Math.max(1, waiting.next().cost());
            long grantMs = rules.total().inFlight().isPresent() ? TotalLedger.REPORT_INTERVAL_MS : 0;
            long totalMs = Math.max(grantMs, rules.total().drainMs(nextCost));
            nanos = Math.max(nanos, clockNanos + totalMs * NANOS_PER_MS);
        }
        return Math.floorDiv(Math.max(clockNanos, nanos), NANOS_PER_MS) + 1;
    }

    /**
     * Returns when the next request leaves by the pace of this bucket, or expires. If all wait for slots, for the end of
     * their backoff or for their time, returns when the first attempt or backoff is over, or the first time has come.
     */
    private long nextDepartureNanos() {
        if (waiting.next() == null || !waiting.hasSlots(waiting.next().cost())) {
            long overMs = Math.min(waiting.attempts().dueMs(), waiting.nextExpiryMs());
            return nanos(Math.min(overMs, waiting.scheduled().dueMs()));
        }
        long turnNanos = turnNanos(AheadRange.NOTHING, waiting.next().cost());
        boolean isHopeless = turnNanos > nanos(waiting.next().expiresAtMs());
        long expiryNanos = nanos(waiting.nextExpiryMs());
        return isHopeless ? expiryNanos : Math.min(turnNanos - lookAheadNanos(), expiryNanos);
    }

    /** Returns a lower bound of when a request that arrives now leaves, if it does before it expires. */
    private long leastTurnNanos(Flow flow, long cost, AheadRange ahead, long latestNanos, QueueExpiry expiry) {
        long soonestExpiryMs = waiting.soonestExpiryMs();
        boolean leavesInTime = rules.inFlight() == null && nanos(soonestExpiryMs) >= latestNanos;
        if (soonestExpiryMs > expiry.atMs() || leavesInTime) {
            return turnNanos(ahead.least(), cost);
        }
        Ahead own = waiting.of(flow);
        // otherwise requests can expire while they wait for the total, for slots or for lower priorities
        boolean isOwnPace = isOwnPace() && !waiting.hasMinShares();
        boolean isAlone = ofPriority(flow).requests() == own.requests();
        if (isOwnPace && isAlone && isInTime(flow, soonestExpiryMs)) {
            return turnNanos(ahead.least(), cost);
        }
        Ahead above = occupancy.above(flow.tier());
        boolean aboveStays = isOwnPace && nanos(soonestExpiryMs) >= latestTurnNanos(above, Long.MAX_VALUE);
        long unlessExpiredNanos = turnNanos(aboveStays ? own.plus(above) : own, cost);
        long afterExpiryNanos = waiting.afterExpiryNanos(flow, cost, pacing);
        return Math.max(turnNanos(AheadRange.NOTHING, cost), Math.min(unlessExpiredNanos, afterExpiryNanos));
    }

    /** Returns whether no request of a flow expires that is served before all others. */
    private boolean isInTime(Flow flow, long soonestExpiryMs) {
        long fromNanos = fromNanos();
        long startNanos = Math.max(fromNanos, outflow.arrival().ceilNanos())
                + pacing.roundingNanos(waiting.of(flow).requests(), occupancy.leastCost(), occupancy.largestCost());
        return nanos(soonestExpiryMs) >= fromNanos && waiting.isInTime(flow, startNanos, pacing);
    }

    /** Returns when a request can leave behind those ahead of it, or a little earlier: each time is rounded up. */
    private long turnNanos(Ahead ahead, long cost) {
        Pacing.Arrival arrival = ahead.tokens() == 0
                ? outflow.arrival()
                : pacing.released(outflow.arrival(), ahead.tokens(), fromNanos());
        return pacing.earliestNanos(arrival, cost, fromNanos());
    }

    /** Returns when a request can leave behind those ahead of it, or a little later. */
    private long latestTurnNanos(Ahead ahead, long cost) {
        Pacing.Arrival arrival = pacing.releasedOneByOne(
                outflow.arrival(),
                ahead.requests(),
                ahead.tokens(),
                occupancy.leastCost(),
                occupancy.largestCost(),
                fromNanos());
        return pacing.earliestNanos(arrival, cost, fromNanos());
    }

    private long fromNanos() {
        return Math.max(clockNanos, outflow.lastNanos());
    }

    /**
     * Returns how long until all waiting requests have left; under a total or with slots, at least. A last request that
     * costs at most the burst leaves one burst before the end of its time, whatever its cost, so the result is the same
     * as with a cost of 1.
     */
    long drainMs() {
        if (occupancy.size() == 0) {
            return 0;
        }
        long others = occupancy.size() - 1;
        boolean isOnlyOne = others == 0 && waiting.next() != null;
        long costOfLast = isOnlyOne ? waiting.next().cost() : Math.min(1, occupancy.tokens());
        Ahead ahead = new Ahead(others, others == 0 ? 0 : occupancy.tokens() - costOfLast);
        long byPaceMs = ceilMs(latestTurnNanos(ahead, costOfLast) - clockNanos);
        return rules.total() == null
                ? byPaceMs
                : Math.max(byPaceMs, rules.total().drainMs(ahead.tokens()));
    }

    private long lookAheadNanos() {
        return rules.lookAheadMs() * NANOS_PER_MS;
    }

    private long nowMs() {
        return clockNanos / NANOS_PER_MS;
    }

    private static long nanos(long ms) {
        return QueueExpiry.nanos(ms);
    }

    private static long ceilMs(long nanos) {
        return -Math.floorDiv(-nanos, NANOS_PER_MS);
    }
}
