package dev.weir.shape;

import dev.weir.shape.backlog.QueueRules;
import dev.weir.shape.backlog.TierShare;
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
 * A queue as it is at some time: all of it, one bucket of several, or those of its buckets that are on some partitions.
 *
 * @param rules those in force, or the last that were
 * @param isDeleted it takes no more, and drains by its last rules
 * @param waiting how many requests wait
 * @param waitingTokens what they cost together; one counts for 2<sup>35</sup> at most
 * @param tiers those that are named by the rules or that somebody waits in, higher priorities first, then by name
 * @param oldestWaitMs how long the oldest of them has waited, null if none waits
 * @param released how many it has released; null if it has several buckets
 * @param nextReleaseAtNanos when the next one leaves if nothing else comes and it does not expire before, ns since the
 *     epoch; null if nobody waits, or if it has several buckets
 * @param keys how many buckets are in use, null if there is one only
 * @param hotKeys how many of these are on the heap, null if there is one only
 * @param drainMs how long it takes until all that waits has left if nothing else comes and nothing expires, rounded up;
 *     0 if nobody waits. Too long by what the last one to leave costs more than the burst. If it has several buckets,
 *     that of the slowest of {@code longest}, or by the total, if that takes longer
 * @param longest the buckets with the most waiting requests and those with the longest wait, most waiting first; empty
 *     if there is one only
 */
public record QueueView(
        QueueRules rules,
        boolean isDeleted,
        long waiting,
        long waitingTokens,
        List<TierView> tiers,
        Long oldestWaitMs,
        Long released,
        Long nextReleaseAtNanos,
        Long keys,
        Long hotKeys,
        long drainMs,
        List<KeyView> longest) {

    /** A view of a single bucket. */
    public QueueView(
            QueueRules rules,
            boolean isDeleted,
            long waiting,
            long waitingTokens,
            List<TierView> tiers,
            Long oldestWaitMs,
            Long released,
            Long nextReleaseAtNanos,
            long drainMs) {
        this(
                rules,
                isDeleted,
                waiting,
                waitingTokens,
                tiers,
                oldestWaitMs,
                released,
                nextReleaseAtNanos,
                null,
                null,
                drainMs,
                List.of());
    }

    /** How many requests of one tier wait; the tier is null for those that have none. */
    public record TierView(String tier, TierShare share, long waiting) {}

    /**
     * One bucket of a queue with key fields, in which requests wait.
     *
     * @param key the values of its key fields, by name, in the order of the names
     * @param waitingTokens what those that wait cost together, as far as it counts
     * @param oldestWaitMs how long the oldest of them has waited
     * @param drainMs as that of a {@link QueueView}
     */
    public record KeyView(Map<String, String> key, long waiting, long waitingTokens, long oldestWaitMs, long drainMs) {

        public KeyView {
            key = Collections.unmodifiableMap(new TreeMap<>(key));
        }
    }

    private static final Comparator<TierView> HIGHER_PRIORITY_FIRST =
            Comparator.comparing(tier -> tier.share().priority(), Comparator.reverseOrder());

    /** A queue with key fields of which no key is in use. */
    public static QueueView ofNoBuckets(QueueRules rules) {
        return new QueueView(rules, false, 0, 0, tiers(rules, Map.of()), null, null, null, 0L, 0L, 0, List.of());
    }

    /** @param waiting how many of each tier wait; a request without a tier has the empty one */
    static List<TierView> tiers(QueueRules rules, Map<String, Long> waiting) {
        Set<String> names = new TreeSet<>(rules.tiers().keySet());
        names.addAll(waiting.keySet());
        return names.stream()
                .map(name ->
                        new TierView(name.isEmpty() ? null : name, rules.share(name), waiting.getOrDefault(name, 0L)))
                .sorted(HIGHER_PRIORITY_FIRST) // and then by name, as they are
                .toList();
    }

    /** Buckets of the same queue on other partitions, and these. */
    public QueueView mergedWith(QueueView others) {
        QueueView newer = others.rules.version() > rules.version() ? others : this;
        Map<String, Long> byTier = new HashMap<>();
        for (QueueView view : List.of(this, others)) {
            view.tiers.forEach(tier -> byTier.merge(tier.tier() == null ? "" : tier.tier(), tier.waiting(), Long::sum));
        }
        List<KeyView> keysOfBoth = new ArrayList<>(longest);
        keysOfBoth.addAll(others.longest);
        return new QueueView(
                newer.rules,
                newer.isDeleted,
                waiting + others.waiting,
                waitingTokens + others.waitingTokens,
                tiers(newer.rules, byTier),
                oldestWaitMs == null
                        ? others.oldestWaitMs
                        : others.oldestWaitMs == null
                                ? oldestWaitMs
                                : (Long) Math.max(oldestWaitMs, others.oldestWaitMs),
                null,
                null,
                count(keys) + count(others.keys),
                count(hotKeys) + count(others.hotKeys),
                drainMs(newer.rules, waitingTokens + others.waitingTokens, keysOfBoth),
                LongestKeys.of(keysOfBoth));
    }

    /**
     * How long it takes until all keys have left: the slowest of those that are known, and by the total, all of them.
     */
    static long drainMs(QueueRules rules, long waitingTokens, List<KeyView> keys) {
        long slowestMs = keys.stream().mapToLong(KeyView::drainMs).max().orElse(0);
        return rules.total() == null
                ? slowestMs
                : Math.max(slowestMs, rules.total().drainMs(waitingTokens));
    }

    private static long count(Long keys) {
        return keys == null ? 1 : keys;
    }
}
