package dev.weir.shape.view;

import dev.weir.shape.command.OrdersView;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The state of a queue at some time: the whole queue, one of its buckets, or its buckets on some partitions.
 *
 * @param rules the rules in force, or the last ones
 * @param isDeleted whether the queue was deleted, or got another key; it admits no more requests and drains by its last
 *     rules
 * @param backlog the waiting requests
 * @param scheduled those of the waiting requests that wait for their time
 * @param inFlight the released requests that have not ended
 * @param buckets the bucket or buckets in which they wait
 * @param orders the commands of operators that are in effect
 */
public record QueueView(
        QueueRules rules,
        boolean isDeleted,
        BacklogView backlog,
        ScheduledView scheduled,
        InFlightView inFlight,
        Buckets buckets,
        OrdersView orders) {

    /** Creates a view of a queue without commands in which nothing is in flight. */
    public QueueView(QueueRules rules, boolean isDeleted, BacklogView backlog, Buckets buckets) {
        this(rules, isDeleted, backlog, ScheduledView.NONE, InFlightView.NONE, buckets, OrdersView.NONE);
    }

    /** Returns this view with the commands that are in effect. */
    public QueueView withOrders(OrdersView others) {
        return new QueueView(rules, isDeleted, backlog, scheduled, inFlight, buckets, others);
    }

    /** Returns this view with what waits for its time. */
    public QueueView withScheduled(ScheduledView others) {
        return new QueueView(rules, isDeleted, backlog, others, inFlight, buckets, orders);
    }

    /** Returns this view with what is in flight. */
    public QueueView withInFlight(InFlightView others) {
        return new QueueView(rules, isDeleted, backlog, scheduled, others, buckets, orders);
    }

    /**
     * The requests of all buckets that wait for their time.
     *
     * @param requests their number; they are among the waiting requests, but not in the figures of a tier, the tokens and
     *     the times of the backlog
     * @param nextAtMs the first time for which one waits, in milliseconds since the epoch; null if none waits, and for
     *     several buckets
     */
    public record ScheduledView(long requests, Long nextAtMs) {

        public static final ScheduledView NONE = new ScheduledView(0, null);

        private ScheduledView plus(ScheduledView others) {
            return new ScheduledView(requests + others.requests, null);
        }
    }

    /**
     * The released requests of all buckets that have not ended.
     *
     * @param requests how many are in flight
     * @param slots the slots that these occupy
     * @param slotsByTier the same by tier, for those that have any; the tier of requests without one is empty
     * @param retries how many wait for another attempt; they are among the waiting requests
     * @param oldestMs how long the oldest request has been in flight, null if none is
     */
    public record InFlightView(long requests, long slots, Map<String, Long> slotsByTier, long retries, Long oldestMs) {

        public static final InFlightView NONE = new InFlightView(0, 0, Map.of(), 0, null);

        public InFlightView {
            slotsByTier = Collections.unmodifiableMap(new TreeMap<>(slotsByTier));
        }

        private InFlightView plus(InFlightView others) {
            Map<String, Long> byTier = new TreeMap<>(slotsByTier);
            others.slotsByTier.forEach((tier, more) -> byTier.merge(tier, more, Long::sum));
            return new InFlightView(
                    requests + others.requests,
                    slots + others.slots,
                    byTier,
                    retries + others.retries,
                    longer(oldestMs, others.oldestMs));
        }
    }

    /**
     * The waiting requests of all buckets.
     *
     * @param requests their number
     * @param tokens their total cost; one request counts for at most 2<sup>35</sup>
     * @param tiers the tiers named by the rules or with waiting requests, higher priorities first, then by name
     * @param oldestWaitMs how long the oldest request has waited, null if none waits
     * @param drainMs how long until all waiting requests have left, in milliseconds, rounded up; 0 if none waits. This
     *     assumes that nothing else arrives, nothing expires and nothing is paused. If the last request costs more than the burst, the
     *     value is too high by the time for the difference. For several buckets, it is the time of the slowest of
     *     {@link SeveralBuckets#longest} or the time that the total takes, whichever is longer. With a total, buckets
     *     wait for each other, so the actual time can be longer
     */
    public record BacklogView(long requests, long tokens, List<TierView> tiers, Long oldestWaitMs, long drainMs) {}

    /** What is shown of a bucket, or of several. */
    public sealed interface Buckets {}

    /**
     * The only bucket of a queue without key fields, or one of a queue with some.
     *
     * @param released the number of releases so far
     * @param nextReleaseAtNanos when the next request is released if nothing else arrives and it does not expire before,
     *     in nanoseconds since the epoch; null if none waits, with a total, if it waits for slots, or if it is paused
     */
    public record OneBucket(long released, Long nextReleaseAtNanos) implements Buckets {}

    /**
     * The buckets of a queue with key fields, at least on some partitions.
     *
     * @param keys the number of buckets in use
     * @param hotKeys the number of these that are on the heap
     * @param longest the buckets with the most waiting requests and those with the longest wait, most waiting first
     */
    public record SeveralBuckets(long keys, long hotKeys, List<KeyView> longest) implements Buckets {

        private SeveralBuckets plus(SeveralBuckets others) {
            List<KeyView> listed = new ArrayList<>(longest);
            listed.addAll(others.longest);
            return new SeveralBuckets(keys + others.keys, hotKeys + others.hotKeys, listed);
        }
    }

    /** The number of waiting requests of one tier; the tier is null for requests without one. */
    public record TierView(String tier, TierShare share, long waiting) {}

    /**
     * One bucket of a queue with key fields, in which requests wait.
     *
     * @param key the values of the key fields, by name, in the order of the names
     * @param waiting the number of waiting requests
     * @param waitingTokens their total cost, counted as in {@link QueueView}
     * @param oldestWaitMs how long the oldest request has waited
     * @param drainMs as in {@link QueueView}
     * @param slots the slots that its requests in flight occupy
     */
    public record KeyView(
            Map<String, String> key, long waiting, long waitingTokens, long oldestWaitMs, long drainMs, long slots) {

        public KeyView {
            key = Collections.unmodifiableMap(new TreeMap<>(key));
        }
    }

    private static final Comparator<TierView> HIGHER_PRIORITY_FIRST =
            Comparator.comparing(tier -> tier.share().priority(), Comparator.reverseOrder());

    /** Returns the view of a queue with key fields of which no key is in use. */
    public static QueueView ofNoBuckets(QueueRules rules) {
        BacklogView empty = new BacklogView(0, 0, tiers(rules, Map.of()), null, 0);
        return new QueueView(rules, false, empty, new SeveralBuckets(0, 0, List.of()));
    }

    /** @param waiting the number of waiting requests by tier; the tier of requests without one is empty */
    public static List<TierView> tiers(QueueRules rules, Map<String, Long> waiting) {
        Set<String> names = new TreeSet<>(rules.tiers().keySet());
        names.addAll(waiting.keySet());
        return names.stream()
                .map(name ->
                        new TierView(name.isEmpty() ? null : name, rules.share(name), waiting.getOrDefault(name, 0L)))
                .sorted(HIGHER_PRIORITY_FIRST) // the sort is stable, so equal priorities stay in the order of names
                .toList();
    }

    /**
     * Returns the view of these buckets together with those of the same queue on other partitions. Its rules are the
     * newer ones or, as long as one of both drains by its last rules, those.
     */
    public QueueView mergedWith(QueueView others) {
        boolean isNewer = others.rules.version() > rules.version();
        QueueView shown = isDeleted == others.isDeleted ? (isNewer ? others : this) : isDeleted ? this : others;
        Map<String, Long> byTier = new HashMap<>();
        for (QueueView view : List.of(this, others)) {
            view.tiers()
                    .forEach(tier -> byTier.merge(tier.tier() == null ? "" : tier.tier(), tier.waiting(), Long::sum));
        }
        SeveralBuckets bucketsOfBoth = several().plus(others.several());
        long tokens = waitingTokens() + others.waitingTokens();
        BacklogView backlogOfBoth = new BacklogView(
                waiting() + others.waiting(),
                tokens,
                tiers(shown.rules, byTier),
                longer(oldestWaitMs(), others.oldestWaitMs()),
                drainMs(shown.rules, tokens, bucketsOfBoth.longest));
        return new QueueView(
                shown.rules,
                shown.isDeleted,
                backlogOfBoth,
                scheduled.plus(others.scheduled),
                inFlight.plus(others.inFlight),
                new SeveralBuckets(bucketsOfBoth.keys, bucketsOfBoth.hotKeys, LongestKeys.of(bucketsOfBoth.longest)),
                orders.mergedWith(others.orders));
    }

    /** Returns the buckets as several of which none is listed if there is only one. */
    private SeveralBuckets several() {
        return buckets instanceof SeveralBuckets several ? several : new SeveralBuckets(1, 1, List.of());
    }

    private static Long longer(Long ms, Long otherMs) {
        return ms == null ? otherMs : otherMs == null ? ms : (Long) Math.max(ms, otherMs);
    }

    /** Returns the time since another, at least 0; null if that is null. */
    public static Long ageMs(Long sinceMs, long nowMs) {
        return sinceMs == null ? null : (Long) Math.max(0, nowMs - sinceMs);
    }

    /** Returns the number of waiting requests. */
    public long waiting() {
        return backlog.requests;
    }

    /** Returns the total cost of the waiting requests. */
    public long waitingTokens() {
        return backlog.tokens;
    }

    /** Returns the tiers named by the rules or with waiting requests. */
    public List<TierView> tiers() {
        return backlog.tiers;
    }

    /** Returns how long the oldest request has waited, null if none waits. */
    public Long oldestWaitMs() {
        return backlog.oldestWaitMs;
    }

    /** Returns how long until all waiting requests have left, in milliseconds. */
    public long drainMs() {
        return backlog.drainMs;
    }

    /** Returns whether the view is of several buckets, of a queue with key fields. */
    public boolean hasSeveralBuckets() {
        return buckets instanceof SeveralBuckets;
    }

    /** Returns the keys with the most waiting requests or the longest wait; empty if there is only one bucket. */
    public List<KeyView> longest() {
        return several().longest;
    }

    /**
     * Returns how long all keys take to drain: as long as the slowest known key or, if longer, as all of them by
     * the total.
     */
    public static long drainMs(QueueRules rules, long waitingTokens, List<KeyView> keys) {
        long slowestMs = keys.stream().mapToLong(KeyView::drainMs).max().orElse(0);
        return rules.total() == null
                ? slowestMs
                : Math.max(slowestMs, rules.total().drainMs(waitingTokens));
    }
}
