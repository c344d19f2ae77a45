package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A reader of a topic that uses no consumer group. It reads the records between given offsets with {@link #read} or
 * {@link #iterator}, or new records with {@link #follow} and {@link #poll}. Only one of these can be in use at a time.
 * To cancel a read, throw an exception from the callback, or close the reader instead of calling the iterator again.
 *
 * <p>All methods throw {@link UnreachableException} if the topic cannot be read. Not thread-safe.
 */
public final class RecordReader implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(100);

    /** The metric of Kafka's consumer with the number of fetch responses. */
    private static final String FETCHES = "fetch-total";

    private static final String FETCH_METRICS = "consumer-fetch-manager-metrics";

    private final String topic;
    private final Duration timeout;
    private final KafkaConsumer<byte[], byte[]> consumer;

    /**
     * The options of a reader.
     *
     * @param timeout the timeout of a request to the brokers, of a {@link #read}, and of an iterator's next record
     * @param settings the properties of Kafka's consumer that depend on the options
     */
    public record Options(Duration timeout, Map<String, Object> settings) {

        public Options {
            settings = Map.copyOf(settings);
        }

        /**
         * Returns options with the memory bounds of Kafka's consumer. Records that are deleted before they are read
         * are skipped.
         */
        public static Options of(IsolationLevel isolation, Duration timeout) {
            return new Options(
                    timeout,
                    Map.of(
                            ConsumerConfig.ISOLATION_LEVEL_CONFIG,
                            isolation.toString(),
                            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
                            "earliest"));
        }

        /** Returns the options for queries, which read committed records with a timeout of 10 s and 4 MiB per fetch. */
        public static Options ofQuery() {
            return of(IsolationLevel.READ_COMMITTED, Duration.ofSeconds(10)).withMaxFetchBytes(4 << 20, 1 << 19);
        }

        /** Sets the maximum number of records per poll. */
        public Options withMaxPollRecords(int records) {
            return with(Map.of(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, records));
        }

        /** Sets the maximum number of bytes per fetch, in total and per partition. A fetch has at least one batch. */
        public Options withMaxFetchBytes(int bytes, int bytesOfPartition) {
            return with(Map.of(
                    ConsumerConfig.FETCH_MAX_BYTES_CONFIG,
                    bytes,
                    ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
                    bytesOfPartition));
        }

        /** Makes a read fail if the next records have been deleted, instead of skipping them. */
        public Options withoutGaps() {
            return with(Map.of(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none"));
        }

        private Options with(Map<String, Object> more) {
            Map<String, Object> all = new HashMap<>(settings);
            all.putAll(more);
            return new Options(timeout, all);
        }
    }

    /** Opens a reader without sending a request. */
    public RecordReader(WeirConfig config, String topic, Options options) {
        this.topic = topic;
        timeout = options.timeout();
        Properties settings = KafkaSettings.consumer(config);
        settings.putAll(options.settings());
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) timeout.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        // At the end of the topic a fetch is in flight, and close() waits for its response: 500 ms by Kafka's default.
        settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, (int) POLL.toMillis());
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /**
     * Returns the partitions of the topic.
     *
     * @throws UnreachableException if the topic does not exist
     */
    public List<TopicPartition> partitions() {
        List<TopicPartition> partitions = request(() -> consumer.partitionsFor(topic)).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
        if (partitions.isEmpty()) {
            throw UnreachableException.noTopic(topic);
        }
        return partitions;
    }

    /** Returns the first offsets that have not been deleted. */
    public Map<TopicPartition, Long> beginning(List<TopicPartition> partitions) {
        return request(() -> consumer.beginningOffsets(partitions));
    }

    /**
     * Returns the offsets after the last records. If only committed records are read, returns the last stable offsets,
     * which are those of the first open transactions.
     */
    public Map<TopicPartition, Long> end(List<TopicPartition> partitions) {
        return request(() -> consumer.endOffsets(partitions));
    }

    /**
     * Returns the offsets of the first records with the given timestamp or a later one.
     *
     * @param end the offsets to return for partitions without such records
     */
    public Map<TopicPartition, Long> at(long timeMs, Map<TopicPartition, Long> end) {
        Map<TopicPartition, Long> times = new HashMap<>();
        end.keySet().forEach(partition -> times.put(partition, timeMs));
        Map<TopicPartition, Long> offsets = new HashMap<>(end);
        request(() -> consumer.offsetsForTimes(times)).forEach((partition, found) -> {
            if (found != null) {
                offsets.merge(partition, found.offset(), Math::min);
            }
        });
        return offsets;
    }

    /**
     * Passes the records between two offsets of each partition to a callback. The records of a partition are in order.
     *
     * @param from the first offsets, inclusive
     * @param to the last offsets, exclusive
     * @throws UnreachableException if the last offsets are not reached within the timeout
     */
    public void read(
            Map<TopicPartition, Long> from,
            Map<TopicPartition, Long> to,
            Consumer<ConsumerRecord<byte[], byte[]>> records) {
        Part part = new Part(from, to);
        long startNanos = System.nanoTime();
        while (part.hasMore()) {
            requireInTime(startNanos);
            part.poll().forEach(records);
        }
    }

    /**
     * Returns the records between two offsets of each partition. The records of a partition are in order. The timeout
     * applies to each record.
     *
     * @param from the first offsets, inclusive
     * @param to the last offsets, exclusive
     */
    public Iterator<ConsumerRecord<byte[], byte[]>> iterator(
            Map<TopicPartition, Long> from, Map<TopicPartition, Long> to) {
        Part part = new Part(from, to);
        return new Iterator<>() {
            private Iterator<ConsumerRecord<byte[], byte[]>> polled = Collections.emptyIterator();

            @Override
            public boolean hasNext() {
                long startNanos = System.nanoTime();
                while (!polled.hasNext() && part.hasMore()) {
                    requireInTime(startNanos);
                    polled = part.poll().iterator();
                }
                return polled.hasNext();
            }

            @Override
            public ConsumerRecord<byte[], byte[]> next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return polled.next();
            }
        };
    }

    /** Returns the number of responses to fetch requests so far. */
    long fetches() {
        return consumer.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals(FETCHES)
                        && metric.metricName().group().equals(FETCH_METRICS))
                .mapToLong(metric -> ((Number) metric.metricValue()).longValue())
                .sum();
    }

    /** Sets the positions from which {@link #poll} reads. */
    public void follow(Map<TopicPartition, Long> from) {
        consumer.assign(from.keySet());
        from.forEach(consumer::seek);
    }

    /** Returns the next records of the followed partitions. Waits up to the given time if there are none. */
    public ConsumerRecords<byte[], byte[]> poll(Duration wait) {
        return request(() -> consumer.poll(wait));
    }

    private void requireInTime(long startNanos) {
        if (System.nanoTime() - startNanos > timeout.toNanos()) {
            throw new UnreachableException(
                    "cannot read the topic " + topic + " to its end within "
                            + DurationsAndSizes.duration(timeout.toMillis()),
                    null);
        }
    }

    private <T> T request(Supplier<T> request) {
        try {
            return request.get();
        } catch (OffsetOutOfRangeException e) {
            throw new UnreachableException(
                    "the beginning of the topic " + topic + " was deleted while it was read; try again", e);
        } catch (KafkaException e) {
            throw UnreachableException.reading(topic, e);
        }
    }

    @Override
    public void close() {
        consumer.close();
    }

    /** The records between two offsets of each partition. */
    private final class Part {
        private final Map<TopicPartition, Long> to;
        private final List<TopicPartition> left;

        Part(Map<TopicPartition, Long> from, Map<TopicPartition, Long> to) {
            this.to = to;
            Map<TopicPartition, Long> starts = new HashMap<>(from);
            starts.entrySet().removeIf(start -> start.getValue() >= to.get(start.getKey()));
            left = new ArrayList<>(starts.keySet());
            follow(starts);
        }

        /** Returns false when all last offsets have been reached. */
        boolean hasMore() {
            return !left.isEmpty();
        }

        /** Returns the records that arrive within a short time. */
        List<ConsumerRecord<byte[], byte[]>> poll() {
            List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (ConsumerRecord<byte[], byte[]> record : RecordReader.this.poll(POLL)) {
                if (record.offset() < to.get(new TopicPartition(topic, record.partition()))) {
                    records.add(record);
                }
            }
            if (left.removeIf(one -> request(() -> consumer.position(one)) >= to.get(one))) {
                consumer.assign(left);
            }
            return records;
        }
    }
}
