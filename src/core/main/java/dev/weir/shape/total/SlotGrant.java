package dev.weir.shape.total;

import java.util.List;

/**
 * Gives a partition slots of a queue's total: the answer of the {@link SlotLedger} to its {@link SlotReport}s.
 *
 * @param partition that may use the slots
 * @param sentAtMs queue time of the ledger when it was sent
 * @param limit and {@code perMs}: the total by which the slots follow each other
 * @param waitingElsewhere how many requests of the queue wait on other partitions, by their last reports
 * @param runs in the order of time; may be empty
 */
public record SlotGrant(
        String queue, int partition, long sentAtMs, long limit, long perMs, long waitingElsewhere, List<SlotRun> runs) {

    public SlotGrant {
        runs = List.copyOf(runs);
    }
}
