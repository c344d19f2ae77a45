package dev.weir.query;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.requests.RequestReader;
import dev.weir.topics.RecordReader;
import dev.weir.wire.RegistryException;
import dev.weir.wire.RequestCodec;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Recent requests, which are read again when they are older than {@value #MAX_AGE_MS} ms: a page that checks a
 * definition after each pause of typing does not read the topic each time. A failure counts as no requests.
 * Thread-safe.
 */
public final class RequestSample implements Supplier<List<Request>> {

    private static final Logger LOG = LoggerFactory.getLogger(RequestSample.class);

    static final long MAX_AGE_MS = 10_000;

    /** How many records are read of all partitions together, but at least {@link #MIN_READ_OF_PARTITION} of each. */
    private static final int MOST_READ = 5_000;

    private static final int MIN_READ_OF_PARTITION = 20;

    /** After so many bytes of records, with payloads, no more are read. */
    private static final long MAX_READ_BYTES = 8 << 20;

    /** After so many requests and attributes, no more are read. With the bound on bytes, it bounds the heap. */
    private static final int MAX_VALUES = 50_000;

    /** After so long, no more are read. */
    private static final long MAX_READ_MS = 10_000;

    private static final long NANOS_PER_MS = 1_000_000;

    private final Supplier<List<Request>> reader;
    private final LongSupplier nanoTime;
    private List<Request> requests;
    private long readAtNanos;

    /** Creates a sample of the request topic. */
    public RequestSample(WeirConfig config) {
        this(() -> read(config), System::nanoTime);
    }

    /**
     * @param reader reads recent requests
     * @param nanoTime the clock of the age
     */
    RequestSample(Supplier<List<Request>> reader, LongSupplier nanoTime) {
        this.reader = reader;
        this.nanoTime = nanoTime;
    }

    /** Returns the requests. Callers at the same time wait for one read. */
    @Override
    public synchronized List<Request> get() {
        if (requests == null || nanoTime.getAsLong() - readAtNanos > MAX_AGE_MS * NANOS_PER_MS) {
            requests = reader.get();
            readAtNanos = nanoTime.getAsLong();
        }
        return requests;
    }

    /**
     * Reads the end of the request topic.
     *
     * @return the requests without payloads; none if they cannot be read, for lack of permissions or within 10 s
     */
    public static List<Request> read(WeirConfig config) {
        List<Request> requests = new ArrayList<>();
        RequestReader reader = new RequestReader(
                new RequestCodec(SchemaRegistries.of(config)), config.requests().rules());
        try (RecordReader records =
                new RecordReader(config, Topics.of(config).requests(), RecordReader.Options.ofQuery())) {
            List<TopicPartition> all = records.partitions();
            long ofEach = Math.max(MIN_READ_OF_PARTITION, MOST_READ / Math.max(1, all.size()));
            Map<TopicPartition, Long> from = records.beginning(all);
            Map<TopicPartition, Long> end = records.end(all);
            from.replaceAll((partition, beginning) -> Math.max(beginning, end.get(partition) - ofEach));
            long endNanos = System.nanoTime() + MAX_READ_MS * NANOS_PER_MS;
            long bytes = 0;
            int values = 0;
            Iterator<ConsumerRecord<byte[], byte[]>> each = records.iterator(from, end);
            while (bytes < MAX_READ_BYTES
                    && values < MAX_VALUES
                    && System.nanoTime() - endNanos < 0
                    && each.hasNext()) {
                ConsumerRecord<byte[], byte[]> record = each.next();
                bytes += Math.max(0, record.serializedKeySize()) + (long) Math.max(0, record.serializedValueSize());
                values += add(record, reader, requests);
            }
        } catch (UnreachableException | RegistryException | KafkaException e) {
            LOG.debug("Recent requests cannot be read", e);
            return List.of();
        }
        return List.copyOf(requests);
    }

    /** Adds the request of a record, and returns how many values it has; 0 for a dead letter. */
    private static int add(ConsumerRecord<byte[], byte[]> record, RequestReader reader, List<Request> requests) {
        try {
            Request.Source source = new Request.Source(record.partition(), record.offset());
            Request request = reader.read(record.key(), record.value(), record.headers(), record.timestamp(), source);
            requests.add(request.withoutPayload());
            return 1 + request.attributes().size();
        } catch (UnreadableException e) {
            return 0;
        }
    }
}
