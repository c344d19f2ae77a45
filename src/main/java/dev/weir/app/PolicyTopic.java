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
import java.util.concurrent.Future;
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
        Map<String, PolicyAvro.Applied> inForce = new TreeMap<>();
        for (PolicyAvro.Applied applied : readAll().values()) {
            if (!applied.isDeleted()) {
                inForce.put(applied.id(), applied);
            }
        }
        return inForce;
    }

    /** What is on the topic, by key, with the policies that were deleted. */
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
     * Puts policies on the topic, each with the next version, unless it is there already word for word.
     *
     * @param prune whether policies that are not among these are deleted
     */
    public List<Change> apply(List<PolicyFile.Definition> definitions, boolean prune, long nowMs) {
        Map<String, PolicyAvro.Applied> before = readAll();
        List<Change> changes = new ArrayList<>();
        Map<String, byte[]> records = new TreeMap<>();
        for (PolicyFile.Definition definition : definitions) {
            PolicyAvro.Applied old = before.remove(PolicyAvro.key(definition.id()));
            if (old != null && definition.json().equals(old.definition())) {
                changes.add(new Change(definition.id(), Effect.UNCHANGED, old.version()));
                continue;
            }
            long version = old == null ? 1 : old.version() + 1;
            put(records, new PolicyAvro.Applied(definition.id(), version, definition.json(), nowMs));
            boolean isNew = old == null || old.isDeleted();
            changes.add(new Change(definition.id(), isNew ? Effect.ADDED : Effect.CHANGED, version));
        }
        if (prune) {
            for (PolicyAvro.Applied old : before.values()) {
                delete(old, nowMs, records, changes);
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
    public List<Change> delete(Collection<String> ids, long nowMs) {
        Map<String, PolicyAvro.Applied> before = readAll();
        List<Change> changes = new ArrayList<>();
        Map<String, byte[]> records = new TreeMap<>();
        for (String id : ids) {
            if (before.containsKey(PolicyAvro.key(id))) {
                delete(before.get(PolicyAvro.key(id)), nowMs, records, changes);
            }
        }
        write(records);
        return changes;
    }

    private void delete(PolicyAvro.Applied old, long nowMs, Map<String, byte[]> records, List<Change> changes) {
        if (!old.isDeleted()) {
            put(records, new PolicyAvro.Applied(old.id(), old.version() + 1, null, nowMs));
            changes.add(new Change(old.id(), Effect.DELETED, old.version()));
        }
    }

    private void put(Map<String, byte[]> records, PolicyAvro.Applied applied) {
        records.put(PolicyAvro.key(applied.id()), avro.encode(applied));
    }

    private void write(Map<String, byte[]> records) {
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT.toMillis());
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            List<Future<?>> sent = new ArrayList<>();
            records.forEach((key, value) -> sent.add(producer.send(new ProducerRecord<>(topic, 0, key, value))));
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
