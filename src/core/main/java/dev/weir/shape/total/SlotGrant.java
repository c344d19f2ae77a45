package dev.weir.shape.total;

import java.util.List;

/**
 * Grants slots of a queue's total to a partition: the response of the {@link SlotLedger} to its {@link SlotReport}s.
 *
 * @param queue the id of the queue
 * @param partition the partition that may use the slots
 * @param sentAtMs queue time on the ledger's partition when the grant was sent
 * @param limit with {@code perMs}, the total that determines the length of a slot
 * @param perMs the time for {@code limit}, in milliseconds
 * @param waitingElsewhere the number of requests that wait on other partitions, by their last reports
 * @param runs the slots, in the order of time; can be empty
 */
public record SlotGrant(
        String queue, int partition, long sentAtMs, long limit, long perMs, long waitingElsewhere, List<SlotRun> runs) {

    public SlotGrant {
        runs = List.copyOf(runs);
    }
}
