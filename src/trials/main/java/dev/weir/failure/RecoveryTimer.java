package dev.weir.failure;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Utils;

/** A timer that measures the time from a fault to the next committed output of each affected partition. */
final class RecoveryTimer implements AutoCloseable {

    /**
     * The recovery of one partition after a fault.
     *
     * @param cause the kind of the fault
     * @param partition the partition: of requests (output: decisions), or of admissions (output:
     *     decisions and releases of queues)
     * @param millis the time from the fault until a {@code read_committed} reader received output written after it
     */
    record Recovery(String cause, TopicPartition partition, long millis) {}

    /** The decisions on what workers report, which is no part of the load. */
    private static final Set<Reason> ANSWERS_OF_WORKERS =
            Set.of(Reason.COMPLETED, Reason.EXTENDED, Reason.STALE_ATTEMPT);

    private record Hit(String cause, long sinceMs, long atMs, Set<TopicPartition> silent) {}

    private final Topics topics;
    private final Set<String> queues;
    private final int partitions;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Thread thread = new Thread(this::run, "watch");
    private final DecisionCodec decisions = new DecisionCodec();
    private final ReleaseCodec releases = new ReleaseCodec();
    private final List<Hit> hits = new ArrayList<>();
    private final List<Recovery> recoveries = new ArrayList<>();
    private long answered;
    private volatile boolean closed;
    private volatile Exception failure;

    /** @param queues queues without key; only their output is that of a partition of admissions */
    RecoveryTimer(WeirConfig config, Set<String> queues) {
        this.queues = queues;
        topics = Topics.of(config);
        partitions = config.topics().partitions();
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> all = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            all.add(new TopicPartition(topics.decisions(), partition));
            all.add(new TopicPartition(topics.releases(), partition));
            all.add(new TopicPartition(topics.deadLetters(), partition));
        }
        consumer.assign(all);
        consumer.seekToBeginning(all);
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns the admissions partition of a queue without key. */
    private TopicPartition partitionOf(String queue) {
        int hash = Utils.toPositive(Utils.murmur2(queue.getBytes(StandardCharsets.UTF_8)));
        return new TopicPartition(topics.admissions(), hash % partitions);
    }

    /**
     * Starts to measure the recovery of these partitions, which ends with output written after now. Partitions of
     * admissions count only if they have queues without key.
     *
     * @param sinceMs the start of the measurement, before now if the instance was reported to stop earlier
     */
    synchronized void hit(String cause, long sinceMs, Collection<TopicPartition> hit) {
        Set<TopicPartition> withQueues = new HashSet<>();
        queues.forEach(queue -> withQueues.add(partitionOf(queue)));
        Set<TopicPartition> silent = new HashSet<>(hit);
        silent.removeIf(partition -> !partition.topic().equals(topics.requests()) && !withQueues.contains(partition));
        hits.add(new Hit(cause, sinceMs, System.currentTimeMillis(), silent));
    }

    /** Discards partitions that have not recovered, because a later fault may affect them too. */
    synchronized void clear() {
        hits.clear();
    }

    /** Returns the partitions that have not recovered, as text. */
    synchronized String silent() {
        return hits.toString();
    }

    /** Returns whether every affected partition has recovered. */
    synchronized boolean isQuiet() {
        return hits.stream().allMatch(hit -> hit.silent.isEmpty());
    }

    synchronized List<Recovery> recoveries() {
        return List.copyOf(recoveries);
    }

    /** Returns the number of requests of the load that have a first decision or a dead letter. */
    synchronized long answered() {
        throwFailure();
        return answered;
    }

    private void throwFailure() {
        if (failure != null) {
            throw new IllegalStateException("the recovery timer has failed", failure);
        }
    }

    private void run() {
        try (consumer) {
            while (!closed) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(20))) {
                    see(record);
                }
            }
        } catch (UnreadableException | RuntimeException e) {
            failure = e;
        }
    }

    private synchronized void see(ConsumerRecord<byte[], byte[]> record) throws UnreadableException {
        if (record.topic().equals(topics.deadLetters())) {
            answered += isGivenUp(record) ? 0 : 1;
        } else if (record.topic().equals(topics.releases())) {
            queueCame(releases.decode(record.value()).queue(), record.timestamp());
        } else {
            see(decisions.decode(record.value()), record.partition(), record.timestamp());
        }
    }

    /** Returns whether the dead letter is that of a request which a queue had admitted before. */
    private static boolean isGivenUp(ConsumerRecord<byte[], byte[]> letter) {
        String reason =
                new String(letter.headers().lastHeader(DeadLetterHeaders.REASON).value(), StandardCharsets.UTF_8);
        return reason.equals(Rejection.ATTEMPTS_EXHAUSTED.name()) || reason.equals(Rejection.FAILED.name());
    }

    /** @param partition that of the task that decided, also for a request that was written to another partition */
    private void see(Decision decision, int partition, long writtenMs) {
        answered += decision.endsWait() || ANSWERS_OF_WORKERS.contains(decision.reason()) ? 0 : 1;
        if (decision.queueing() == null) {
            came(new TopicPartition(topics.requests(), partition), writtenMs);
        } else {
            queueCame(decision.queueing().queue(), writtenMs); // decided by the shaping application
        }
    }

    private void queueCame(String queue, long writtenMs) {
        if (queues.contains(queue)) {
            came(partitionOf(queue), writtenMs);
        }
    }

    private void came(TopicPartition partition, long writtenMs) {
        long nowMs = System.currentTimeMillis();
        for (Iterator<Hit> iterator = hits.iterator(); iterator.hasNext(); ) {
            Hit hit = iterator.next();
            if (writtenMs > hit.atMs && hit.silent.remove(partition)) {
                recoveries.add(new Recovery(hit.cause, partition, nowMs - hit.sinceMs));
            }
            if (hit.silent.isEmpty()) {
                iterator.remove();
            }
        }
    }

    @Override
    public void close() {
        closed = true;
    }
}
