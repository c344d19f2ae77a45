package dev.weir.shape;

import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.total.Contenders;
import dev.weir.shape.total.Contenders.Contender;
import dev.weir.shape.total.DemandScope;
import dev.weir.shape.total.HeldTime;
import dev.weir.shape.total.InFlightBorrower;
import dev.weir.shape.total.InFlightClaim;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalLedger;
import dev.weir.shape.total.TotalReport;
import dev.weir.shape.total.TotalReport.LeasedTime;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One partition's part in the total of a queue: the buckets that contend, the time and the slots that the partition has,
 * and the reports to the {@link TotalLedger}. By the rate of the total, a release needs time; by its bound of what is in
 * flight, slots that are free.
 */
final class PartitionTotal implements Contention {

    private static final long NANOS_PER_MS = 1_000_000;

    /** If grants arrive sooner, the lag decreases by this part of itself with each report. */
    private static final int LAG_DECAY_DIVISOR = 16;

    /** How soon a report follows another if the ledger does not know of any demand, in nanoseconds. */
    private static final long SHORT_REPORT_INTERVAL_NANOS = 10 * NANOS_PER_MS;

    private final String queue;
    private final int partition;
    private final Contenders contenders;
    private final HeldTime time = new HeldTime();
    private final InFlightBorrower borrower;
    private final QueueBacklog backlog;
    private QueueTotal total;
    private InFlightRules inFlight; // null if releases occupy no slots
    private Pacing pace; // of each bucket
    private Optional<Pacing> totalPace;
    private long lookAheadNanos;
    private long lagMs;
    private long shortestGrantMs = Long.MAX_VALUE; // the shortest delay of a grant since the last report
    private long waitingElsewhere;
    private boolean isReported;
    private long reportedNanos;
    private boolean hasReportedDemand;
    private long grant; // the number of the last one received
    private long heardNanos; // when it, or one with the same number, was received

    /**
     * @param messaging how the partition exchanges messages with others
     * @param borrower the slots that it has borrowed
     * @param backlog what waits and is in flight in all buckets
     */
    PartitionTotal(QueueRules rules, Shaper.Messaging messaging, InFlightBorrower borrower, QueueBacklog backlog) {
        lagMs = messaging.expectedDelayMs();
        partition = messaging.partition();
        this.borrower = borrower;
        this.backlog = backlog;
        queue = rules.id();
        setPaces(rules);
        contenders = new Contenders(rules.tiers());
    }

    void setRules(QueueRules rules) {
        long mostBefore = total.inFlight().orElse(Long.MAX_VALUE);
        setPaces(rules);
        if (total.inFlight().orElse(Long.MAX_VALUE) < mostBefore) {
            borrower.giveUpFree(backlog.slots());
        }
        contenders.setShares(rules.tiers());
    }

    private void setPaces(QueueRules rules) {
        total = rules.total();
        inFlight = rules.inFlight();
        pace = rules.pacing();
        totalPace = total.rate().map(TotalRate::pacing);
        lookAheadNanos = rules.lookAheadMs() * NANOS_PER_MS;
    }

    /** Returns whether this many requests on this partition, with those elsewhere, reach the capacity of the total. */
    boolean isFull(long waitingHere) {
        return waitingHere + waitingElsewhere >= total.capacity();
    }

    @Override
    public void contend(LeakyBucketQueue bucket) {
        if (contendsFromNanos(bucket) > bucket.nowNanos()) {
            contenders.remove(bucket.id());
            return;
        }
        long turnNanos = bucket.headTurnNanos();
        long waiting = bucket.releasableTokens();
        long atOnce = bucket.tokensAt(turnNanos, 0, waiting);
        long tokens = bucket.tokensAt(turnNanos, leadNanos(), waiting);
        contenders.put(bucket.id(), new Contender(bucket.headFlow(), turnNanos, bucket.headCost(), atOnce, tokens));
    }

    @Override
    public long dueNanos(LeakyBucketQueue bucket) {
        if (bucket.isEmpty()) {
            return bucket.dueNanos();
        }
        long fromNanos = contendsFromNanos(bucket);
        return fromNanos <= bucket.nowNanos()
                ? bucket.nextChangeNanos()
                : Math.min(fromNanos, bucket.nextChangeNanos());
    }

    /** Returns when a bucket starts to contend; {@link DueTime#NEVER} if no request can leave next by its own rules. */
    private long contendsFromNanos(LeakyBucketQueue bucket) {
        long turnNanos = bucket.hasSlotsForHead() ? bucket.headTurnNanos() : DueTime.NEVER;
        return turnNanos == DueTime.NEVER ? turnNanos : turnNanos - leadNanos();
    }

