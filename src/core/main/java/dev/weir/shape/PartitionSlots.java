package dev.weir.shape;

import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.QueueTotal;
import dev.weir.shape.total.LeasedSlots;
import dev.weir.shape.total.SlotContenders;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotLedger;
import dev.weir.shape.total.SlotReport;
import java.util.List;

/**
 * One partition's part in the total of a queue: the buckets that contend for slots, the slots that the partition holds,
 * and the reports to the {@link SlotLedger}.
 */
final class PartitionSlots {

    private static final long NANOS_PER_MS = 1_000_000;

    /** If grants arrive sooner, the lag decreases by this part of itself with each report. */
    private static final int LAG_DECAY_DIVISOR = 16;

    private final String queue;
    private final int partition;
    private final SlotContenders contenders;
    private final LeasedSlots slots = new LeasedSlots();
    private QueueTotal total;
    private long lagMs;
    private long shortestGrantMs = Long.MAX_VALUE; // the shortest delay of a grant since the last report
    private long waitingElsewhere;
    private boolean isReported;
    private long reportedNanos;

    /** @param lagMs how long grants take to arrive, as far as known */
    PartitionSlots(QueueRules rules, int partition, long lagMs) {
        this.lagMs = lagMs;
        this.partition = partition;
        queue = rules.id();
        total = rules.total();
        contenders = new SlotContenders(rules.tiers());
    }

    void setRules(QueueRules rules) {
        total = rules.total();
        contenders.setShares(rules.tiers());
    }

    /** Returns whether this many requests on this partition, with those elsewhere, reach the capacity of the total. */
    boolean isFull(long waitingHere) {
        return waitingHere + waitingElsewhere >= total.capacity();
    }

    /**
     * Updates the entry of a bucket that has changed.
     *
     * @return when the bucket has something to do if it gets no slot before; {@link Long#MAX_VALUE} if nothing
     */
    long update(LeakyBucketQueue bucket) {
        if (bucket.isEmpty()) {
            contenders.remove(bucket.id());
            return bucket.idleNanos();
        }
        long turnNanos = bucket.headTurnNanos();
        if (turnNanos == Long.MAX_VALUE || turnNanos - leadNanos() > bucket.nowNanos()) {
            contenders.remove(bucket.id());
            long leadsNanos = turnNanos == Long.MAX_VALUE ? turnNanos : turnNanos - leadNanos();
            return Math.min(leadsNanos, bucket.nextExpiryNanos());
        }
        contenders.put(bucket.id(), bucket.headTier(), turnNanos, bucket.headCost(), bucket.tokensWithin(leadNanos()));
        return bucket.nextExpiryNanos();
    }

    /** Returns the tier in which a bucket contends for a slot; null if it does not contend. */
    String contendingTier(BucketId bucket) {
        return contenders.tier(bucket);
    }

    /**
     * Returns when the first contending bucket of a tier may release by its own pace; {@link Long#MAX_VALUE} if there
     * is none.
     */
    long firstNanos(String tier) {
        return contenders.firstNanos(tier);
    }

    /** Returns buckets that contend but are not needed soon, the least urgent first. */
    Iterable<BucketId> leastUrgent() {
        return contenders.leastUrgent();
    }

    /** Records how many buckets of a tier contend that are not on the heap. */
    void setColdCount(String tier, long number) {
        contenders.setColdCount(tier, number);
    }

    void remove(BucketId bucket) {
        contenders.remove(bucket);
    }

    /**
     * Returns the bucket that releases next: chosen among those whose own pace permits a release until the next slot
     * or, if there are none, those whose pace permits it first. Null if none contends, or if there is no slot.
     */
    BucketId first(long nowNanos) {
        long slotNanos = slots.firstNanos(1, Long.MIN_VALUE, nowNanos);
        return slotNanos == Long.MAX_VALUE ? null : contenders.first(Math.max(slotNanos, contenders.firstNanos()));
    }

