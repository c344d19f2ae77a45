package dev.weir.shape;

import dev.weir.event.LimitStatus;
import dev.weir.shape.backlog.QueueBacklog;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalReport;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;

/**
 * The releases of a queue with a total on this partition: which bucket releases next and when, which request is evicted
 * if more wait than the total permits, and what the partition reports to the ledger of the total.
 *
 * <pre>
 *   ledger ── grant ──▶ PartitionTotal ── the bucket that is next, at a time ──▶ QueueBuckets runs it: a release
 *      ▲                      │
 *      └──────── report ──────┘
 * </pre>
 */
final class TotalReleases {

    private static final long NANOS_PER_MS = 1_000_000;

    /** The most contending buckets that are considered for unloading. */
    private static final int MAX_CANDIDATES = 16;

    private final QueueBuckets buckets;
    private final QueueBacklog backlog;
    private final PartitionTotal total;
    private final OperatorOrders orders;
    private final EffectLog effects;

    /** @param total the contention of these buckets */
    TotalReleases(QueueBuckets buckets, PartitionTotal total, PartitionContext context) {
        this.buckets = buckets;
        this.total = total;
        backlog = buckets.backlog();
        orders = context.orders();
        effects = context.effects();
    }

    void setRules(QueueRules rules) {
        total.setRules(rules);
    }

    /** Releases the requests whose time has come, and sends a report if one is due. Returns how many steps that took. */
    int release(long nowNanos, int most) {
        int steps = isPaused() ? 1 : releaseDue(nowNanos, most);
        report(nowNanos);
        return steps;
    }

    private boolean isPaused() {
        return orders.pausesQueue(rules().id());
    }

    private int releaseDue(long nowNanos, int most) {
        buckets.loadContending(nowNanos); // after a restart, the hot buckets need not be the first ones
        long horizonNanos = nowNanos + lookAheadNanos();
        int steps = 1;
        for (BucketId id = total.next(horizonNanos, nowNanos);
                id != null && steps < most;
                id = total.next(horizonNanos, nowNanos)) {
            releaseHead(buckets.hot(id), nowNanos);
            steps++;
        }
        return steps;
    }

    private void releaseHead(LeakyBucketQueue bucket, long nowNanos) {
        if (!buckets.mayRelease(bucket)) {
            buckets.update(bucket, nowNanos);
            return;
        }
        long atNanos = total.take(bucket, nowNanos);
        if (atNanos == DueTime.NEVER) {
            buckets.stopContending(bucket, nowNanos);
        } else {
            buckets.run(bucket, nowNanos, due -> due.releaseHead(atNanos, nowNanos));
        }
    }

    /** Sends a report if one is due; if nothing waits, the last one. */
    void report(long nowNanos) {
        TotalReport report = total.report(isPaused(), nowNanos);
        if (report != null) {
            effects.add(new QueueEffect.Sent(new QueueMessage.Reported(report)));
        }
    }

    /** Adds time and slots that this partition was granted. */
    void receive(TotalGrant grant, long nowNanos) {
        total.receive(grant, nowNanos);
    }

    /** Returns when there is something to release or to report; {@link DueTime#NEVER} if nothing waits. */
    long dueNanos(long nowNanos) {
        boolean isPaused = isPaused();
        long nextNanos = isPaused ? DueTime.NEVER : total.nextNanos(nowNanos);
        long dueNanos = nextNanos == DueTime.NEVER ? nextNanos : nextNanos - lookAheadNanos();
        return Math.max(nowNanos, total.dueNanos(dueNanos, isPaused, nowNanos));
    }

    /** Gives up the time that has passed while the queue was paused. */
    void resume(long nowNanos) {
        total.resume(nowNanos);
    }

    /** Discards everything that depends on times, because these were wrong. */
    void stepBack() {
        total.stepBack();
    }

    /** Returns a contending bucket that is not needed soon and can be unloaded; null if there is none. */
    LeakyBucketQueue lastContending() {
        int looks = MAX_CANDIDATES;
        for (BucketId id : total.leastUrgent()) {
            LeakyBucketQueue bucket = buckets.hot(id);
            if (bucket.isSmall()) {
                return bucket;
            }
            if (--looks == 0) {
                break;
            }
        }
        return null;
    }

    /**
     * If more requests wait than the total permits, evicts one of a lower priority than the request that was admitted
     * last. Looks at a bounded number of buckets: those that contend in the lowest tier, hot or cold; the one that
     * admitted it; and the longest keys.
     */
    void evictExcess(BucketId admittedTo, int priority, long nowNanos) {
        if (!total.isFull(backlog.requests() - 1)) {
            return;
        }
        LimitStatus limit = LimitStatus.of("total.capacity", rules().total().capacity());
        for (String tier : total.tiersBelow(priority)) {
            BucketId id = leastUrgent(tier, nowNanos);
            if (id != null && evict(id, priority, limit, nowNanos)) {
                return;
            }
        }
        List<BucketId> others = new ArrayList<>(buckets.longest());
        Collections.sort(others);
        others.add(0, admittedTo);
        others.stream()
                .filter(id -> holdsBelow(buckets.peek(id), priority))
                .findFirst()
                .ifPresent(id -> evict(id, priority, limit, nowNanos));
    }

    /** Returns a bucket that contends in a tier, as soon as it is hot; null if there is none. */
    private BucketId leastUrgent(String tier, long nowNanos) {
        Iterator<BucketId> urgentLast = total.leastUrgentOf(tier).iterator();
        if (urgentLast.hasNext()) {
            return urgentLast.next();
        }
        LeakyBucketQueue loaded = buckets.loadAnyContending(tier, nowNanos);
        return loaded == null ? null : loaded.id();
    }

    private static boolean holdsBelow(LeakyBucketQueue bucket, int priority) {
        return bucket != null && bucket.holdsBelow(priority);
    }

    /** Evicts a request of a lower priority from a bucket. Returns whether it had one. */
    private boolean evict(BucketId id, int priority, LimitStatus limit, long nowNanos) {
        long before = backlog.requests();
        buckets.use(id, false, nowNanos, bucket -> {
            if (bucket.holdsBelow(priority)) {
                bucket.evict(limit, retryAfterMs(nowNanos), nowNanos);
            }
        });
        return backlog.requests() < before;
    }

    /**
     * Returns whether as many requests wait, here and elsewhere, as the total permits, and none of those here has a
     * lower priority than this one.
     */
    boolean isFull(int priority) {
        return total.isFull(backlog.requests()) && total.isFull(backlog.requestsFrom(priority, rules()));
    }

    /** Returns how long until the next release makes room, as far as it is known. */
    long retryAfterMs(long nowNanos) {
        long nextNanos = total.nextReleaseNanos(nowNanos) - lookAheadNanos();
        return Math.max(1, Math.floorDiv(nextNanos, NANOS_PER_MS) + 1 - nowNanos / NANOS_PER_MS);
    }

    private QueueRules rules() {
        return buckets.terms().rules();
    }

    private long lookAheadNanos() {
        return rules().lookAheadMs() * NANOS_PER_MS;
    }
}
