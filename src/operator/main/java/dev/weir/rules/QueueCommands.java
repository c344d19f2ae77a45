package dev.weir.rules;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.storage.QueueKeys;
import dev.weir.storage.codec.QueueMessageCodec;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.json.Json;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;

/**
 * Sends commands of operators to queues.
 *
 * <p>A command is a record on each partition of the admissions topic, or for a key on the partition of the key. So its
 * place among the requests of a partition is defined, and the task of the partition stores its effect with the offset
 * behind it. Once that offset is committed, the command is in effect, whichever instance takes over. The records and
 * that of the history are written in one transaction, and writers are serialized, so that all partitions get commands in
 * the same order.
 */
public final class QueueCommands {

    private static final String ACTION = "action";
    private static final String KEY = "key";
    private static final int MAX_ATTEMPTS = 20;
    private static final int FIRST_PAUSE_MS = 20;
    private static final int MAX_PAUSE_MS = 1_000;
    private static final long POLL_INTERVAL_MS = 20;
    private static final int TIMEOUT_SECONDS = 30;

    private final WeirConfig config;
    private final Topics topics;
    private final QueueMessageCodec codec = new QueueMessageCodec();
    private final PolicyAvro avro = new PolicyAvro();

    /**
     * What became of a command that was written.
     *
     * @param partitions the number of partitions to which it was sent
     * @param pending those that had not put it in effect when the time was over; they will
     */
    public record Result(int partitions, List<Integer> pending) {

        public Result {
            pending = List.copyOf(pending);
        }
    }

    /**
     * A command that was sent before.
     *
     * @param key the values of the key fields by name; empty for the whole queue
     */
    public record PastCommand(long number, String action, SortedMap<String, String> key, QueueCommand.Origin origin) {}

    public QueueCommands(WeirConfig config) {
        this.config = config;
        topics = Topics.of(config);
    }

