package dev.weir.watch;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.utils.Utils;

/**
 * The partitions that have the committed offsets of the enforcer's groups. A task does not start while a transaction
 * there is open.
 */
final class GroupOffsets {

    private static final String TOPIC = "__consumer_offsets";
    private static final int TIMEOUT_SECONDS = 10;

    private final Admin admin;
    private final List<String> groups;
    private final Set<TopicPartition> partitions = new HashSet<>();
    private boolean isRefused;

    GroupOffsets(Admin admin, WeirConfig config) {
        this.admin = admin;
        groups = List.of(config.applicationId(), KafkaSettings.shapingId(config));
    }

    static boolean isOne(TopicPartition partition) {
        return partition.topic().equals(TOPIC);
    }

    /** Returns the partitions; empty if the topic does not exist yet, or this user may not describe it. */
    Set<TopicPartition> partitions() {
        if (partitions.isEmpty() && !isRefused) {
            find();
        }
        return partitions;
    }

    private void find() {
        try {
            int count = admin.describeTopics(List.of(TOPIC))
                    .topicNameValues()
                    .get(TOPIC)
                    .get(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                    .partitions()
                    .size();
            groups.forEach(group -> partitions.add(new TopicPartition(TOPIC, Utils.abs(group.hashCode()) % count)));
        } catch (ExecutionException e) {
            isRefused = e.getCause() instanceof AuthorizationException;
        } catch (TimeoutException e) {
            throw new KafkaException("no response within " + TIMEOUT_SECONDS + "s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new KafkaException("interrupted", e);
        }
    }
}
