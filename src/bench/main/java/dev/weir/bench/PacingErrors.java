package dev.weir.bench;

import dev.weir.event.Release;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.HdrHistogram.Histogram;

/**
 * How far releases are from the time at which their queue's rate puts them, early or late. A queue's time begins with
 * its last release before they count; so what a stall takes from the rate is told by all releases after it.
 */
final class PacingErrors {

    private static final int DIGITS = 3;

    private final BenchQueues queues;
    private final long fromNanos;
    private final long toNanos;
    private final Map<String, Release> origins = new HashMap<>();
    private final Set<String> ended = new HashSet<>();
    private final Histogram histogram = new Histogram(DIGITS);

    /** Those count whose time is from then on, and before the end, in nanoseconds since the epoch. */
    PacingErrors(BenchQueues queues, long fromNanos, long toNanos) {
        this.queues = queues;
        this.fromNanos = fromNanos;
        this.toNanos = toNanos;
    }

    /** @param atNanos when it happened, or was to happen */
    void add(Release release, long atNanos) {
        if (release.releaseAtNanos() < fromNanos) {
            origins.put(release.queue(), release);
            return;
        }
        Release origin = origins.computeIfAbsent(release.queue(), queue -> release);
        long intervals = release.sequence() - origin.sequence();
        long dueNanos = origin.releaseAtNanos() + intervals * queues.intervalNanos(release.queue());
        if (dueNanos >= toNanos) {
            ended.add(release.queue());
        } else if (dueNanos >= fromNanos) {
            histogram.recordValue(Math.abs(atNanos - dueNanos));
        }
    }

    /** Whether all queues have got to the end. */
    boolean isComplete() {
        return ended.size() == queues.count();
    }

    ResultTable.Row row(String name) {
        return ResultTable.Row.of(
                name,
                histogram.getValueAtPercentile(50) / 1e6,
                histogram.getValueAtPercentile(99) / 1e6,
                histogram.getMaxValue() / 1e6,
                (double) histogram.getTotalCount());
    }
}
