package dev.weir.shape.total;

import java.util.List;

/**
 * What a partition wants of a queue's total. It replaces the partition's last report.
 *
 * @param partition that wants slots
 * @param limit and {@code perMs}: the total by which it goes, in case the queue was deleted and nobody else knows it
 * @param lagMs how long grants have taken lately from the ledger to here, by queue time on both sides
 * @param waiting how many requests wait in all keys, 0: the partition wants nothing more
 * @param slots that it has left and can use for each of the demands
 * @param coveredUntilNanos when the last slot that it received ends; it knows nothing of later ones
 * @param demands by tier of the first request of each key, higher priorities first
 */
public record SlotReport(
        String queue,
        int partition,
        long limit,
        long perMs,
        long lagMs,
        long waiting,
        long slots,
        long coveredUntilNanos,
        List<Demand> demands) {

    /** More tiers are not reported one by one. */
    public static final int MAX_DEMANDS = 64;

    /**
     * What the keys whose first request is of one tier could release soon, by their own pace.
     *
     * @param keys how many keys, 1 or more
     * @param tokens what they could release
     * @param largestCost the largest cost of a first request
     */
    public record Demand(String tier, long keys, long tokens, long largestCost) {}

    public SlotReport {
        demands = List.copyOf(demands);
    }

    /** How many consecutive slots serve each of the demands, 1 if there are none. */
    public static long largestCost(List<Demand> demands) {
        return demands.stream().mapToLong(Demand::largestCost).max().orElse(1);
    }
}
