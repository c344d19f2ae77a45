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
 * What a partition does about the total of one queue: which of its buckets are to release next, which slots it has for
 * them, and what it reports to the {@link SlotLedger}.
 */
final class PartitionSlots {

    private static final long NANOS_PER_MS = 1_000_000;

    /** Of the lag, this part is forgotten with each report if grants came sooner. */
    private static final int LAG_DECAY_DIVISOR = 16;

    private final String queue;
    private final int partition;
    private final SlotContenders contenders;
    private final LeasedSlots slots = new LeasedSlots();
    private QueueTotal total;
    private long lagMs;
    private long shortestGrantMs = Long.MAX_VALUE; // that a grant has taken since the last report
    private long waitingElsewhere;
    private boolean isReported;
    private long reportedNanos;

    /** @param lagMs how long grants take, as far as is known */
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

    /** Whether so many requests on this partition, with those elsewhere, are all that may wait. */
    boolean isFull(long waitingHere) {
        return waitingHere + waitingElsewhere >= total.capacity();
    }

    /**
     * Updates the place of a bucket that has changed.
     *
     * @return when the bucket has something to do if no slot comes before; {@link Long#MAX_VALUE} if it has nothing
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

    /** The tier for which a bucket is among those that are to release next; null if it is not among them. */
    String contendingTier(BucketId bucket) {
        return contenders.tier(bucket);
    }

    /** When the first bucket of a tier may leave by its own pace; {@link Long#MAX_VALUE} if none contends in it. */
    long firstNanos(String tier) {
        return contenders.firstNanos(tier);
    }

    /** Buckets that contend and are not needed soon, those that are needed last first. */
    Iterable<BucketId> leastUrgent() {
        return contenders.leastUrgent();
    }

    /** Records how many more buckets of a tier contend that are not on the heap. */
    void setColdCount(String tier, long number) {
        contenders.setColdCount(tier, number);
    }

    void forget(BucketId bucket) {
        contenders.remove(bucket);
    }

    /**
     * The bucket that is to release next: of those whose own pace lets them until the next slot, or of those whose pace
     * lets them first. Null if none contends, or there is no slot.
     */
    BucketId first(long nowNanos) {
        long slotNanos = slots.firstNanos(1, Long.MIN_VALUE, nowNanos);
        return slotNanos == Long.MAX_VALUE ? null : contenders.first(Math.max(slotNanos, contenders.firstNanos()));
    }

    /** When a request can leave that may not before a time; {@link Long#MAX_VALUE} if there is no slot for it yet. */
    long slotNanos(long cost, long fromNanos, long nowNanos) {
        return slots.firstNanos(cost, fromNanos, nowNanos);
    }

    /** Uses the slot that {@link #slotNanos} has found, for the first request of the bucket that is {@link #first}. */
    void take(BucketId bucket, long cost, long fromNanos, long nowNanos) {
        slots.take(cost, fromNanos, nowNanos);
        contenders.served(bucket);
    }

    /** Takes slots that were given. */
    void receive(SlotGrant grant, long nowNanos) {
        slots.add(grant);
        waitingElsewhere = grant.waitingElsewhere();
        shortestGrantMs = Math.min(shortestGrantMs, Math.max(0, nowNanos / NANOS_PER_MS - grant.sentAtMs()));
    }

    /**
     * Updates the lag by the grant that came soonest. After a pause many grants come at once, and only the last of them
     * tells how long grants take now.
     */
    private void measureLag() {
        if (shortestGrantMs < Long.MAX_VALUE) {
            long lowerMs = lagMs - (lagMs + LAG_DECAY_DIVISOR - 1) / LAG_DECAY_DIVISOR;
            lagMs = Math.min(SlotLedger.MAX_LAG_MS, Math.max(shortestGrantMs, lowerMs));
            shortestGrantMs = Long.MAX_VALUE;
        }
    }

    /** The report that is to be sent now, null if none is. */
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
     * When there is something to release or to report; {@link Long#MAX_VALUE} if nothing waits.
     *
     * @param slotDueNanos when the first of the contenders could leave
     */
    long dueNanos(long waiting, long slotDueNanos) {
        return waiting == 0 && !isReported ? Long.MAX_VALUE : Math.min(slotDueNanos, reportDueNanos());
    }

    /** Forgets what it knows of times, because they were wrong. */
    void stepBack() {
        slots.clear();
        isReported = false;
    }

    /**
     * How long before a bucket may release it asks for a slot: until its report is sent, and the grant is made and
     * arrives.
     */
    private long leadNanos() {
        return (SlotLedger.REPORT_INTERVAL_MS + 2 * SlotLedger.GRANT_INTERVAL_MS + 2 * lagMs) * NANOS_PER_MS;
    }
}
