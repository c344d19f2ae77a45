package dev.weir.failure;

import dev.weir.app.KafkaSettings;
import dev.weir.app.Recomputation;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Decision;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.topology.Topics;
import java.time.Duration;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * As {@link DecidedOnce} and {@link AsRecomputed}, while it reads: for more requests than fit in memory, where none goes to a
 * queue or to the dead letters, and no rule changes. A partition's decisions then stand in the order of its requests.
 */
final class AsRead {

    private static final DecisionAvro DECISIONS = new DecisionAvro();
    private static final RequestAvro REQUESTS = new RequestAvro();

    private AsRead() {}

    /** Reads both topics side by side up to their present ends. */
    static Finding check(WeirConfig config, PolicyTable policies, Duration patience) throws UnreadableException {
        Finding.Notes notes = new Finding.Notes("decided once, as recomputed", "requests", "decisions");
        Topics topics = Topics.of(config.topics().prefix());
        for (int partition = 0; partition < config.topics().partitions(); partition++) {
            try (Committed requests =
                            new Committed(config, new TopicPartition(topics.requests(), partition), patience);
                    Committed decisions =
                            new Committed(config, new TopicPartition(topics.decisions(), partition), patience)) {
                check(requests, decisions, new Recomputation(policies, config.state()), notes);
            }
        }
        return notes.done();
    }

    private static void check(Committed requests, Committed decisions, Recomputation core, Finding.Notes notes)
            throws UnreadableException {
        while (requests.hasNext()) {
            ConsumerRecord<byte[], byte[]> asked = requests.next();
            Request.Source source = new Request.Source(asked.partition(), asked.offset());
            Request request = REQUESTS.decode(asked.value(), asked.timestamp(), source);
            Decision expected = (Decision) core.decide(request);
            notes.count("requests");
            if (!decisions.hasNext()) {
                notes.fault(Oracle.at(request) + ": no decision");
                continue;
            }
            byte[] told = decisions.next().value();
            notes.count("decisions");
            if (!Arrays.equals(DECISIONS.encode(expected), told)) {
                notes.fault(Oracle.at(request) + ": is " + DECISIONS.decode(told) + ", should be " + expected);
            }
        }
        while (decisions.hasNext()) {
            notes.count("decisions");
            notes.fault(DECISIONS.decode(decisions.next().value()) + ": one too many");
        }
    }

    /** What is committed on a partition, up to its present end. */
    private static final class Committed implements Iterator<ConsumerRecord<byte[], byte[]>>, AutoCloseable {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final TopicPartition partition;
        private final Duration patience;
        private final long end;
        private Iterator<ConsumerRecord<byte[], byte[]>> polled =
                List.<ConsumerRecord<byte[], byte[]>>of().iterator();

        Committed(WeirConfig config, TopicPartition partition, Duration patience) {
            Properties settings = KafkaSettings.consumer(config);
            settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
            settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 5_000);
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            this.partition = partition;
            this.patience = patience;
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            end = consumer.endOffsets(List.of(partition)).get(partition);
        }

        @Override
        public boolean hasNext() {
            long startNanos = System.nanoTime();
            while (!polled.hasNext() && consumer.position(partition) < end) {
                if (System.nanoTime() - startNanos > patience.toNanos()) {
                    throw new IllegalStateException(partition + " cannot be read to its end " + end);
                }
                polled = consumer.poll(Duration.ofMillis(200)).iterator();
            }
            return polled.hasNext();
        }

        @Override
        public ConsumerRecord<byte[], byte[]> next() {
            return polled.next();
        }

        @Override
        public void close() {
            consumer.close();
        }
    }
}
