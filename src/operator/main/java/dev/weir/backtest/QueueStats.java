package dev.weir.backtest;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** Counts what happened to the requests of one queue, by tier. */
public final class QueueStats {

    private static final double NANOS_PER_SECOND = 1e9;
    private static final long NANOS_PER_MS = 1_000_000;
    private static final long NANOS_PER_MICRO = 1_000;

    private final Map<String, Counts> byTier = new TreeMap<>();
    private final Counts all = new Counts();
    private long tokens;
    private long lastTokens;
    private long firstNanos;
    private long lastNanos;
    private final Spacing spacing = new Spacing();

    /** The time between the releases of each key. */
    public static final class Spacing {
        private static final int MAX_KEYS = 10_000;

        private final Map<Map<String, String>, Release> last = new HashMap<>();
        private final Histogram micros = new Histogram(3);

        /** Returns the number of keys with a release, up to a bound. */
        public int keys() {
            return last.size();
        }

        /**
         * Returns the number of measured gaps: releases whose request was waiting when the previous one of its key
         * was released, which had a cost.
         */
        public long count() {
            return micros.getTotalCount();
        }

        /** Returns a percentile of the gaps, in milliseconds per token of the previous release. */
        public double ms(double percentile) {
            return micros.getValueAtPercentile(percentile) / 1e3;
        }

        private void add(Release release) {
            Release before = last.get(release.key());
            if (before == null && last.size() >= MAX_KEYS) {
                return;
            }
            last.put(release.key(), release);
            if (before != null && before.cost() > 0) {
                long gapNanos = release.releaseAtNanos() - before.releaseAtNanos();
                boolean isNext = release.sequence() == before.sequence() + 1;
                if (isNext && release.waitMs() * NANOS_PER_MS > gapNanos) {
                    micros.recordValue(Math.max(0, gapNanos / before.cost() / NANOS_PER_MICRO));
                }
            }
        }
    }

    /** The number of requests that entered the queue, and how their waits ended. */
    public static final class Counts {
        private final Histogram waitsMs = new Histogram(3);
        private long queued;
        private long refused;
        private long expired;
        private long evicted;
        private long withdrawn;

        /** Returns the number of requests that entered the queue. */
        public long queued() {
            return queued;
        }

        public long released() {
            return waitsMs.getTotalCount();
        }

        /** Returns the number of requests that the queue denied. */
        public long refused() {
            return refused;
        }

        public long expired() {
            return expired;
        }

        public long evicted() {
            return evicted;
        }

        public long withdrawn() {
            return withdrawn;
        }

        /** Returns a percentile of the waits of released requests, in milliseconds; 0 if none was released. */
        public long waitMs(double percentile) {
            return waitsMs.getValueAtPercentile(percentile);
        }

        private void add(Decision decision) {
            queued += decision.outcome() == Outcome.QUEUED ? 1 : 0;
            expired += decision.outcome() == Outcome.EXPIRED ? 1 : 0;
            evicted += decision.reason() == Reason.EVICTED ? 1 : 0;
            withdrawn += decision.endsWait() && decision.reason() == Reason.CANCELLED ? 1 : 0;
            refused += decision.outcome() == Outcome.DENIED && !decision.endsWait() ? 1 : 0;
        }
    }

    void add(String tier, Decision decision) {
        all.add(decision);
        counts(tier).add(decision);
    }

    void add(Release release) {
        all.waitsMs.recordValue(release.waitMs());
        counts(release.tier()).waitsMs.recordValue(release.waitMs());
        firstNanos = all.released() == 1 ? release.releaseAtNanos() : Math.min(firstNanos, release.releaseAtNanos());
        if (release.releaseAtNanos() >= lastNanos) {
            lastNanos = release.releaseAtNanos();
            lastTokens = release.cost();
        }
        tokens += release.cost();
        spacing.add(release);
    }

    public Spacing spacing() {
        return spacing;
    }

    public Counts all() {
        return all;
    }

    public Map<String, Counts> byTier() {
        return byTier;
    }

    /** Returns the tokens per second from the first release to the last; 0 if there are fewer than two. */
    public double tokensPerSecond() {
        return lastNanos == firstNanos ? 0 : (tokens - lastTokens) * NANOS_PER_SECOND / (lastNanos - firstNanos);
    }

    private Counts counts(String tier) {
        return byTier.computeIfAbsent(DecisionStats.plan(tier, byTier), t -> new Counts());
    }
}
