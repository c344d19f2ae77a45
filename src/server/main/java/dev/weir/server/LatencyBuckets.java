package dev.weir.server;

import java.util.List;

/** The bucket bounds of all histograms of latencies, so that those of different processes can be added. */
public final class LatencyBuckets {

    private static final double MS_PER_SECOND = 1_000;

    /** The inclusive upper bounds in milliseconds, ascending. */
    public static final List<Long> MS =
            List.of(1L, 2L, 5L, 10L, 20L, 50L, 100L, 200L, 500L, 1_000L, 2_000L, 5_000L, 10_000L, 30_000L, 60_000L);

    private LatencyBuckets() {}

    /** Returns the inclusive upper bounds in seconds, ascending. */
    public static double[] seconds() {
        return MS.stream().mapToDouble(ms -> ms / MS_PER_SECOND).toArray();
    }
}
