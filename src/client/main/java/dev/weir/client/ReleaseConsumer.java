package dev.weir.client;

import dev.weir.event.Release;
import dev.weir.wire.RegistryException;
import dev.weir.wire.ReleaseAvro;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.UnreadableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Hands out releases to a worker, each when its {@code releaseAt} has come and none before. Weir writes releases ahead
 * of their time, a batch a commit; so the worker sees the queue's steady drip, not the pulse of the commits.
 *
 * <pre>{@code
 * Map<String, Object> kafka = Map.of("bootstrap.servers", "kafka-1:9092", "group.id", "sms-workers");
 * try (ReleaseConsumer releases = new ReleaseConsumer(kafka)) {
 *     while (running) {
 *         Optional<Release> release = releases.next(Duration.ofSeconds(1));
 *         if (release.isPresent()) {
 *             sms.send(release.get());
 *             releases.commit();
 *         }
 *     }
 * }
 * }</pre>
 *
 * <p>At least once: after a crash or a rebalance a release that was handed out and not committed is handed out again,
 * here or by another member of the group. A commit for every release costs a round trip to the broker each; one for a
 * hundred or a second's worth costs less, and lets as many come twice.
 *
 * <p>Releases are returned in the order of {@code releaseAt} over all partitions, as far as they have been received;
 * one that arrives late is returned at once. Time is that of the broker, estimated from the times at which it appended
 * releases: none is returned early, and each as late as the fastest release of the last seconds took to arrive. The
 * clock of the worker's machine does not matter.
 *
 * <p>It holds back about {@value #MAX_HELD} releases, plus a {@code max.poll.records} for each partition; more stay
 * with the broker, and then come late if a queue's look-ahead spans more than that. Payloads count towards the heap.
 * {@link #next} must be called at least every {@code max.poll.interval.ms}, or the group takes the partitions away.
 *
 * <p>Not for several threads at once.
 */
public final class ReleaseConsumer implements AutoCloseable {

    public static final String DEFAULT_TOPIC = "weir.releases";

    static final int MAX_HELD = 10_000;

    private static final long MS = 1_000_000;

    /** A broker is waited for in whole milliseconds, and not to the last one. */
    private static final long MIN_POLL_NANOS = 2 * MS;

    /** A record that arrives can show that a release is due earlier than it seemed. */
    private static final long MAX_POLL_NANOS = 100 * MS;

    private final Consumer<byte[], byte[]> consumer;
    private final BrokerClock clock;
    private final int maxHeld;
    private final ReleaseAvro avro;
    private final HeldReleases held = new HeldReleases();

    /** What is done and not committed yet. */
    private final Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();

    private Runnable beforeRevoked = () -> {};

    /** Reads {@value #DEFAULT_TOPIC}. */
    public ReleaseConsumer(Map<?, ?> kafka) {
        this(kafka, DEFAULT_TOPIC);
    }

    /**
     * Joins the consumer group.
     *
     * @param kafka what a Kafka consumer takes, at least {@code bootstrap.servers} and {@code group.id}. Unless it says
     *     otherwise, {@code isolation.level} is {@code read_committed}, {@code auto.offset.reset} is {@code earliest}, and
     *     the topic is not created. Always, {@code enable.auto.commit} is false and the deserializers are its own. If
     *     releases are written with a schema registry, also {@code apicurio.registry.url} and what else that needs.
     * @throws KafkaException if the properties are wrong
     */
    public ReleaseConsumer(Map<?, ?> kafka, String topic) {
        this(
                new ReleaseAvro(SchemaRegistryProvider.of(settings(kafka))),
                new KafkaConsumer<>(settings(kafka), new ByteArrayDeserializer(), new ByteArrayDeserializer()),
                topic,
                new BrokerClock(System::nanoTime),
                MAX_HELD);
    }

    ReleaseConsumer(ReleaseAvro avro, Consumer<byte[], byte[]> consumer, String topic, BrokerClock clock, int maxHeld) {
        this.avro = avro;
        this.consumer = consumer;
        this.clock = clock;
        this.maxHeld = maxHeld;
        try {
            consumer.subscribe(List.of(topic), new Rebalance());
        } catch (KafkaException e) {
            consumer.close();
            throw e;
        }
    }

    static Map<String, Object> settings(Map<?, ?> kafka) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        kafka.forEach((key, value) -> settings.put(String.valueOf(key), value));
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        return settings;
    }

    /**
     * Waits for the next release whose time has come.
     *
     * @param timeout how long at most; 0 only looks
     * @return empty if none comes due within the timeout
     * @throws SerializationException if a record is no release; the message names topic, partition and offset. It is
     *     thrown again until the group's offset is set behind the record; what was handed out can still be committed.
     * @throws RegistryException if the registry that has the schema of a release does not answer; none is lost, so ask
     *     again
     * @throws org.apache.kafka.common.errors.InterruptException if the thread is interrupted
     * @throws KafkaException if the broker refuses
     */
    public Optional<Release> next(Duration timeout) {
        return await(timeout).map(this::handOut);
    }

    /**
     * As {@link #next}, but a commit leaves it out until it is {@link #done}; what is no release is handed out as such.
     */
    Optional<HeldReleases.Held> take(Duration timeout) {
        return await(timeout).map(first -> held.takeFirst());
    }

    void done(HeldReleases.Held taken) {
        held.left(taken);
    }

    /** Stays in the group without handing anything out. */
    void keepUp() {
        receive(Duration.ZERO);
    }

    /** @param action done before partitions are given away, when commits are still taken */
    void beforeRevoked(Runnable action) {
        beforeRevoked = action;
    }

    private Optional<HeldReleases.Held> await(Duration timeout) {
        long startNanos = System.nanoTime();
        long timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        receive(Duration.ZERO);
        while (true) {
            HeldReleases.Held first = held.first();
            long nowNanos = clock.nanos();
            if (first != null && first.dueNanos() <= nowNanos) {
                return Optional.of(first);
            }
            long leftNanos = timeoutNanos - (System.nanoTime() - startNanos);
            if (leftNanos <= 0) {
                return Optional.empty();
            }
            long waitNanos = Math.min(leftNanos, MAX_POLL_NANOS);
            if (first != null) {
                waitNanos = Math.min(waitNanos, first.dueNanos() - nowNanos);
            }
            if (waitNanos < MIN_POLL_NANOS) {
                LockSupport.parkNanos(waitNanos);
            } else {
                receive(Duration.ofNanos(waitNanos - MS));
            }
        }
    }

    /**
     * Commits everything that was handed out: call it when the work is done. A release handed out before another of its
     * partition with a smaller offset is committed only with that one, and may come again if the consumer ends between.
     * While the group divides the partitions anew, the offsets are kept and go with the next commit.
     *
     * @throws org.apache.kafka.clients.consumer.CommitFailedException if the group has given the partitions to others,
     *     which get the same releases again
     */
    public void commit() {
        held.markHandedOut().forEach((partition, offset) -> done.put(partition, new OffsetAndMetadata(offset)));
        commitDone();
    }

    /** Leaves the group. What was handed out and not committed will be handed out again. */
    @Override
    public void close() {
        consumer.close();
    }

    private void commitDone() {
        if (done.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(done);
            done.clear();
        } catch (RebalanceInProgressException e) {
            // kept: the group is soon ready for them
        }
    }

    private void receive(Duration timeout) {
        bound();
        ConsumerRecords<byte[], byte[]> records = consumer.poll(timeout);
        readAll(records).forEach(held::add);
        // Behind the last record there may be markers of transactions, which have offsets too.
        records.nextOffsets().forEach((partition, next) -> held.received(partition, next.offset()));
    }

    /** All or none: what is not read is received again. */
    private List<HeldReleases.Held> readAll(ConsumerRecords<byte[], byte[]> records) {
        List<HeldReleases.Held> read = new ArrayList<>(records.count());
        try {
            records.forEach(record -> read.add(read(record)));
        } catch (RegistryException e) {
            for (TopicPartition partition : records.partitions()) {
                consumer.seek(partition, records.records(partition).get(0).offset());
            }
            throw e;
        }
        return read;
    }

    private HeldReleases.Held read(ConsumerRecord<byte[], byte[]> record) {
        TopicPartition partition = new TopicPartition(record.topic(), record.partition());
        clock.read(record.timestamp());
        try {
            Release release = avro.decode(record.value());
            return new HeldReleases.Held(partition, record.offset(), release, record.headers(), null);
        } catch (UnreadableException e) {
            HeldReleases.Unreadable unreadable = new HeldReleases.Unreadable(e, record.key(), record.value());
            return new HeldReleases.Held(partition, record.offset(), null, record.headers(), unreadable);
        }
    }

    private Release handOut(HeldReleases.Held first) {
        if (first.release() == null) {
            TopicPartition partition = first.partition();
            String where = "topic %s, partition %d, offset %d"
                    .formatted(partition.topic(), partition.partition(), first.offset());
            throw new SerializationException(
                    where + ": no release: " + first.unreadable().fault().getMessage(),
                    first.unreadable().fault());
        }
        held.removeFirst();
        return first.release();
    }

    /** Takes no more from a partition that has its share of what is held, until half of that is gone. */
    private void bound() {
        Set<TopicPartition> paused = consumer.paused();
        int share = Math.max(1, maxHeld / Math.max(1, held.partitions().size()));
        for (TopicPartition partition : held.partitions()) {
            int count = held.count(partition);
            if (count >= share && !paused.contains(partition)) {
                consumer.pause(List.of(partition));
            } else if (count <= share / 2 && paused.contains(partition)) {
                consumer.resume(List.of(partition));
            }
        }
    }

    private final class Rebalance implements ConsumerRebalanceListener {

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {}

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            try {
                beforeRevoked.run();
                commitDone();
            } finally {
                onPartitionsLost(revoked);
            }
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> lost) {
            lost.forEach(done::remove);
            held.drop(lost);
        }
    }
}
