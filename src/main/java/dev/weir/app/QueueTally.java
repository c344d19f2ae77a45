package dev.weir.app;

import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Reason;
import dev.weir.shape.Release;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** Counts what became of the requests of one queue, by tier. */
public final class QueueTally {

    private static final double NANOS_PER_SECOND = 1e9;

    private final Map<String, Counts> byTier = new TreeMap<>();
    private final Counts all = new Counts();
    private long tokens;
    private long lastTokens;
    private long firstNanos;
    private long lastNanos;

    /** How many were let in, and how their waits ended. */
    public static final class Counts {
        private final Histogram waitsMs = new Histogram(3);
        private long queued;
        private long refused;
        private long expired;
        private long evicted;
        private long withdrawn;

        /** Those that were let in. */
        public long queued() {
            return queued;
        }

        public long released() {
            return waitsMs.getTotalCount();
        }

        /** Those that were not let in. */
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

        /** What so many percent of the released have waited at most, 0 if none was released. */
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
    }

    public Counts all() {
        return all;
    }

    public Map<String, Counts> byTier() {
        return byTier;
    }

    /** Tokens a second from the first release to the last, 0 if there were not two. */
    public double tokensPerSecond() {
        return lastNanos == firstNanos ? 0 : (tokens - lastTokens) * NANOS_PER_SECOND / (lastNanos - firstNanos);
    }

    private Counts counts(String tier) {
        return byTier.computeIfAbsent(Tally.plan(tier, byTier), t -> new Counts());
    }
}
