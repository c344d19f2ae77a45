package dev.weir.bench;

import java.util.function.LongFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Queues that are alike, and the rules by which they stand still, or leave as fast as they can, or steadily. */
record BenchQueues(int count) {

    private static final String ID = "q";
    private static final long NANOS_PER_MS = 1_000_000;

    /** The queue of one of many requests, which go to the queues in turn. */
    String queueOf(long number) {
        return ID + number % count;
    }

    String stoppedRules() {
        return rules(number -> "limit: 1, per: 30d");
    }

    /** Ten million a second of each. */
    String unboundedRules() {
        return rules(number -> "limit: 10000000, per: 1s, burst: 1000");
    }

    /** One release in each interval, each queue's a bit longer than the one's before: or all would leave at once. */
    String steadyRules() {
        return rules(number -> "limit: 1, per: %dms".formatted(intervalMs(number)));
    }

    private String rules(LongFunction<String> terms) {
        return LongStream.range(0, count)
                .mapToObj(number ->
                        "  - {id: %s, capacity: 10000000, %s}%n".formatted(queueOf(number), terms.apply(number)))
                .collect(Collectors.joining("", "queues:\n", ""));
    }

    /** From one steady release of a queue to the next. */
    long intervalNanos(String queue) {
        return intervalMs(Long.parseLong(queue.substring(ID.length()))) * NANOS_PER_MS;
    }

    private long intervalMs(long number) {
        long shortest = shortestMs();
        return shortest + shortest * number / count;
    }

    /** So that a thousand or two are released a second, of all queues together. */
    long shortestMs() {
        return Math.max(1, count / 2);
    }

    /** No queue's interval is longer. */
    long longestMs() {
        return 2 * shortestMs();
    }
}
