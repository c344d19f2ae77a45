package dev.weir.topics;

import dev.weir.config.WeirConfig;
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
 * Reads the records of a topic outside of any consumer group: those between given offsets with {@link #read} or
 * {@link #iterator}, or all new ones with {@link #follow} and {@link #poll}. One of these is in use at a time. A caller
 * cancels a read by throwing from its callback, or by closing the reader instead of iterating further.
 *
 * <p>All methods throw {@link UnreachableException} if the topic cannot be read.
 */
public final class RecordReader implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(100);

    private final String topic;
    private final Duration timeout;
    private final KafkaConsumer<byte[], byte[]> consumer;

    /**
     * How a topic is read.
     *
     * @param timeout the longest that a request to the brokers, a {@link #read}, or an iterator's next record may take
     * @param settings the settings of Kafka's consumer that depend on the options
     */
    public record Options(Duration timeout, Map<String, Object> settings) {

        public Options {
            settings = Map.copyOf(settings);
        }

        /**
         * Returns options without bounds on memory other than those of Kafka's consumer. Records that are deleted
         * before they are read are skipped.
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

        /** Returns options for queries, which have bounds on their time and heap: 10 s, and 4 MiB at once. */
        public static Options ofQuery() {
            return of(IsolationLevel.READ_COMMITTED, Duration.ofSeconds(10)).withMaxFetchBytes(4 << 20, 1 << 19);
        }

        /** Hands over at most so many records of a fetch at once. */
        public Options withMaxPollRecords(int records) {
            return with(Map.of(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, records));
        }

        /** Fetches at most so many bytes at once, but at least one batch of records. */
        public Options withMaxFetchBytes(int bytes, int bytesOfPartition) {
            return with(Map.of(
                    ConsumerConfig.FETCH_MAX_BYTES_CONFIG,
                    bytes,
                    ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
                    bytesOfPartition));
        }

        /** Fails if the next records have been deleted, instead of skipping them. */
        public Options withoutGaps() {
            return with(Map.of(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none"));
        }

        private Options with(Map<String, Object> more) {
            Map<String, Object> all = new HashMap<>(settings);
            all.putAll(more);
            return new Options(timeout, all);
        }
    }

    /** Opens a reader; sends no request yet. */
    public RecordReader(WeirConfig config, String topic, Options options) {
        this.topic = topic;
        timeout = options.timeout();
        Properties settings = KafkaSettings.consumer(config);
        settings.putAll(options.settings());
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) timeout.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        // At the end of the topic a fetch is in flight, and closing waits for its answer: 500 ms by Kafka's default.
        settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, (int) POLL.toMillis());
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /**
     * Returns the partitions of the topic.
     *
     * @throws UnreachableException if there is no such topic
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

    /** Returns the first offsets that are left. */
    public Map<TopicPartition, Long> beginning(List<TopicPartition> partitions) {
        return request(() -> consumer.beginningOffsets(partitions));
    }

    /**
     * Returns the offsets after the last records. If only committed records are read, these are the offsets before the
     * first open transaction.
     */
    public Map<TopicPartition, Long> end(List<TopicPartition> partitions) {
        return request(() -> consumer.endOffsets(partitions));
    }

    /**
     * Returns the offsets of the first records at a time or later.
     *
     * @param end is returned for partitions without such records
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
     * Hands over the records between two offsets of each partition, those of a partition in their order.
     *
     * @param from the first offsets
     * @param to the offsets after the last ones
     * @throws UnreachableException if the ends are not reached within the timeout
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
     * Returns the records between two offsets of each partition, those of a partition in their order. The timeout
     * starts again with each record.
     *
     * @param from the first offsets
     * @param to the offsets after the last ones
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

    /** Reads from these offsets on with {@link #poll}. */
    public void follow(Map<TopicPartition, Long> from) {
        consumer.assign(from.keySet());
        from.forEach(consumer::seek);
    }

    /** Returns the next records of what is followed; waits for them up to the given time. */
    public ConsumerRecords<byte[], byte[]> poll(Duration wait) {
        return request(() -> consumer.poll(wait));
    }

    private void requireInTime(long startNanos) {
        if (System.nanoTime() - startNanos > timeout.toNanos()) {
            throw new UnreachableException(
                    "cannot read the topic " + topic + " to its end within " + timeout.toSeconds() + " s", null);
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

        /** Returns false once all ends are reached. */
        boolean hasMore() {
            return !left.isEmpty();
        }

        /** Returns the records that have arrived, none if there are none within a short time. */
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