    @Override
    public String tier(BucketId bucket) {
        Contender contender = contenders.get(bucket);
        return contender == null ? null : contender.flow().tier();
    }

    @Override
    public long firstNanos(String tier) {
        return contenders.firstNanos(tier);
    }

    /** Returns buckets that contend but are not needed soon, the least urgent first. */
    Iterable<BucketId> leastUrgent() {
        return contenders.leastUrgent();
    }

    /** Returns the tiers of a lower priority in which buckets contend, the lowest first. */
    Iterable<String> tiersBelow(int priority) {
        return contenders.tiersBelow(priority);
    }

    /** Returns the buckets on the heap that contend in a tier, the least urgent first. */
    Iterable<BucketId> leastUrgentOf(String tier) {
        return contenders.latestOf(tier);
    }

    @Override
    public void setColdCount(String tier, long number) {
        contenders.setColdCount(tier, number);
    }

    @Override
    public void remove(BucketId bucket) {
        contenders.remove(bucket);
    }

    /**
     * Returns the bucket that releases next: chosen among those whose own pace permits a release until the time that is
     * held begins or, if there are none, those whose pace permits it first. Null if none contends, or if no time is held.
     */
    private BucketId first(long nowNanos) {
        long heldNanos = totalPace.isPresent() ? time.firstNanos(1, Long.MIN_VALUE, nowNanos) : nowNanos;
        return heldNanos == DueTime.NEVER ? null : contenders.first(Math.max(heldNanos, contenders.firstNanos()));
    }

    /**
     * Returns the bucket whose request leaves next, until {@code untilNanos}; null if there is none. That is the
     * {@linkplain #first first} one or, if it cannot leave by then, one that fits into time which is too short for it
     * or comes before. If there is no time for the first one yet, others wait for as long as its time could be
     * extended. If it lacks slots in flight, no other passes it.
     */
    BucketId next(long untilNanos, long nowNanos) {
        BucketId first = first(nowNanos);
        long firstNanos = first == null ? 0 : releaseNanos(first, nowNanos);
        if (firstNanos <= untilNanos) {
            return first;
        }
        if (totalPace.isEmpty() || !hasInFlight(contenders.get(first).cost())) {
            return null;
        }
        long othersUntilNanos = firstNanos < DueTime.NEVER
                ? untilNanos
                : Math.min(untilNanos, nowNanos - TotalLedger.CATCH_UP_MS * NANOS_PER_MS);
        for (BucketId other : contenders.insteadOf(first)) {
            if (releaseNanos(other, nowNanos) <= othersUntilNanos) {
                return other;
            }
        }
        return null;
    }

    /** Returns when the {@linkplain #next next} request can leave; {@link DueTime#NEVER} if it has no time yet. */
    long nextNanos(long nowNanos) {
        BucketId first = first(nowNanos);
        long nextNanos = first == null ? DueTime.NEVER : releaseNanos(first, nowNanos);
        if (first == null
                || totalPace.isEmpty()
                || !hasInFlight(contenders.get(first).cost())) {
            return nextNanos;
        }
        if (nextNanos <= time.firstNanos(1, Long.MIN_VALUE, nowNanos)) {
            return nextNanos;
        }
        long waitNanos = nextNanos < DueTime.NEVER ? 0 : TotalLedger.CATCH_UP_MS * NANOS_PER_MS + lookAheadNanos;
        for (BucketId other : contenders.insteadOf(first)) {
            long otherNanos = releaseNanos(other, nowNanos);
            nextNanos = otherNanos == DueTime.NEVER ? nextNanos : Math.min(nextNanos, otherNanos + waitNanos);
        }
        return nextNanos;
    }

    private long releaseNanos(BucketId bucket, long nowNanos) {
        Contender contender = contenders.get(bucket);
        return releaseNanos(contender.cost(), contender.turnNanos(), nowNanos);
    }

    /**
     * Returns when a request can be released that may not be released before {@code fromNanos}; {@link DueTime#NEVER}
     * if there is no slot for it yet.
     */
    long releaseNanos(long cost, long fromNanos, long nowNanos) {
        if (!hasInFlight(cost)) {
            return DueTime.NEVER;
        }
        long earliestNanos = earliestNanos(fromNanos, nowNanos);
        return totalPace.isPresent() ? time.firstNanos(cost, earliestNanos, nowNanos) : earliestNanos;
    }

    /** Returns when a release can be at the earliest: not before the slots were free that it occupies. */
    private long earliestNanos(long fromNanos, long nowNanos) {
        return inFlight == null && totalPace.isPresent() ? fromNanos : Math.max(fromNanos, nowNanos);
    }

    private boolean hasInFlight(long cost) {
        return total.inFlight().isEmpty() || inFlight.slots(cost) <= borrower.free(backlog.slots());
    }