    /**
     * Returns when a request can be released that may not be released before {@code fromNanos}; {@link Long#MAX_VALUE}
     * if there is no slot for it yet.
     */
    long slotNanos(long cost, long fromNanos, long nowNanos) {
        return slots.firstNanos(cost, fromNanos, nowNanos);
    }

    /**
     * Returns when the partition releases its next request, at the earliest: by the pace of the buckets and by the slots
     * that it holds. If it holds none for a request, that is estimated: as long as the largest first request takes by
     * the total, and at least until slots are granted after the next report. Changes nothing.
     */
    long nextReleaseNanos(long nowNanos) {
        long paceNanos = Math.max(nowNanos, contenders.firstNanos());
        long cost = SlotReport.largestCost(contenders.demands());
        long atNanos = paceNanos == Long.MAX_VALUE ? paceNanos : slots.firstNanos(cost, paceNanos, nowNanos);
        long estimateMs = Math.max(SlotLedger.REPORT_INTERVAL_MS, total.drainMs(cost));
        return atNanos < Long.MAX_VALUE ? atNanos : nowNanos + estimateMs * NANOS_PER_MS;
    }

    /**
     * Uses the slot that {@link #slotNanos} returned, for the first request of the bucket that {@link #first} returned.
     */
    void take(BucketId bucket, long cost, long fromNanos, long nowNanos) {
        slots.take(cost, fromNanos, nowNanos);
        contenders.served(bucket);
    }

    /** Adds granted slots. */
    void receive(SlotGrant grant, long nowNanos) {
        slots.add(grant);
        waitingElsewhere = grant.waitingElsewhere();
        shortestGrantMs = Math.min(shortestGrantMs, Math.max(0, nowNanos / NANOS_PER_MS - grant.sentAtMs()));
    }

    /**
     * Updates the lag by the grant with the shortest delay. After a pause, many grants arrive at once, and only the
     * last of them shows how long grants take now.
     */
    private void measureLag() {
        if (shortestGrantMs < Long.MAX_VALUE) {
            long lowerMs = lagMs - (lagMs + LAG_DECAY_DIVISOR - 1) / LAG_DECAY_DIVISOR;
            lagMs = Math.min(SlotLedger.MAX_LAG_MS, Math.max(shortestGrantMs, lowerMs));
            shortestGrantMs = Long.MAX_VALUE;
        }
    }

    /** Returns the report to send now, null if none is due. */
    SlotReport report(long waiting, long nowNanos) {
        boolean isLast = waiting == 0;
        if (isLast ? !isReported : nowNanos < reportDueNanos()) {
            return null;
        }
        measureLag();
        isReported = !isLast;
        reportedNanos = nowNanos;
        List<SlotReport.Demand> demands = contenders.demands();
        return new SlotReport(
                queue,
                partition,
                total.limit(),
                total.perMs(),
                lagMs,
                waiting,
                slots.left(SlotReport.largestCost(demands), nowNanos),
                slots.coveredUntilNanos(),
                demands);
    }

    private long reportDueNanos() {
        return isReported ? reportedNanos + SlotLedger.REPORT_INTERVAL_MS * NANOS_PER_MS : Long.MIN_VALUE;
    }

    /**
     * Returns when there is something to release or to report; {@link Long#MAX_VALUE} if nothing waits.
     *
     * @param slotDueNanos when the first contender could be released
     */
    long dueNanos(long waiting, long slotDueNanos) {
        return waiting == 0 && !isReported ? Long.MAX_VALUE : Math.min(slotDueNanos, reportDueNanos());
    }

    /** Discards everything that depends on times, because these were wrong. */
    void stepBack() {
        slots.clear();
        isReported = false;
    }

    /**
     * Returns how long before its release a bucket starts to contend: long enough for the next report to be sent and
     * for the grant to be made and to arrive.
     */
    private long leadNanos() {
        return (SlotLedger.REPORT_INTERVAL_MS + 2 * SlotLedger.GRANT_INTERVAL_MS + 2 * lagMs) * NANOS_PER_MS;
    }
}
