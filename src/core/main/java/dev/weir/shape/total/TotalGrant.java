package dev.weir.shape.total;

import dev.weir.shape.fair.KeyScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.TotalRate;
import java.util.List;
import java.util.Optional;

/**
 * Grants time of a queue's total to a partition: the response of the {@link TotalLedger} to its {@link TotalReport}s.
 *
 * @param place the queue, and the partition that may use the time
 * @param number the number of its last run among all runs of the ledger; a grant that was sent twice is ignored
 * @param sentAtMs queue time on the ledger's partition when the grant was sent
 * @param rate the rate of the total, which determines the time of a token; empty if it has none
 * @param waitingElsewhere the number of requests that wait on other partitions, by their last reports
 * @param weights of the clients on this partition that have keys on others too
 * @param runs the granted time, in order; can be empty
 * @param inFlight the slots that requests in flight may occupy
 */
public record TotalGrant(
        QueuePartition place,
        long number,
        long sentAtMs,
        Optional<TotalRate> rate,
        long waitingElsewhere,
        List<ClientWeight> weights,
        List<GrantedRun> runs,
        InFlightGrant inFlight) {

    /** The most clients whose weights are sent. */
    public static final int MAX_WEIGHTS = 64;

    /**
     * The share of a client on one partition.
     *
     * @param flow the tier and the client
     * @param weight compared with {@link KeyScheduler#CLIENT_WEIGHT} for a client whose keys are all on this partition,
     *     1 or more
     */
    public record ClientWeight(Flow flow, long weight) {}

    /** Creates a grant of a total that does not bound what is in flight. */
    public TotalGrant(
            QueuePartition place,
            long number,
            long sentAtMs,
            TotalRate rate,
            long waitingElsewhere,
            List<ClientWeight> weights,
            List<GrantedRun> runs) {
        this(place, number, sentAtMs, Optional.of(rate), waitingElsewhere, weights, runs, InFlightGrant.NONE);
    }

    public TotalGrant {
        weights = List.copyOf(weights);
        runs = List.copyOf(runs);
    }
}
