package dev.weir.failure;

import dev.weir.config.WeirConfig;
import dev.weir.failure.check.PauseInvariant.Pause;
import dev.weir.failure.load.FailurePolicies;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.QueueCommands;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The commands of a run to the queue of jobs: a key is paused while something fails, and another one is purged. */
final class JobCommands {

    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private final WeirConfig config;
    private final Random random;
    private final List<Pause> pauses = new ArrayList<>();
    private String paused;
    private Map<Integer, Long> pausedFrom;

    JobCommands(WeirConfig config, long seed) {
        this.config = config;
        random = new Random(seed);
    }

    /** Returns the pauses that are over. */
    List<Pause> pauses() {
        return pauses;
    }

    /** Pauses a key. */
    void pause() {
        paused = anyPool();
        send(Action.PAUSE, paused);
        pausedFrom = ends();
    }

    /** Ends the last pause, and purges a key. */
    void resume() {
        pauses.add(new Pause("jobs", key(paused), pausedFrom, ends()));
        send(Action.RESUME, paused);
        send(Action.PURGE, anyPool());
    }

    private String anyPool() {
        return FailurePolicies.POOLS.get(random.nextInt(FailurePolicies.POOLS.size()));
    }

    private static Map<String, String> key(String pool) {
        return Map.of("pool", pool);
    }

    private void send(Action action, String pool) {
        QueueCommand.Origin origin =
                new QueueCommand.Origin(Optional.of("failure suite"), "to be checked", System.currentTimeMillis());
        QueueCommands.Result result =
                new QueueCommands(config).send(QueueCommand.of("jobs", key(pool), action, origin), PATIENCE);
        if (!result.pending().isEmpty()) {
            throw new IllegalStateException(action + " of " + pool + " is not in effect after " + PATIENCE);
        }
    }

    /** Returns the end of each partition of the releases. */
    private Map<Integer, Long> ends() {
        String topic = Topics.of(config).releases();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                KafkaSettings.consumer(config), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            Map<Integer, Long> ends = new HashMap<>();
            consumer.endOffsets(partitions).forEach((partition, end) -> ends.put(partition.partition(), end));
            return ends;
        }
    }
}
