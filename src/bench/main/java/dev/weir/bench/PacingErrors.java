package dev.weir.bench;

import dev.weir.bench.candidate.BenchQueues;
import dev.weir.bench.measure.ResultTable;
import dev.weir.event.Release;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.HdrHistogram.Histogram;

/**
 * The differences, early or late, between the times of releases and the times that the rates of their queues imply. The
 * schedule of a queue begins with its last release before the measured time, so a stall affects all later releases.
 */
final class PacingErrors {

    private static final int DIGITS = 3;

    private final BenchQueues queues;
    private final long fromNanos;
    private final long toNanos;
    private final Map<String, Release> origins = new HashMap<>();
    private final Set<String> ended = new HashSet<>();
    private final Histogram histogram = new Histogram(DIGITS);

    /** Creates an instance for the releases that are due in [fromNanos, toNanos), in nanoseconds since the epoch. */
    PacingErrors(BenchQueues queues, long fromNanos, long toNanos) {
        this.queues = queues;
        this.fromNanos = fromNanos;
        this.toNanos = toNanos;
    }

    /** @param atNanos the time of the release that is compared, in nanoseconds since the epoch */
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

    /** Returns whether all queues have released a request that is due at the end or later. */
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
