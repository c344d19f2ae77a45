package dev.weir.shape.total;

import java.util.List;

/**
 * The demand of a partition for the total of a queue. It replaces the partition's last report.
 *
 * @param queue the id of the queue
 * @param partition the partition that needs slots
 * @param limit with {@code perMs}, the total by the partition's rules; the ledger uses it if the queue was deleted
 * @param perMs the time for {@code limit}, in milliseconds
 * @param lagMs how long grants have recently taken from the ledger to the partition, by queue time on both sides
 * @param waiting the number of requests that wait in all keys; 0 if the partition needs nothing more
 * @param slots the slots that the partition has left and can use for each of the demands
 * @param coveredUntilNanos the end of the last slot that it received; later grants have not arrived
 * @param demands the demands by tier of the first request of each key, higher priorities first
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

    /** The most tiers that are reported separately. */
    public static final int MAX_DEMANDS = 64;

    /**
     * What the keys whose first request is of one tier could release soon by their own pace.
     *
     * @param tier the tier
     * @param keys the number of keys, 1 or more
     * @param tokens the tokens that they could release
     * @param largestCost the largest cost of a first request
     */
    public record Demand(String tier, long keys, long tokens, long largestCost) {}

    public SlotReport {
        demands = List.copyOf(demands);
    }

    /** Returns how many consecutive slots suffice for each of the demands; 1 if there are none. */
    public static long largestCost(List<Demand> demands) {
        return demands.stream().mapToLong(Demand::largestCost).max().orElse(1);
    }
}
