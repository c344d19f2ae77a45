package dev.weir.client.pipeline;

import dev.weir.client.kafka.BackgroundFlush;
import dev.weir.client.kafka.KafkaClients;
import dev.weir.client.kafka.ReplyReader;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.client.lease.LeasedDecisions;
import dev.weir.event.Request;
import dev.weir.lease.holder.ClockStepDetector;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.SchemaRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Kafka clients of a pipeline. One thread creates and {@link #connect}s it, and closes it if that fails.
 * Then any thread may use it.
 */
final class ClientConnection implements AutoCloseable {

    private static final Duration CLOSE = Duration.ofSeconds(5);

    private final PipelineSettings.Kafka kafka;
    private final Optional<SchemaRegistry> registry;
    private final ReplyReader reader;
    private final RequestCorrelation correlation;
    private final Optional<LeasedDecisions> leases;
    private final ClockStepDetector clock = new ClockStepDetector();
    private long setBack; // only for the thread that checks the clock
    private final BackgroundFlush flush = new BackgroundFlush(() -> this.producer.flush());
    private KafkaProducer<String, byte[]> producer; // null until brokers have responded
    private RequestCodec requestCodec; // null until connected
    private Header replyPartition; // null until connected
    private int requestPartitions; // 0 until connected
    private volatile boolean waitingForRegistry;

    /**
     * Creates Kafka's consumers and checks the settings of the producers. Sends and reads nothing.
     *
     * @param correlation identifies the requests of the client
     * @param replies receives the decisions, on the reader's thread
     * @throws KafkaException if the settings are invalid, or no host name {@linkplain KafkaClients#isUnresolved can be
     *     resolved}
     */
    ClientConnection(
            PipelineSettings settings,
            Optional<SchemaRegistry> registry,
            RequestCorrelation correlation,
            ReplyReader.Replies replies) {
        kafka = settings.kafka();
        this.registry = registry;
        this.correlation = correlation;
        KafkaClients.check(kafka.producer());
        reader = new ReplyReader(kafka.consumer(), kafka.replies(), correlation, new DecisionCodec(registry), replies);
        try {
            leases = settings.leases().map(leasing -> new LeasedDecisions(leasing, registry));
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
        requestCodec = new RequestCodec(registry, kafka.requests());
        waitingForRegistry = false;
        reader.connect(List.of(kafka.requests()));
        byte[] partition = String.valueOf(reader.partition()).getBytes(StandardCharsets.US_ASCII);
        replyPartition = new RecordHeader(RequestCorrelation.REPLY_PARTITION, partition);
        if (producer == null) {
            producer = new KafkaProducer<>(kafka.producer(), new StringSerializer(), new ByteArraySerializer());
        }
        requestPartitions = KafkaClients.partitions(producer, kafka.requests());
        leases.ifPresent(LeasedDecisions::connect);
        reader.start();
        leases.ifPresent(LeasedDecisions::start);
    }

    /**
     * Writes a request to its topic, with headers that name its number and the partition of its reply.
     *
     * @throws RuntimeException if it cannot be encoded or is not accepted. Other failures are passed to the callback
     */
    void send(Request request, List<Header> headers, long number, Callback written) {
        ProducerRecord<String, byte[]> record = new ProducerRecord<>(
                kafka.requests(), null, request.timestampMs(), request.client(), requestCodec.encode(request), headers);
        record.headers().add(correlation.header(number)).add(replyPartition);
        var unused = producer.send(record, written);
    }

    /** Returns whether {@link #connect} waits for the schema registry, and not for brokers. */
    boolean isWaitingForRegistry() {
        return waitingForRegistry;
    }

    /**
     * Sends what waits in the producers for further records if the wall clock was set back since the last call. A
     * producer measures that wait by the wall clock, so it would last as much longer. One thread calls this.
     */
    void checkClock() {
        var unused = clock.observe(System::nanoTime, System::currentTimeMillis);
        if (clock.backwardCount() > setBack) {
            setBack = clock.backwardCount();
            flush.request();
            leases.ifPresent(LeasedDecisions::flush);
        }
    }

    /** Returns the decisions by leases; empty if the client is not leased. */
    Optional<LeasedDecisions> leases() {
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
        return reader.failure().or(() -> leases.flatMap(LeasedDecisions::failure));
    }

    /** Returns whether an error has ended a thread of the connection; {@link #failure} is the reason. */
    boolean hasStopped() {
        return reader.hasStopped() || leases.filter(LeasedDecisions::hasStopped).isPresent();
    }

    /** Returns leased quota and writes what was passed to the producer, for a few seconds at most. */
    @Override
    public void close() {
        leases.ifPresent(LeasedDecisions::close);
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
        leases.ifPresent(LeasedDecisions::discard);
        reader.close();
        if (producer != null) {
            producer.close(Duration.ZERO);
        }
    }
}
