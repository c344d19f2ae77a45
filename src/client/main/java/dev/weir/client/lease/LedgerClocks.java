package dev.weir.client.lease;

import dev.weir.client.clock.AnswerClock;
import dev.weir.event.StateKey;
import dev.weir.wire.KeyCodec;
import java.util.List;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * Measures for how long ledgers have not answered. This is the circuit for leases: a request does not wait for a lease
 * if the ledger has been silent for longer than the request would wait. The ledgers of one partition are away together.
 * Lease requests are sent whether anybody waits or not, so the first answer ends the silence. Thread-safe.
 */
final class LedgerClocks {

    private volatile List<AnswerClock> byPartition = List.of(new AnswerClock());

    /** @param partitions the number of partitions of the topic of lease requests */
    void setPartitions(int partitions) {
        byPartition = Stream.generate(AnswerClock::new).limit(partitions).toList();
    }

    /** Records that the ledger of a key has answered. */
    void answered(StateKey key, long nowNanos) {
        of(key).answered(nowNanos);
    }

    /** Returns the clock of the ledger of a key. */
    AnswerClock of(StateKey key) {
        List<AnswerClock> clocks = byPartition;
        return clocks.get(BuiltInPartitioner.partitionForKey(KeyCodec.encode(key), clocks.size()));
    }

    /** Returns whether ledgers of some partition are silent. */
    boolean areSilent(long nowNanos) {
        return byPartition.stream().anyMatch(clock -> clock.isSilentFor(0, nowNanos));
    }
}
