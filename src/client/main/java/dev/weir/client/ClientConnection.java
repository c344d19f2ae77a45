package dev.weir.client;

import dev.weir.client.kafka.BackgroundFlush;
import dev.weir.client.kafka.KafkaClients;
import dev.weir.client.kafka.ReplyReader;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.client.lease.LeasedDecisions;
import dev.weir.event.Request;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.SchemaRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Kafka clients of a {@link WeirClient}. One thread creates and {@link #connect}s it, and closes it if that fails.
 * Then any thread may use it.
 */
final class ClientConnection implements AutoCloseable {

    private static final Duration CLOSE = Duration.ofSeconds(5);

    private final ClientBuilder options;
    private final Optional<SchemaRegistry> registry;
    private final ReplyReader reader;
    private final LeasedDecisions leases; // null if the client is not leased
    private final BackgroundFlush flush = new BackgroundFlush(() -> this.producer.flush());
    private KafkaProducer<String, byte[]> producer; // null until brokers have responded
    private RequestCodec requestCodec; // null until connected
    private Header replyPartition; // null until connected
    private int requestPartitions; // 0 until connected
    private volatile boolean waitingForRegistry;

    /**
     * Creates Kafka's consumers and checks the settings of the producers. Sends and reads nothing.
     *
     * @param client identifies the client
     * @param replies processes the records of a partition of the topic of replies, on the reader's thread
     * @throws KafkaException if the settings are invalid, or no host name {@linkplain KafkaClients#isUnresolved can be resolved}
     */
    ClientConnection(
            ClientBuilder options,
            Optional<SchemaRegistry> registry,
            UUID client,
            Consumer<ConsumerRecord<byte[], byte[]>> replies) {
        this.options = options;
        this.registry = registry;
        KafkaClients.check(options.producer());
        reader = new ReplyReader(options.consumer(), options.replies(), client, replies);
        try {
            leases = options.leased() ? new LeasedDecisions(options.leaseSettings(), registry) : null;
        } catch (RuntimeException e) {
            reader.close();
            throw e;
        }
    }

    /**
     * Finds the topics, determines the end from which replies are read, and starts reading. Can be repeated after a
     * failure.
     *
     * @throws KafkaException if a topic does not exist, the brokers reject a call or do not respond, or the thread
     *     is interrupted
     * @throws dev.weir.wire.RegistryException if the schema registry does not respond or rejects the schema
     */
    void connect() {
        waitingForRegistry = true;
        requestCodec = new RequestCodec(registry, options.requests());
        waitingForRegistry = false;
        reader.connect(List.of(options.requests()));
        byte[] partition = String.valueOf(reader.partition()).getBytes(StandardCharsets.US_ASCII);
        replyPartition = new RecordHeader(RequestCorrelation.REPLY_PARTITION, partition);
        if (producer == null) {
            producer = new KafkaProducer<>(options.producer(), new StringSerializer(), new ByteArraySerializer());
        }
        requestPartitions = KafkaClients.partitions(producer, options.requests());
        if (leases != null) {
            leases.connect();
        }
        reader.start();
        if (leases != null) {
            leases.start();
        }
    }

    /**
     * Writes a request to its topic, with a header that names the partition of its reply.
     *
     * @throws RuntimeException if it cannot be encoded or is not accepted. Other failures are passed to the callback
     */
    void send(Request request, List<Header> headers, Header correlation, Callback written) {
        ProducerRecord<String, byte[]> record = new ProducerRecord<>(
                options.requests(),
                null,
                request.timestampMs(),
                request.client(),
                requestCodec.encode(request),
                headers);
        record.headers().add(correlation).add(replyPartition);
        var unused = producer.send(record, written);
    }

    /** Returns whether {@link #connect} waits for the schema registry, and not for brokers. */
    boolean isWaitingForRegistry() {
        return waitingForRegistry;
    }

    /**
     * Sends what waits in the producers for further records, without waiting for it. This is needed when the wall clock
     * is set back: a producer measures that wait by the wall clock, so it would last as much longer.
     */
    void flush() {
        flush.request();
        if (leases != null) {
            leases.flush();
        }
    }

    /** Returns the decisions by leases, or null if the client is not leased. */
    LeasedDecisions leases() {
        return leases;
    }

    int replyPartition() {
        return reader.partition();
    }

    /** Returns the number of partitions of the topic of requests. */
    int requestPartitions() {
        return requestPartitions;
    }

    /** Returns the last failure of reading replies; empty if it has succeeded since. */
    Optional<RuntimeException> readerFailure() {
        return reader.failure();
    }

    /** Returns the last failure of reading or leasing; empty if it has succeeded since. */
    Optional<RuntimeException> failure() {
        return reader.failure().or(() -> leases == null ? Optional.empty() : leases.failure());
    }

    /** Returns whether an error has ended a thread of the connection; {@link #failure} is the reason. */
    boolean hasStopped() {
        return reader.hasStopped() || leases != null && leases.hasStopped();
    }

    /** Returns leased quota and writes what was passed to the producer, for a few seconds at most. */
    @Override
    public void close() {
        if (leases != null) {
            leases.close();
        }
        boolean isInterrupted = Thread.interrupted(); // an interrupted thread cannot close Kafka's clients
        reader.close();
        producer.close(CLOSE);
        flush.close();
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes a connection that has never been used. */
    void discard() {
        if (leases != null) {
            leases.discard();
        }
        reader.close();
        if (producer != null) {
            producer.close(Duration.ZERO);
        }
    }
}
