package dev.weir.bench.candidate;

import java.util.function.LongFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Equal queues, with definitions that stop them, release as fast as possible, or release at steady rates. */
public record BenchQueues(int count) {

    private static final String ID = "q";
    private static final long NANOS_PER_MS = 1_000_000;

    /** Returns the queue of a request; requests are assigned to the queues in turn. */
    String queueOf(long number) {
        return ID + number % count;
    }

    /** Returns definitions with a rate of one release in 30 days. */
    public String stoppedRules() {
        return rules(number -> "limit: 1, per: 30d");
    }

    /** Returns definitions with a rate of ten million releases a second for each queue. */
    public String unboundedRules() {
        return rules(number -> "limit: 10000000, per: 1s, burst: 1000");
    }

    /** Returns definitions with different intervals, so that the queues do not release at the same times. */
    public String steadyRules() {
        return rules(number -> "limit: 1, per: %dms".formatted(intervalMs(number)));
    }

    private String rules(LongFunction<String> terms) {
        return LongStream.range(0, count)
                .mapToObj(number ->
                        "  - {id: %s, capacity: 10000000, %s}%n".formatted(queueOf(number), terms.apply(number)))
                .collect(Collectors.joining("", "queues:\n", ""));
    }

    /** Returns the interval between the releases of a queue with {@link #steadyRules}. */
    public long intervalNanos(String queue) {
        return intervalMs(Long.parseLong(queue.substring(ID.length()))) * NANOS_PER_MS;
    }

    private long intervalMs(long number) {
        long shortest = shortestMs();
        return shortest + shortest * number / count;
    }

    /** Returns the shortest interval. All queues together release one to two thousand requests a second. */
    public long shortestMs() {
        return Math.max(1, count / 2);
    }

    /** Returns an upper bound of the intervals. */
    public long longestMs() {
        return 2 * shortestMs();
    }
}