    /**
     * Writes a command, and waits until all its partitions have put it in effect.
     *
     * @param timeout how long to wait for that
     * @throws UnreachableException if the topics cannot be read or written
     */
    public Result send(QueueCommand command, Duration timeout) {
        long startNanos = System.nanoTime();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            SortedMap<Integer, Long> offsets = write(command, partitions(admin, command.target()));
            List<Integer> pending = pending(admin, offsets);
            while (!pending.isEmpty() && System.nanoTime() - startNanos < timeout.toNanos()) {
                sleep(POLL_INTERVAL_MS);
                pending = pending(admin, offsets);
            }
            return new Result(offsets.size(), pending);
        }
    }

    private List<Integer> partitions(Admin admin, BucketId target) {
        int count = await(admin.describeTopics(List.of(topics.admissions()))
                        .topicNameValues()
                        .get(topics.admissions()))
                .partitions()
                .size();
        if (target.isKeyed()) {
            return List.of(Utils.toPositive(Utils.murmur2(QueueKeys.record(target))) % count);
        }
        List<Integer> all = new ArrayList<>();
        for (int partition = 0; partition < count; partition++) {
            all.add(partition);
        }
        return all;
    }

    /** Returns the offset of the command on each partition. */
    private SortedMap<Integer, Long> write(QueueCommand command, List<Integer> partitions) {
        for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
            try (PolicyWriter writer = new PolicyWriter(config, topics)) {
                Optional<List<RecordMetadata>> written =
                        writer.begin() ? writer.writeRecords(records(command, partitions)) : Optional.empty();
                if (written.isPresent()) {
                    SortedMap<Integer, Long> offsets = new TreeMap<>();
                    written.get().stream()
                            .filter(record -> record.topic().equals(topics.admissions()))
                            .forEach(record -> offsets.put(record.partition(), record.offset()));
                    return offsets;
                }
            }
            sleep(ThreadLocalRandom.current().nextInt(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS << Math.min(attempt, 10)))
                    + 1L);
        }
        throw new UnreachableException(
                "the command was not written: other changes of policies or queues are in" + " progress; try again",
                null);
    }

    private List<ProducerRecord<String, byte[]>> records(QueueCommand command, List<Integer> partitions) {
        List<ProducerRecord<String, byte[]>> records = new ArrayList<>();
        byte[] message = codec.encode(new QueueMessage.Commanded(command));
        partitions.forEach(
                partition -> records.add(new ProducerRecord<>(topics.admissions(), partition, (String) null, message)));
        String queue = command.target().queue();
        String key = PolicyHistory.commandKey(queue) + "/";
        long number = 1 + lastNumber(queue);
        ChangeAuthor changedBy = new ChangeAuthor(
                command.origin().author(), Optional.of(command.origin().reason()));
        PolicyAvro.Applied past = new PolicyAvro.Applied(
                        PolicyAvro.Kind.QUEUE,
                        queue,
                        number,
                        text(command),
                        command.origin().atMs())
                .withChangedBy(changedBy);
        records.add(new ProducerRecord<>(topics.policyHistory(), 0, key + number, avro.encode(past)));
        if (number > PolicyWriter.MAX_HISTORY) {
            records.add(
                    new ProducerRecord<>(topics.policyHistory(), 0, key + (number - PolicyWriter.MAX_HISTORY), null));
        }
        return records;
    }

    private static String text(QueueCommand command) {
        ObjectNode json = Json.MAPPER.createObjectNode();
        json.put(ACTION, command.action().name().toLowerCase(Locale.ROOT));
        json.set(KEY, Json.MAPPER.valueToTree(new TreeMap<>(command.target().values())));
        return Json.write(json);
    }

    private long lastNumber(String queue) {
        try (PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            return history.last().getOrDefault(PolicyHistory.commandKey(queue), 0L);
        }
    }

    /**
     * Returns the last {@value PolicyWriter#MAX_HISTORY} commands to a queue and its keys, newest first.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public List<PastCommand> past(String queue) {
        try (PolicyHistory history = new PolicyHistory(config, topics.policyHistory())) {
            return history.commands(queue).stream()
                    .map(QueueCommands::past)
                    .flatMap(Optional::stream)
                    .toList();
        }
    }

    /** Returns empty for a record that another writer has written in another form. */
    private static Optional<PastCommand> past(PolicyAvro.Applied record) {
        JsonNode json;
        try {
            json = Json.read(String.valueOf(record.definition()));
        } catch (UncheckedIOException e) {
            return Optional.empty();
        }
        if (!json.path(ACTION).isTextual() || record.changedBy().reason().isEmpty()) {
            return Optional.empty();
        }
        SortedMap<String, String> key = new TreeMap<>();
        json.path(KEY)
                .properties()
                .forEach(field -> key.put(field.getKey(), field.getValue().asText()));
        QueueCommand.Origin origin = new QueueCommand.Origin(
                record.changedBy().author(), record.changedBy().reason().get(), record.appliedAtMs());
        return Optional.of(new PastCommand(record.version(), json.get(ACTION).asText(), key, origin));
    }

    /** Returns the partitions whose task has not committed the command. */
    private List<Integer> pending(Admin admin, Map<Integer, Long> offsets) {
        Map<TopicPartition, OffsetAndMetadata> committed = await(
                admin.listConsumerGroupOffsets(KafkaSettings.shapingId(config)).partitionsToOffsetAndMetadata());
        return offsets.keySet().stream()
                .filter(partition -> {
                    OffsetAndMetadata next = committed.get(new TopicPartition(topics.admissions(), partition));
                    return next == null || next.offset() <= offsets.get(partition);
                })
                .toList();
    }

    private static <T> T await(KafkaFuture<T> result) {
        try {
            return result.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new UnreachableException("the brokers do not answer: " + UnreachableException.causeMessage(e), e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static UnreachableException interrupted(InterruptedException cause) {
        Thread.currentThread().interrupt();
        return new UnreachableException("interrupted while a command was sent", cause);
    }
}
