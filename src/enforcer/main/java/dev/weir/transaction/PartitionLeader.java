package dev.weir.transaction;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;

/** Looks up the broker that leads a partition. */
final class PartitionLeader {

    private static final int TIMEOUT_SECONDS = 10;

    private PartitionLeader() {}

    /**
     * Returns the leader of a partition.
     *
     * @throws KafkaException if it has none, or no broker responds
     */
    static Node of(Admin admin, TopicPartition partition) {
        try {
            Node leader = admin
                    .describeTopics(List.of(partition.topic()))
                    .topicNameValues()
                    .get(partition.topic())
                    .get(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                    .partitions()
                    .stream()
                    .filter(one -> one.partition() == partition.partition())
                    .map(one -> one.leader() == null ? Node.noNode() : one.leader())
                    .findFirst()
                    .orElse(Node.noNode());
            if (leader.isEmpty()) {
                throw new KafkaException(partition + " has no leader");
            }
            return leader;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof KafkaException refusal ? refusal : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new KafkaException("no broker described " + partition.topic() + " in time", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new KafkaException("interrupted", e);
        }
    }
}
