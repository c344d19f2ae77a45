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
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
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

/** The policies topic, as operators see it: what is applied, and applying more. */
public final class PolicyTopic {

    /** What stands before a policy's id in the record's key. */
    public static final String KEY_PREFIX = "policy/";

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final WeirConfig config;
    private final String topic;
    private final PolicyAvro avro = new PolicyAvro();

    /** What applying a policy did. */
    public enum Effect {
        ADDED,
        CHANGED,
        UNCHANGED,
        DELETED
    }

    /**
     * A policy and what was done with it.
     *
     * @param version the version that is in force now, or was last
     */
    public record Change(String id, Effect effect, long version) {}

    public PolicyTopic(WeirConfig config) {
        this.config = config;
        this.topic = Topics.of(config.topics().prefix()).policies();
    }

    /**
     * The policies that are applied, by id.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public Map<String, PolicyAvro.Applied> read() {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        Map<String, PolicyAvro.Applied> applied = new TreeMap<>();
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<String, byte[]> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    read(record, applied);
                }
            }
        } catch (KafkaException e) {
            throw new UnreachableException("cannot read the topic " + topic + ": " + e.getMessage(), e);
        }
        return applied;
    }

    private void read(ConsumerRecord<String, byte[]> record, Map<String, PolicyAvro.Applied> applied) {
        if (record.key() == null || !record.key().startsWith(KEY_PREFIX)) {
            return;
        }
        String id = record.key().substring(KEY_PREFIX.length());
        if (record.value() == null) {
            applied.remove(id);
            return;
        }
        try {
            applied.put(id, avro.decode(record.value()));
        } catch (UnreadableException e) {
            // Not in force either: the version before goes on.
        }
    }

    /**
     * Puts policies on the topic, each with the next version, unless it is there already word for word.
     *
     * @param prune whether policies that are not among these are deleted
     */
    public List<Change> apply(List<PolicyFile.Definition> definitions, boolean prune, long nowMs) {
        Map<String, PolicyAvro.Applied> before = read();
        List<Change> changes = new ArrayList<>();
        Map<String, byte[]> records = new TreeMap<>();
        for (PolicyFile.Definition definition : definitions) {
            PolicyAvro.Applied old = before.remove(definition.id());
            if (old != null && old.definition().equals(definition.json())) {
                changes.add(new Change(definition.id(), Effect.UNCHANGED, old.version()));
                continue;
            }
            long version = old == null ? 1 : old.version() + 1;
            PolicyAvro.Applied next = new PolicyAvro.Applied(definition.id(), version, definition.json(), nowMs);
            records.put(KEY_PREFIX + definition.id(), avro.encode(next));
            changes.add(new Change(definition.id(), old == null ? Effect.ADDED : Effect.CHANGED, version));
        }
        if (prune) {
            for (PolicyAvro.Applied old : before.values()) {
                records.put(KEY_PREFIX + old.id(), null);
                changes.add(new Change(old.id(), Effect.DELETED, old.version()));
            }
        }
        write(records);
        return changes;
    }

    /**
     * Deletes policies.
     *
     * @return those that were there
     */
    public List<Change> delete(Collection<String> ids) {
        Map<String, PolicyAvro.Applied> before = read();
        List<Change> changes = new ArrayList<>();
        Map<String, byte[]> records = new TreeMap<>();
        for (String id : ids) {
            if (before.containsKey(id)) {
                records.put(KEY_PREFIX + id, null);
                changes.add(new Change(id, Effect.DELETED, before.get(id).version()));
            }
        }
        write(records);
        return changes;
    }

    private void write(Map<String, byte[]> records) {
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT.toMillis());
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
            records.forEach((key, value) -> sent.add(producer.send(new ProducerRecord<>(topic, 0, key, value))));
            for (java.util.concurrent.Future<?> one : sent) {
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
