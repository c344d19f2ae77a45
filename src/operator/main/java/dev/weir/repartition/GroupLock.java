package dev.weir.repartition;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InconsistentGroupProtocolException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Keeps the instances out of the consumer group of the deciding application. It is a member of the group itself, with
 * another protocol than theirs, and the brokers accept only members that have a protocol in common.
 */
final class GroupLock implements AutoCloseable {

    /** How long stopped instances that did not leave the group, and another repartitioning, are waited for. */
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static final Duration POLL = Duration.ofMillis(100);

    /** The time between two attempts: the broker answers at once, and Kafka logs each rejection as an error. */
    private static final Duration RETRY = Duration.ofSeconds(1);

    private final KafkaConsumer<byte[], byte[]> member;

    private GroupLock(KafkaConsumer<byte[], byte[]> member) {
        this.member = member;
    }

    /** @throws UnreachableException if instances are running */
    static GroupLock acquire(WeirConfig config) {
        String group = config.applicationId();
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
        settings.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, RangeAssignor.class.getName());
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, Integer.MAX_VALUE); // it polls only to join
        settings.remove(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
        KafkaConsumer<byte[], byte[]> member =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        try {
            join(member, Topics.of(config), group);
            return new GroupLock(member);
        } catch (RuntimeException e) {
            member.close();
            throw e;
        }
    }

    private static void join(KafkaConsumer<byte[], byte[]> member, Topics topics, String group) {
        // The topics of the instances: brokers may delete old offsets of topics to which no member subscribes.
        List<String> read = List.of(topics.requests(), topics.routedRequests(), topics.leaseResponses());
        member.subscribe(read, new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                member.pause(partitions); // nothing is read
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                // nothing to do
            }
        });
        long deadlineNanos = System.nanoTime() + PATIENCE.toNanos();
        while (member.assignment().isEmpty()) {
            boolean isLate = System.nanoTime() - deadlineNanos > 0;
            try {
                member.poll(POLL);
            } catch (InconsistentGroupProtocolException e) {
                if (isLate) {
                    throw new UnreachableException(
                            "instances are running: the group " + group + " has members; stop all instances first", e);
                }
                LockSupport.parkNanos(RETRY.toNanos());
            } catch (KafkaException e) {
                throw new UnreachableException(
                        "cannot join the group " + group + ": " + UnreachableException.causeMessage(e), e);
            }
            if (isLate && member.assignment().isEmpty()) {
                throw new UnreachableException(
                        "cannot join the group " + group + ": another `weir repartition` is running", null);
            }
        }
    }

    /** Returns what a transaction needs to commit offsets of the group. */
    ConsumerGroupMetadata member() {
        return member.groupMetadata();
    }

    @Override
    public void close() {
        member.close();
    }
}
