package dev.weir.takeover;

import java.util.Map;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.TopicPartition;

/**
 * What the brokers know of an instance at a moment.
 *
 * @param producers the last transaction of each of its producers, by transactional id
 * @param committed up to where it has processed its partitions
 * @param ends the ends of its partitions of requests
 * @param isRebalancing whether one of its groups is rebalancing, so that nobody may commit
 */
public record PeerActivity(
        Map<String, TransactionDescription> producers,
        Map<TopicPartition, Long> committed,
        Map<TopicPartition, Long> ends,
        boolean isRebalancing) {

    /** Returns whether the instance has committed nothing since then. */
    boolean isSilentSince(PeerActivity before) {
        return producers.equals(before.producers) && committed.equals(before.committed);
    }

    /** Returns whether the instance should have committed since then: a transaction was open, or requests waited. */
    boolean isDueSince(PeerActivity before) {
        boolean hadOpen =
                before.producers.values().stream().anyMatch(producer -> producer.state() == TransactionState.ONGOING);
        boolean hadRequests = before.ends.entrySet().stream()
                .anyMatch(end -> end.getValue() > committed.getOrDefault(end.getKey(), 0L));
        return !before.isRebalancing && (hadOpen || hadRequests);
    }
}
