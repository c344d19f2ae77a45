package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.testing.QueueAudit;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads requests, committed decisions and committed releases from the beginning of the topics. */
public final class QueueHistory implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(200);

    private final RequestCodec requestCodec = new RequestCodec();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    private final ReleaseCodec releaseCodec = new ReleaseCodec();
    private final List<Request> requests = new ArrayList<>();
    private final List<Decision> decisions = new ArrayList<>();
    private final List<Release> releases = new ArrayList<>();
    private final Topics topics;
    private final KafkaConsumer<byte[], byte[]> consumer;

    public QueueHistory(WeirConfig config) {
        topics = Topics.of(config);
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = Stream.of(topics.requests(), topics.decisions(), topics.releases())
                .flatMap(topic ->
                        consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())))
                .toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
    }

    /** Returns all records that are committed by now. */
    public static QueueAudit read(WeirConfig config, Duration patience) {
        try (QueueHistory history = new QueueHistory(config)) {
            return history.readToEnd(patience);
        }
    }

    /** Continues to read for a short time. */
    public QueueAudit poll() {
        long startNanos = System.nanoTime();
        do {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                add(record);
            }
        } while (System.nanoTime() - startNanos < POLL.toNanos());
        return new QueueAudit(requests, decisions, releases);
    }

    /** Continues to read until a condition holds. Fails if that takes longer than {@code patience}. */
    public QueueAudit await(String what, Duration patience, Predicate<QueueAudit> until) {
        long startNanos = System.nanoTime();
        QueueAudit audit = poll();
        while (!until.test(audit)) {
            assertThat(System.nanoTime() - startNanos)
                    .as(
                            "%s; %d requests, %d unanswered, %d waiting, %d released",
                            what, requests.size(), audit.unanswered(), audit.waiting(), audit.released())
                    .isLessThan(patience.toNanos());
            audit = poll();
        }
        return audit;
    }

    /** Continues to read to the current ends of the topics. */
    public QueueAudit readToEnd(Duration patience) {
        Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
        return await("the topics' ends are read", patience, audit -> ends.entrySet().stream()
                .allMatch(end -> consumer.position(end.getKey()) >= end.getValue()));
    }

    /** Continues to read until all requests are decided and none is waiting. */
    public void awaitEnds(Duration patience) {
        readToEnd(patience); // so that no request is missed
        await("all requests have ended", patience, audit -> audit.unanswered() == 0 && audit.waiting() == 0);
    }

    private void add(ConsumerRecord<byte[], byte[]> record) {
        try {
            if (record.topic().equals(topics.requests())) {
                Request.Source source = new Request.Source(record.partition(), record.offset());
                requests.add(requestCodec.decode(record.value(), record.timestamp(), source));
            } else if (record.topic().equals(topics.decisions())) {
                decisions.add(decisionCodec.decode(record.value()));
            } else {
                releases.add(releaseCodec.decode(record.value()));
            }
        } catch (UnreadableException e) {
            throw new AssertionError("unreadable: " + record, e);
        }
    }

    @Override
    public void close() {
        consumer.close();
    }
}
