package dev.weir.client.throttle;

import dev.weir.client.WeirClient;
import dev.weir.client.clock.ClockStepWakeup;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * A consumer that returns the records of any topic as fast as Weir's policies allow. For each record, a function returns
 * the request that is decided; the record is returned when the request is allowed. The topic, its producers and its
 * records do not change.
 *
 * <pre>{@code
 * Map<String, Object> kafka = Map.of("bootstrap.servers", "kafka-1:9092", "group.id", "mailer");
 * try (ThrottledConsumer<String, String> mails = ThrottledConsumer.builder(
 *                 kafka, new StringDeserializer(), new StringDeserializer(), weir, mail -> RequestBuilder.of(mail.key())
 *                         .attribute("operation", "send-mail")
 *                         .build())
 *         .start()) {
 *     mails.subscribe(List.of("mails"));
 *     while (running) {
 *         mails.poll(Duration.ofSeconds(1)).forEach(mail -> System.out.println(mail.value()));
 *         mails.commit();
 *     }
 * }
 * }</pre>
 *
 * <p><b>Waiting.</b> A record that is denied is not dropped. It is asked for again after the decision's
 * {@code retryAfterMs}, and delays the records behind it in its partition, but not those of other partitions. A decision
 * with {@code delayMs} delays the record by that time: {@code on-exceed: throttle} needs fewer requests than
 * {@code deny}. A record without a decision is asked for again after 0.1 s to 6.4 s, unless the client's fallback is
 * {@link dev.weir.client.Fallback#FAIL_OPEN}. What happens to a record that no later attempt can pass depends on
 * {@link ThrottledConsumerBuilder#onNeverAllowed}, and to one without a valid request on
 * {@link ThrottledConsumerBuilder#onInvalid}.
 *
 * <p><b>At least once.</b> {@link #commit} commits the offsets of records that were returned, and no others. After a
 * crash or a rebalance, records that were not committed are returned again, to this or another member of the group.
 * Records that were received and not returned are dropped when their partition is revoked. If their requests were
 * decided already, they are charged again for the next member, unless the policy has {@code idempotency}. The id of a
 * request consists of the group, the topic, the partition, the offset and the number of the attempt.
 *
 * <p><b>Staying in the group.</b> Call {@link #poll} at least every {@code max.poll.interval.ms}. It polls the broker
 * also while all records wait. If this machine's clock is set back, Kafka's client sends no heartbeats until the clock
 * has caught up, so after a step by more than {@code session.timeout.ms} the group can revoke the partitions.
 *
 * <p><b>Memory.</b> The consumer buffers up to {@link ThrottledConsumerBuilder#maxHeld} records, plus
 * {@code max.poll.records} for each partition. Partitions whose share is used up are paused.
 *
 * <p>Not thread-safe, except for {@link #wakeup} and {@link #stats}. The client is not closed with the consumer.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public final class ThrottledConsumer<K, V> implements AutoCloseable {

    private static final long MS = 1_000_000;

    /** The longest wait for a broker. */
    private static final long MAX_POLL_NANOS = 100 * MS;

    /** The longest wait for a decision before the broker is polled. */
    private static final long MAX_DECISION_NANOS = 10 * MS;

    private final Consumer<K, V> consumer;
    private final ClockStepWakeup clockSteps;
    private final String group;
    private final Function<Request, CompletableFuture<ClientDecision>> decider;
    private final Function<ConsumerRecord<K, V>, Request> requests;
    private final BiFunction<ConsumerRecord<K, V>, Decision, NeverAllowed> onNeverAllowed;
    private final BiFunction<ConsumerRecord<K, V>, IllegalArgumentException, NeverAllowed> onInvalid;
    private final int maxHeld;
    private final int ahead;
    private final Map<TopicPartition, ThrottledPartition<K, V>> partitions = new HashMap<>();

    /** Offsets that are to be committed. */
    private final Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();

    private final Semaphore arrivals = new Semaphore(0);
    private final DecisionSource source = new DecisionSource();
    private final LongAdder delivered = new LongAdder();
    private final LongAdder skipped = new LongAdder();
    private final LongAdder denied = new LongAdder();
    private final LongAdder undecided = new LongAdder();
    private volatile int held;

    ThrottledConsumer(
            Consumer<K, V> consumer,
            String group,
            Function<Request, CompletableFuture<ClientDecision>> decider,
            ThrottledConsumerBuilder<K, V> options) {
        this.consumer = consumer;
        clockSteps = new ClockStepWakeup(consumer::wakeup);
        this.group = group;
        this.decider = decider;
        requests = options.requests();
        onNeverAllowed = options.onNeverAllowed();
        onInvalid = options.onInvalid();
        maxHeld = options.maxHeld();
        ahead = options.ahead();
    }

    /**
     * Returns a builder for a consumer, with default settings.
     *
     * @param kafka the properties of a Kafka consumer, at least {@code bootstrap.servers} and {@code group.id}. The map
     *     is copied. {@code enable.auto.commit} is always {@code false}
     * @param keys reads keys
     * @param values reads values
     * @param weir the client that decides
     * @param requests returns the request for a record. Its {@code requestId} is replaced. It can throw an exception;
     *     see {@link ThrottledConsumerBuilder#onInvalid}
     * @param <K> the type of keys
     * @param <V> the type of values
     * @return a builder
     */
    public static <K, V> ThrottledConsumerBuilder<K, V> builder(
            Map<?, ?> kafka,
            Deserializer<K> keys,
            Deserializer<V> values,
            WeirClient weir,
            Function<ConsumerRecord<K, V>, Request> requests) {
        return new ThrottledConsumerBuilder<>(kafka, keys, values, weir, requests);
    }

    /**
     * Subscribes to topics.
     *
     * @param topics the names of the topics
     */
    public void subscribe(Collection<String> topics) {
        subscribe(topics, new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> assigned) {}

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> revoked) {}
        });
    }

    /**
     * Subscribes to topics.
     *
     * @param topics the names of the topics
     * @param listener called during {@link #poll}. When partitions are revoked, it can finish its work and call
     *     {@link #commit}
     */
    public void subscribe(Collection<String> topics, ConsumerRebalanceListener listener) {
        consumer.subscribe(topics, new DroppingListener(listener));
    }

    /**
     * Returns the next records that are allowed. Blocks until there are some, or until the timeout has passed.
     *
     * @param timeout the longest wait
     * @return the records, those of a partition in the order of their offsets; empty if none was allowed in time
     * @throws RecordDeniedException if the first record of a partition can never be allowed
     * @throws IllegalArgumentException if the first record of a partition has no valid request; the message names topic,
     *     partition and offset, the cause is the exception of the function. It is thrown again until
     *     {@link ThrottledConsumerBuilder#onInvalid} says otherwise or the group's offset is set past the record
     * @throws RuntimeException if a function of the {@link ThrottledConsumerBuilder} throws it or returns null. If other
     *     records are allowed, they are returned first, and the next call calls the function again
     * @throws dev.weir.client.decision.NoDecisionException if the client was closed
     * @throws org.apache.kafka.common.errors.WakeupException if {@link #wakeup} was called
     * @throws InterruptException if the thread is interrupted
     * @throws KafkaException if a record cannot be deserialized, or the broker rejects a call
     */
    public List<ConsumerRecord<K, V>> poll(Duration timeout) {
        long startNanos = System.nanoTime();
        long timeoutNanos = TimeUnit.NANOSECONDS.convert(timeout);
        throwFailure(); // of the call before, which returned records of other partitions
        receive(Duration.ZERO);
        while (true) {
            partitions.values().forEach(each -> each.advance(ahead));
            int before = held;
            List<ConsumerRecord<K, V>> ready = takeAll();
            if (!ready.isEmpty()) {
                return ready;
            }
            if (held < before) {
                continue; // records were skipped, so those behind them can be asked for
            }
            throwFailure();
            long leftNanos = timeoutNanos - (System.nanoTime() - startNanos);
            if (leftNanos <= 0) {
                return List.of();
            }
            await(leftNanos);
        }
    }

    /**
     * Commits the offsets of all records that were returned, and that were skipped before them. Call it when their
     * work is done. During a rebalance the offsets are kept for the next commit. Blocks for a round trip to the broker.
     *
     * @throws org.apache.kafka.clients.consumer.CommitFailedException if the group has reassigned the partitions; their
     *     new members get the same records again
     * @throws KafkaException if the broker rejects the commit or does not respond
     */
    public void commit() {
        if (done.isEmpty()) {
            return;
        }
        try {
            clockSteps.run(() -> consumer.commitSync(done));
            done.clear();
        } catch (RebalanceInProgressException e) {
            // the next commit includes these offsets
        }
    }

    /**
     * Returns the counts since the consumer was started. Can be called by any thread.
     *
     * @return the counts
     */
    public ThrottledStats stats() {
        return new ThrottledStats(delivered.sum(), skipped.sum(), denied.sum(), undecided.sum(), held);
    }

    /**
     * Ends a {@link #poll} with a {@link org.apache.kafka.common.errors.WakeupException}; the next one, if none is
     * running. Can be called by any thread.
     */
    public void wakeup() {
        clockSteps.wakeup();
    }

    /** Leaves the group. Records that were not committed are returned again, to another member or after a restart. */
    @Override
    public void close() {
        try {
            consumer.close();
        } finally {
            clockSteps.close();
        }
    }

    private void throwFailure() {
        partitions.values().forEach(ThrottledPartition::throwFailure);
    }

    private List<ConsumerRecord<K, V>> takeAll() {
        List<ConsumerRecord<K, V>> ready = new ArrayList<>();
        int before = held;
        Throwable failure = null;
        for (Map.Entry<TopicPartition, ThrottledPartition<K, V>> each : partitions.entrySet()) {
            try {
                takeAll(each.getKey(), each.getValue(), ready);
            } catch (RuntimeException | Error e) { // of a function of the application
                failure = e;
            }
        }
        count();
        delivered.add(ready.size());
        skipped.add(before - held - ready.size());
        if (ready.isEmpty() && failure instanceof RuntimeException e) {
            throw e;
        }
        if (ready.isEmpty() && failure instanceof Error e) {
            throw e;
        }
        return ready; // what was taken counts as returned; the next poll calls the function again
    }

    private void takeAll(TopicPartition partition, ThrottledPartition<K, V> records, List<ConsumerRecord<K, V>> ready) {
        Optional<ConsumerRecord<K, V>> record = records.take(ready);
        while (record.isPresent()) {
            done.put(
                    partition,
                    new OffsetAndMetadata(
                            record.get().offset() + 1, record.get().leaderEpoch(), ""));
            record = records.take(ready);
        }
    }

    private void await(long leftNanos) {
        long waitNanos = leftNanos;
        boolean isDeciding = false;
        for (ThrottledPartition<K, V> each : partitions.values()) {
            isDeciding |= each.isWaitingForDecision();
            OptionalLong next = each.nextNanos();
            if (next.isPresent()) {
                waitNanos = Math.min(waitNanos, Math.max(0, next.getAsLong()));
            }
        }
        if (!isDeciding) {
            receive(Duration.ofNanos(Math.min(waitNanos + MS, MAX_POLL_NANOS)));
            return;
        }
        try {
            if (arrivals.tryAcquire(Math.min(waitNanos, MAX_DECISION_NANOS), TimeUnit.NANOSECONDS)) {
                arrivals.drainPermits();
            }
        } catch (InterruptedException e) {
            throw new InterruptException(e);
        }
        receive(Duration.ZERO);
    }

    private void receive(Duration timeout) {
        bound();
        for (ConsumerRecord<K, V> record : clockSteps.call(() -> consumer.poll(timeout))) {
            partitions
                    .computeIfAbsent(
                            new TopicPartition(record.topic(), record.partition()),
                            unused -> new ThrottledPartition<>(source, System::nanoTime))
                    .add(record);
        }
        count();
    }

    private void count() {
        held = partitions.values().stream().mapToInt(ThrottledPartition::size).sum();
    }

    /** Pauses each partition that has reached its share of the buffer, until half of its share is free. */
    private void bound() {
        Set<TopicPartition> paused = consumer.paused();
        int share = Math.max(1, maxHeld / Math.max(1, partitions.size()));
        partitions.forEach((partition, records) -> {
            if (records.size() >= share && !paused.contains(partition)) {
                consumer.pause(List.of(partition));
            } else if (records.size() <= share / 2 && paused.contains(partition)) {
                consumer.resume(List.of(partition));
            }
        });
    }

    /** Returns the id of a request for a record. */
    static String requestId(String group, ConsumerRecord<?, ?> record, int attempt) {
        String id = group + "/" + record.topic() + "/" + record.partition() + "/" + record.offset() + "~" + attempt;
        return !RequestRules.isTooLong(id)
                ? id
                : UUID.nameUUIDFromBytes(id.getBytes(StandardCharsets.UTF_8)).toString();
    }

    private final class DecisionSource implements ThrottledPartition.ThrottledSource<K, V> {

        @Override
        public CompletableFuture<ClientDecision> decide(ConsumerRecord<K, V> record, int attempt) {
            Request request = requests.apply(record);
            if (request == null) {
                throw new IllegalArgumentException("the function returned no request");
            }
            CompletableFuture<ClientDecision> answer = decider.apply(request.toBuilder()
                    .requestId(requestId(group, record, attempt))
                    .build());
            var unused = answer.whenComplete((decision, failure) -> arrivals.release());
            return answer;
        }

        @Override
        public void denied() {
            denied.increment();
        }

        @Override
        public void undecided() {
            undecided.increment();
        }

        @Override
        public NeverAllowed onNeverAllowed(ConsumerRecord<K, V> record, Decision decision) {
            return required("onNeverAllowed", record, onNeverAllowed.apply(record, decision));
        }

        @Override
        public NeverAllowed onInvalid(ConsumerRecord<K, V> record, IllegalArgumentException failure) {
            return required("onInvalid", record, onInvalid.apply(record, failure));
        }

        private static NeverAllowed required(String function, ConsumerRecord<?, ?> record, NeverAllowed returned) {
            if (returned == null) {
                throw new NullPointerException(function + " returned null for " + ThrottledPartition.place(record));
            }
            return returned;
        }
    }

    /** Drops the records of partitions that are no longer assigned, after the listener was called. */
    private final class DroppingListener implements ConsumerRebalanceListener {
        private final ConsumerRebalanceListener listener;

        DroppingListener(ConsumerRebalanceListener listener) {
            this.listener = listener;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            listener.onPartitionsAssigned(assigned);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            try {
                listener.onPartitionsRevoked(revoked);
            } finally {
                drop(revoked);
            }
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> lost) {
            try {
                listener.onPartitionsLost(lost);
            } finally {
                drop(lost);
            }
        }

        private void drop(Collection<TopicPartition> gone) {
            gone.forEach(partitions::remove);
            gone.forEach(done::remove);
            count();
        }
    }
}