    /** Returns the free slots that requests need which could leave now. */
    private long neededInFlight(boolean isPaused, long nowNanos) {
        boolean isLeaving =
                total.inFlight().isPresent() && !isPaused && contenders.firstNanos() <= nowNanos + lookAheadNanos;
        return isLeaving && firstInFlight(nowNanos) != null ? contenders.tokens() : 0;
    }

    /** Returns what leaves next, apart from the time that it needs; null if nothing does, or if it lacks slots. */
    private Contender firstInFlight(long nowNanos) {
        BucketId first = contenders.first(Math.max(nowNanos, contenders.firstNanos()));
        return first == null || !hasInFlight(contenders.get(first).cost()) ? null : contenders.get(first);
    }

    /**
     * Returns when the partition releases its next request, at the earliest: by the pace of the buckets and by the time
     * that it holds. If it holds none for a request, that is estimated: as long as the largest first request takes by
     * the total, and at least until time is granted after the next report. Changes nothing.
     */
    long nextReleaseNanos(long nowNanos) {
        long paceNanos = Math.max(nowNanos, contenders.firstNanos());
        long cost = contenders.largestCost();
        long atNanos = paceNanos == DueTime.NEVER ? paceNanos : releaseNanos(cost, paceNanos, nowNanos);
        long estimateMs = Math.max(TotalLedger.REPORT_INTERVAL_MS, total.drainMs(cost));
        return atNanos < DueTime.NEVER ? atNanos : nowNanos + estimateMs * NANOS_PER_MS;
    }

    /**
     * Uses the time of the first request of the bucket that {@link #next} returned. Returns when it is released;
     * {@link DueTime#NEVER}, and uses none, if it expires before.
     */
    long take(LeakyBucketQueue bucket, long nowNanos) {
        long cost = bucket.headCost();
        long turnNanos = bucket.headTurnNanos();
        long atNanos = releaseNanos(cost, turnNanos, nowNanos);
        if (atNanos > bucket.headExpiryNanos()) {
            return DueTime.NEVER;
        }
        if (totalPace.isPresent()) {
            time.take(cost, earliestNanos(turnNanos, nowNanos), nowNanos);
        }
        if (total.inFlight().isPresent()) {
            borrower.occupy(inFlight.slots(cost));
        }
        contenders.served(bucket.id());
        return atNanos;
    }

    /** Adds granted time, unless it was received before. */
    void receive(TotalGrant received, long nowNanos) {
        borrower.receive(received.inFlight(), backlog.slots());
        heardNanos = received.number() >= grant ? nowNanos : heardNanos;
        if (received.number() > grant) {
            time.add(received);
            grant = received.number();
            isReported = true; // so that it is returned if nothing waits any more
        }
        contenders.setClientWeights(received.weights());
        waitingElsewhere = isReported ? received.waitingElsewhere() : 0;
        shortestGrantMs = Math.min(shortestGrantMs, Math.max(0, nowNanos / NANOS_PER_MS - received.sentAtMs()));
    }

    /**
     * Updates the lag by the grant with the shortest delay. After a pause, many grants arrive at once, and only the
     * last of them shows how long grants take now.
     */
    private void measureLag() {
        if (shortestGrantMs < Long.MAX_VALUE) {
            long lowerMs = lagMs - (lagMs + LAG_DECAY_DIVISOR - 1) / LAG_DECAY_DIVISOR;
            lagMs = Math.min(TotalLedger.MAX_LAG_MS, Math.max(shortestGrantMs, lowerMs));
            shortestGrantMs = Long.MAX_VALUE;
        }
    }

    /**
     * Returns the report to send now, null if none is due.
     *
     * @param isPaused whether nothing is released at present
     */
    TotalReport report(boolean isPaused, long nowNanos) {
        boolean isLast = backlog.requests() == 0;
        boolean isDue = isLast ? isReported : nowNanos >= reportDueNanos();
        if (!isDue && nowNanos < returnDueNanos(isPaused, nowNanos)) {
            return null;
        }
        return report(isLast, isPaused, nowNanos);
    }

    private TotalReport report(boolean isLast, boolean isPaused, long nowNanos) {
        measureLag();
        if (nowNanos - heardNanos > TotalLedger.REPORT_TIMEOUT_MS * NANOS_PER_MS) {
            grant = 0; // a new ledger may count from a lower number if the time was set back
        }
        if (inFlight != null) {
            time.giveUpBefore(nowNanos); // slots in flight may be free only since later
        }
        Optional<LeasedTime> returned = giveBack(isLast, nowNanos);
        List<TotalReport.Demand> demands = isLast ? List.of() : contenders.demands(scope(isPaused, nowNanos));
        InFlightClaim claim = borrower.report(total.inFlight(), backlog.slots(), neededInFlight(isPaused, nowNanos));
        isReported = !isLast;
        waitingElsewhere = isLast ? 0 : waitingElsewhere; // no more grants report changes
        reportedNanos = nowNanos;
        hasReportedDemand = !demands.isEmpty();
        return new TotalReport(
                new QueuePartition(queue, partition),
                total.rate(),
                lagMs,
                backlog.requests(),
                grant,
                returned,
                uncovered(demands, nowNanos),
                claim);
    }

