package dev.weir.app;

import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.topology.Topics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The policies topic, as operators see it: what is applied, and applying more.
 *
 * <p>No policy in force names a queue that is not: records are written in the order queues, policies, deleted policies,
 * deleted queues, and what would leave a policy without its queue is refused before anything is written.
 */
public final class PolicyTopic {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final WeirConfig config;
    private final String topic;
    private final PolicyAvro avro = new PolicyAvro();

    /** What applying a definition did. */
    public enum Effect {
        ADDED,
        CHANGED,
        UNCHANGED,
        DELETED
    }

    /**
     * A policy or queue and what was done with it.
     *
     * @param version the version that is in force now, or was last
     * @param before the definition that was in force as JSON, null if there was none
     * @param after the definition that is in force now as JSON, null if there is none
     */
    public record Change(PolicyAvro.Kind kind, String id, Effect effect, long version, String before, String after) {}

    public PolicyTopic(WeirConfig config) {
        this.config = config;
        this.topic = Topics.of(config.topics().prefix()).policies();
    }

    /**
     * What is applied: policies, then queues, each by id.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PolicyAvro.Applied> read() {
        return readAll().values().stream()
                .filter(applied -> !applied.isDeleted())
                .toList();
    }

    /**
     * The ids of the queues that are applied.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public Set<String> queues() {
        return read().stream()
                .filter(applied -> applied.kind() == PolicyAvro.Kind.QUEUE)
                .map(PolicyAvro.Applied::id)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** What is on the topic, by key, with what was deleted. */
    private Map<String, PolicyAvro.Applied> readAll() {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        Map<String, PolicyAvro.Applied> applied = new TreeMap<>();
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<String, byte[]> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            if (consumer.partitionsFor(topic).isEmpty()) {
                throw UnreachableException.noTopic(topic);
            }
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    read(record, applied);
                }
            }
        } catch (KafkaException e) {
            throw UnreachableException.reading(topic, e);
        }
        return applied;
    }

    private void read(ConsumerRecord<String, byte[]> record, Map<String, PolicyAvro.Applied> byKey) {
        if (record.key() == null || record.value() == null) {
            byKey.remove(String.valueOf(record.key()));
            return;
        }
        try {
            byKey.put(record.key(), avro.decode(record.key(), record.value()));
        } catch (UnreadableException e) {
            // Not in force either: the version before goes on.
        }
    }

    /**
     * Puts policies and queues on the topic, each with the next version, unless it is there already word for word.
     *
     * @param prune whether those that are not among these are deleted
     * @return what was done, in the order in which it was
     * @throws RefusedChangeException if a policy would be left without its queue; nothing is written then
     */
    public List<Change> apply(PolicyFile.Contents contents, boolean prune, long nowMs) {
        PolicyUpdate update = new PolicyUpdate(readAll(), nowMs);
        update.apply(contents, prune);
        return write(update);
    }

    /**
     * Deletes policies, or queues.
     *
     * @return those that were there
     * @throws RefusedChangeException if a policy would be left without its queue; nothing is written then
     */
    public List<Change> delete(PolicyAvro.Kind kind, Collection<String> ids, long nowMs) {
        PolicyUpdate update = new PolicyUpdate(readAll(), nowMs);
        update.delete(kind, ids);
        return write(update);
    }

    private List<Change> write(PolicyUpdate update) {
        update.requireQueues();
        write(update.records());
        return update.changes();
    }

    private void write(List<PolicyAvro.Applied> records) {
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT.toMillis());
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            List<Future<?>> sent = new ArrayList<>();
            for (PolicyAvro.Applied record : records) {
                sent.add(producer.send(new ProducerRecord<>(topic, 0, record.key(), avro.encode(record))));
            }
            for (Future<?> one : sent) {
                one.get();
            }
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "cannot write to the topic " + topic + ": " + e.getCause().getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while writing to the topic " + topic, e);
        }
    }
}
