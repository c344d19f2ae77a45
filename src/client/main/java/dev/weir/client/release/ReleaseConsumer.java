package dev.weir.client.release;

import dev.weir.client.clock.ClockStepWakeup;
import dev.weir.client.kafka.ConsumerOpener;
import dev.weir.event.Release;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.RegistryException;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.SchemaRegistryProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
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
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A consumer that returns each release at its {@code releaseAt}, and none before. Weir writes releases ahead of their
 * time, a batch with each commit; the consumer restores the steady rate of the queue. {@link ReleaseWorker} adds
 * threads, retries and dead letters.
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
 * <p><b>At least once.</b> After a crash or a rebalance, releases that were returned and not committed are returned
 * again, to this or another member of the group. Each commit is a round trip to the broker. Committing every hundred
 * releases, or once a second, costs less, but more releases can be repeated.
 *
 * <p><b>Order and time.</b> Releases are returned in the order of {@code releaseAt} over all partitions, as far as they
 * have been received. Of late ones, the next of a bucket is returned after cost / rate, see {@link LateReleases}; those
 * of queues with {@code max-in-flight} are returned at once. The time is that of the broker, estimated from
 * the times at which it appended releases. No release is returned early; the delay is that of the fastest release of
 * the last seconds. The clock of this machine can be wrong. If it is set back, {@link #next} takes up to 0.2 s longer
 * once, and Kafka's client sends no heartbeats until the clock has caught up. So after a step by more than
 * {@code session.timeout.ms}, the group can revoke the partitions.
 *
 * <p><b>Acknowledgement.</b> The worker acknowledges a release with an {@linkplain Release#attempt attempt}, by
 * {@link dev.weir.client.WeirClient#complete}. Commit it before its work starts, so that its attempt starts at most once.
 * The commit covers it at once: if earlier releases are not due, it is listed in the metadata of the commit. If its
 * worker dies, it is released again.
 *
 * <p><b>Memory.</b> The consumer buffers about {@value #MAX_HELD} releases, plus {@code max.poll.records} for each
 * partition. The broker keeps the others; they arrive late if the look-ahead of a queue covers more than that. Payloads
 * count towards the heap.
 *
 * <p><b>Brokers that are away.</b> The consumer starts without brokers and without DNS, and connects when they are
 * there. Until then {@link #next} returns no release.
 *
 * <p>Call {@link #next} at least every {@code max.poll.interval.ms}, otherwise the group revokes the partitions.
 * Not thread-safe.
 */
public final class ReleaseConsumer implements AutoCloseable {

    /** The default name of the topic of releases. */
    public static final String DEFAULT_TOPIC = "weir.releases";

    static final int MAX_HELD = 10_000;

    private static final long MS = 1_000_000;

    /** The shortest wait for a broker. Shorter waits are done without one, since a poll takes whole milliseconds. */
    private static final long MIN_POLL_NANOS = 2 * MS;

    /** The longest wait for a broker. A record that arrives can show that a release is due earlier than estimated. */
    private static final long MAX_POLL_NANOS = 100 * MS;

    private static final Duration COMMITTED_TIMEOUT = Duration.ofSeconds(1);

    private final ConsumerOpener opener;
    private final ClockStepWakeup clockSteps;
    private final BrokerClock clock;
    private final int maxHeld;
    private final ReleaseCodec avro;
    private final HeldReleases held;

    /** Offsets that are to be committed. */
    private final Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();

    /** Assigned partitions of which it is not known yet what was committed. They are paused. */
    private final Set<TopicPartition> unknown = new HashSet<>();

    private Runnable beforeRevoked = () -> {};
    private java.util.function.Consumer<Collection<TopicPartition>> afterLost = partitions -> {};

    /**
     * Creates a consumer of {@value #DEFAULT_TOPIC}.
     *
     * @param kafka the properties, as in {@link #ReleaseConsumer(Map, String)}
     * @throws KafkaException if the properties are invalid
     */
    public ReleaseConsumer(Map<?, ?> kafka) {
        this(kafka, DEFAULT_TOPIC);
    }

    /**
     * Creates a consumer, which joins its group with the first call of {@link #next}.
     *
     * @param kafka the properties of a Kafka consumer, at least {@code bootstrap.servers} and {@code group.id}. The
     *     defaults are {@code isolation.level=read_committed}, {@code auto.offset.reset=earliest} and
     *     {@code allow.auto.create.topics=false}. {@code enable.auto.commit} is always {@code false}, and the
     *     deserializers cannot be set. If releases are written with a schema registry, the properties must include
     *     {@code apicurio.registry.url} and whatever else the registry needs
     * @param topic the name of the topic of releases
     * @throws KafkaException if the properties are invalid
     * @throws RegistryException if the properties of the schema registry are invalid
     */
    public ReleaseConsumer(Map<?, ?> kafka, String topic) {
        this(kafka, topic, LateReleases.PACE);
    }

    /**
     * Creates a consumer as {@link #ReleaseConsumer(Map, String)} does.
     *
     * @param kafka the properties of a Kafka consumer
     * @param topic the name of the topic of releases
     * @param late when releases are returned that are late
     * @throws KafkaException if the properties are invalid
     * @throws RegistryException if the properties of the schema registry are invalid
     */
    public ReleaseConsumer(Map<?, ?> kafka, String topic, LateReleases late) {
        this(
                new ReleaseCodec(SchemaRegistryProvider.of(settings(kafka))),
                () -> new KafkaConsumer<>(settings(kafka), new ByteArrayDeserializer(), new ByteArrayDeserializer()),
                topic,
                new BrokerClock(System::nanoTime),
                MAX_HELD,
                late);
    }

    ReleaseConsumer(
            ReleaseCodec avro,
            Supplier<Consumer<byte[], byte[]>> consumers,
            String topic,
            BrokerClock clock,
            int maxHeld,
            LateReleases late) {
        this.avro = avro;
        held = new HeldReleases(late);
        this.clock = clock;
        this.maxHeld = maxHeld;
        opener = new ConsumerOpener(() -> subscribed(consumers.get(), topic));
        clockSteps = new ClockStepWakeup(() -> opener.consumer().ifPresent(Consumer::wakeup));
    }

    private Consumer<byte[], byte[]> subscribed(Consumer<byte[], byte[]> consumer, String topic) {
        try {
            consumer.subscribe(List.of(topic), new Rebalance());
            return consumer;
        } catch (RuntimeException e) {
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
     * Returns why the consumer cannot connect because no host name of the brokers can be resolved. {@link #next} tries
     * again.
     *
     * @return the last error; empty if there is none
     */
    public Optional<RuntimeException> failure() {
        return opener.failure();
    }

    /**
     * Returns the next release when it is due. Blocks until then, or until the timeout has passed.
     *
     * @param timeout the longest wait; with 0 the method returns at once
     * @return the release; empty if none became due within the timeout
     * @throws SerializationException if the next record is not a release; the message names topic, partition and
     *     offset. The exception is thrown again until the group's offset is set past the record. Releases returned
     *     before can still be committed
     * @throws RegistryException if the schema registry does not respond. No release is lost: call the method again
     * @throws org.apache.kafka.common.errors.InterruptException if the thread is interrupted
     * @throws KafkaException if the broker rejects a call
     */
    public Optional<Release> next(Duration timeout) {
        return await(timeout).map(this::handOut);
    }

    /**
     * Returns the next release like {@link #next}, but a commit excludes it until it is {@link #done}. Returns records
     * that cannot be decoded, too, instead of throwing.
     */
    Optional<HeldReleases.Held> take(Duration timeout) {
        return await(timeout).map(held::take);
    }

    void done(HeldReleases.Held taken) {
        held.markDone(taken);
    }

    /** Polls the broker, to stay in the group, without returning a release. */
    void keepUp() {
        receive(Duration.ZERO);
    }

    /** Sets an action that runs before partitions are revoked, while commits are still accepted. */
    void beforeRevoked(Runnable action) {
        beforeRevoked = action;
    }

    /** Sets an action that runs when partitions were revoked or lost. Another member can receive their records then. */
    void afterLost(java.util.function.Consumer<Collection<TopicPartition>> action) {
        afterLost = action;
    }

    /** Returns the time of the broker, in ns since the epoch, or an earlier one. Undefined until a record was read. */
    long brokerNanos() {
        return clock.nanos();
    }

    private Optional<ReleaseOrder.Turn> await(Duration timeout) {
        long startNanos = System.nanoTime();
        long timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        receive(Duration.ZERO);
        while (true) {
            long nowNanos = clock.nanos();
            Optional<ReleaseOrder.Turn> first = held.first(nowNanos);
            if (first.isPresent() && first.get().isDue()) {
                return first;
            }
            long leftNanos = timeoutNanos - (System.nanoTime() - startNanos);
            if (leftNanos <= 0) {
                return Optional.empty();
            }
            long waitNanos = Math.min(leftNanos, MAX_POLL_NANOS);
            if (first.isPresent()) {
                waitNanos = Math.min(waitNanos, first.get().atNanos() - nowNanos);
            }
            if (waitNanos < MIN_POLL_NANOS) {
                LockSupport.parkNanos(waitNanos);
            } else {
                receive(Duration.ofNanos(waitNanos - MS));
            }
        }
    }

    /**
     * Commits all releases that were returned. Call it when their work is done. A release is committed only together
     * with all releases of its partition that have a smaller offset; if one of them is not due yet, the release may be
     * returned again after a crash. During a rebalance the offsets are kept for the next commit. Blocks for a round
     * trip to the broker.
     *
     * @throws org.apache.kafka.clients.consumer.CommitFailedException if the group has reassigned the partitions; their
     *     new members get the same releases again
     * @throws KafkaException if the broker rejects the commit or does not respond
     */
    public void commit() {
        var unused = tryCommit();
    }

    /**
     * Commits like {@link #commit}.
     *
     * @return whether the commit covers all that is done; otherwise a later commit does, after a rebalance or when
     *     an earlier release is done
     */
    boolean tryCommit() {
        done.putAll(held.takeChangedOffsets());
        commitDone();
        return done.isEmpty() && held.isCommittable();
    }

    /**
     * Leaves the group. Releases that were returned and not committed are returned again, to another member or after
     * a restart.
     */
    @Override
    public void close() {
        try {
            opener.consumer().ifPresent(Consumer::close);
        } finally {
            clockSteps.close();
        }
    }

    private void commitDone() {
        if (done.isEmpty()) {
            return;
        }
        try {
            Consumer<byte[], byte[]> consumer = opener.consumer().orElseThrow();
            clockSteps.run(() -> consumer.commitSync(done));
            done.clear();
        } catch (RebalanceInProgressException e) {
            // the next commit includes these offsets
        }
    }

    private void receive(Duration timeout) {
        opener.await(timeout).ifPresent(consumer -> receive(consumer, timeout));
    }

    private void receive(Consumer<byte[], byte[]> consumer, Duration timeout) {
        readCommitted(consumer);
        bound(consumer);
        ConsumerRecords<byte[], byte[]> records = clockSteps.call(() -> consumer.poll(timeout));
        readAll(records, consumer).forEach(held::add);
        // The last record may be followed by transaction markers, which have offsets too.
        records.nextOffsets().forEach((partition, next) -> held.received(partition, next.offset()));
    }

    /** Reads what was committed of partitions that were assigned, and lets their records be received. */
    private void readCommitted(Consumer<byte[], byte[]> consumer) {
        if (unknown.isEmpty()) {
            return;
        }
        try {
            clockSteps
                    .call(() -> consumer.committed(unknown, COMMITTED_TIMEOUT))
                    .forEach((partition, committed) -> {
                        if (committed != null) {
                            held.restore(partition, committed);
                        }
                    });
            consumer.resume(unknown);
            unknown.clear();
        } catch (TimeoutException e) {
            // the next call tries again
        }
    }

    /** Decodes all records or none. If it fails, the same records are received again. */
    private List<HeldReleases.Held> readAll(
            ConsumerRecords<byte[], byte[]> records, Consumer<byte[], byte[]> consumer) {
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

    private Release handOut(ReleaseOrder.Turn turn) {
        HeldReleases.Held first = turn.held();
        if (first.release() == null) {
            TopicPartition partition = first.partition();
            String where = "topic %s, partition %d, offset %d"
                    .formatted(partition.topic(), partition.partition(), first.offset());
            throw new SerializationException(
                    where + ": not a release: " + first.unreadable().fault().getMessage(),
                    first.unreadable().fault());
        }
        held.markDone(held.take(turn));
        return first.release();
    }

    /** Pauses each partition that has reached its share of the buffer, until half of its share is free. */
    private void bound(Consumer<byte[], byte[]> consumer) {
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
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            opener.consumer().orElseThrow().pause(assigned);
            unknown.addAll(assigned);
        }

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
            unknown.removeAll(lost);
            held.drop(lost);
            afterLost.accept(lost);
        }
    }
}