    private DemandScope scope(boolean isPaused, long nowNanos) {
        OptionalLong mostInFlight = isPaused ? OptionalLong.empty() : total.inFlight();
        return new DemandScope(pace, totalPace, mostInFlight, nowNanos, nowNanos + lookAheadNanos);
    }

    /** Returns the demands that time and slots which the partition has do not cover. */
    private List<TotalReport.Demand> uncovered(List<TotalReport.Demand> demands, long nowNanos) {
        List<TotalReport.Demand> timed = total.inFlight().isEmpty() ? demands : withSlots(demands, nowNanos);
        return totalPace.map(each -> time.uncovered(timed, each, nowNanos)).orElse(timed);
    }

    /** Returns the demands with the time that requests need which have slots, and the slots that others need. */
    private List<TotalReport.Demand> withSlots(List<TotalReport.Demand> demands, long nowNanos) {
        long free = borrower.free(backlog.slots());
        Contender first = firstInFlight(nowNanos);
        String tier = first == null ? "" : first.flow().tier();
        return TotalReport.ofTier(
                tier, first == null ? 0 : Math.max(free, first.cost()), TotalReport.beyondInFlight(demands, free));
    }

    /** Returns when slots have to be reported that are free; {@link DueTime#NEVER} if they are not. */
    private long returnDueNanos(boolean isPaused, long nowNanos) {
        boolean mustReport = borrower.mustReport(total.inFlight(), backlog.slots(), neededInFlight(isPaused, nowNanos));
        return mustReport ? reportedNanos + SHORT_REPORT_INTERVAL_NANOS : DueTime.NEVER;
    }

    /**
     * Gives up an interval of leased time that is longer than what the ledger grants in advance otherwise, if others
     * may need it and the request that leaves next here does not. Such time was granted for a large request, which has
     * left the queue or is no longer next.
     */
    private Optional<LeasedTime> giveBack(boolean isLast, long nowNanos) {
        LeasedTime last = time.last(nowNanos);
        boolean isLong = last.untilNanos() - last.fromNanos() > leadNanos();
        if (!isLong || grant == 0 || !isLast && waitingElsewhere == 0) {
            return Optional.empty();
        }
        BucketId first = isLast ? null : first(nowNanos);
        if (first == null) {
            return time.cut(nowNanos);
        }
        Contender next = contenders.get(first);
        boolean fits = releaseNanos(first, nowNanos) < last.fromNanos() + leadNanos();
        return time.cut(fits ? time.endNanos(next.cost(), next.turnNanos(), nowNanos) : nowNanos);
    }

    private long reportDueNanos() {
        if (!isReported) {
            return Long.MIN_VALUE;
        }
        boolean isNew = !hasReportedDemand && !contenders.isEmpty();
        return reportedNanos + (isNew ? SHORT_REPORT_INTERVAL_NANOS : TotalLedger.REPORT_INTERVAL_MS * NANOS_PER_MS);
    }

    /**
     * Returns when there is something to release or to report; {@link DueTime#NEVER} if nothing waits.
     *
     * @param releaseNanos when the first contender could be released
     * @param isPaused whether nothing is released at present
     */
    long dueNanos(long releaseNanos, boolean isPaused, long nowNanos) {
        long returnNanos = returnDueNanos(isPaused, nowNanos);
        return backlog.requests() == 0 && !isReported
                ? returnNanos
                : Math.min(returnNanos, Math.min(releaseNanos, reportDueNanos()));
    }

    /** Gives up the time that has passed while the queue was paused. */
    void resume(long nowNanos) {
        time.giveUpBefore(nowNanos);
    }

    /** Discards everything that depends on times, because these were wrong. */
    void stepBack() {
        time.clear();
        isReported = false;
        reportedNanos = 0;
        grant = 0;
        heardNanos = 0;
    }

    /**
     * Returns how long before its release a bucket starts to contend: long enough for the next report to be sent, for
     * the grant to arrive, and for the ledger not to have granted the time of the release before.
     */
    private long leadNanos() {
        return (TotalLedger.REPORT_INTERVAL_MS + 4 * TotalLedger.GRANT_INTERVAL_MS + 3 * lagMs) * NANOS_PER_MS;
    }
}
