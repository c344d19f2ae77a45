package dev.weir.client.lease;

import dev.weir.client.kafka.BackgroundFlush;
import dev.weir.client.kafka.KafkaClients;
import dev.weir.client.kafka.TopicFollower;
import dev.weir.event.LeaseUsage;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.SchemaRegistry;
import java.nio.BufferUnderflowException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The topics that a leased client uses: it reads policies and its partition of the lease responses, and writes lease
 * requests and reports on lease usage.
 */
final class LeaseTopics implements AutoCloseable {

    private static final Duration START = Duration.ofSeconds(30);
    private static final Duration CLOSE = Duration.ofSeconds(5);

    /** How long a message can wait for room in the producer's buffer, or for metadata after a long outage. */
    private static final int MAX_BLOCK_MS = 100;

    private final LeaseRequestAvro leaseRequestAvro = new LeaseRequestAvro();
    private final LeaseResponseAvro leaseResponseAvro = new LeaseResponseAvro();
    private final LeaseSettings settings;
    private final LeaseSettings.Topics topics;
    private final Optional<SchemaRegistry> registry;
    private final String holder;
    private final ClientPolicyRegistry policies;
    private final TopicFollower follower;
    private final ResponseHandler responseHandler;
    private final BackgroundFlush flush = new BackgroundFlush(() -> this.producer.flush());
    private KafkaProducer<byte[], byte[]> producer; // null until brokers have responded
    private LeaseUsageAvro usageAvro; // null until connected
    private TopicPartition responses; // null until connected
    private volatile RuntimeException notWritten;

    /** Receives the responses of ledgers. */
    interface ResponseHandler {
        void handleResponse(StateKey key, LeaseResponse response);
    }

    /**
     * Creates Kafka's consumer and checks the settings of the producer. Sends and reads nothing.
     *
     * @throws KafkaException if the settings are invalid
     */
    LeaseTopics(
            LeaseSettings settings,
            Optional<SchemaRegistry> registry,
            String holder,
            ClientPolicyRegistry policies,
            ResponseHandler responseHandler) {
        this.settings = settings;
        topics = settings.topics();
        this.registry = registry;
        this.holder = holder;
        this.policies = policies;
        this.responseHandler = responseHandler;
        Map<String, Object> reading = TopicFollower.settings(settings.consumer());
        reading.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed"); // an aborted lease must not be used
        KafkaClients.check(writing(settings));
        follower = new TopicFollower(reading, "weir-client-lease-responses", this::polled);
    }

    /**
     * Reads all policies and determines the end of the lease responses. Responses written after that are passed on once
     * {@link #start} is called. Can be repeated after a failure.
     *
     * @return the number of partitions of the lease requests
     * @throws KafkaException if a topic does not exist, or the brokers reject a call or do not respond
     * @throws dev.weir.wire.RegistryException if the schema registry does not respond or rejects the schema
     */
    int connect() {
        usageAvro = new LeaseUsageAvro(registry, topics.usage());
        List<TopicPartition> ofPolicies = follower.partitions(topics.policies());
        List<TopicPartition> ofResponses = follower.partitions(topics.responses());
        if (producer == null) {
            producer = new KafkaProducer<>(writing(settings), new ByteArraySerializer(), new ByteArraySerializer());
        }
        for (String written : List.of(topics.requests(), topics.usage())) {
            follower.partitions(written); // a producer could create a topic that is missing
            KafkaClients.partitions(producer, written);
        }
        requireRights();
        responses = ofResponses.get(Math.floorMod(holder.hashCode(), ofResponses.size()));
        follower.reset();
        follower.addFromBeginning(ofPolicies);
        follower.addFromEnd(List.of(responses));
        follower.readToEnd(ofPolicies, START, this::handleRecord);
        policies.update();
        return follower.knownPartitions(topics.requests()).size();
    }

    /**
     * Returns the settings of the producer. They are those for requests, except that a record may be written late: a
     * late report or lease request does no harm.
     */
    private static Map<String, Object> writing(LeaseSettings settings) {
        Map<String, Object> writing = new HashMap<>(settings.producer());
        writing.keySet()
                .removeAll(List.of(
                        ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                        ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG,
                        ProducerConfig.TRANSACTIONAL_ID_CONFIG));
        writing.put(ProducerConfig.ACKS_CONFIG, "all");
        writing.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        writing.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, MAX_BLOCK_MS);
        return writing;
    }

    /**
     * Throws if a permission is missing. Otherwise the client would start, and its usage could later not be reported.
     */
    private void requireRights() {
        Map<String, Set<AclOperation>> needed = Map.of(
                topics.policies(),
                Set.of(AclOperation.READ),
                topics.responses(),
                Set.of(AclOperation.READ),
                topics.requests(),
                Set.of(AclOperation.WRITE),
                topics.usage(),
                Set.of(AclOperation.WRITE),
                topics.replies(),
                Set.of(AclOperation.READ));
        DescribeTopicsOptions withRights = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        Admin admin = Admin.create(TopicFollower.settings(settings.consumer()));
        try {
            Set<String> refused = new TreeSet<>(needed.keySet());
            admin.describeTopics(needed.keySet(), withRights)
                    .allTopicNames()
                    .get(START.toMillis(), TimeUnit.MILLISECONDS)
                    .forEach((topic, described) -> {
                        if (described.authorizedOperations().containsAll(needed.get(topic))) {
                            refused.remove(topic);
                        }
                    });
            if (!refused.isEmpty()) {
                throw new TopicAuthorizationException(refused);
            }
        } catch (ExecutionException e) {
            throw e.getCause() instanceof KafkaException failure ? failure : new KafkaException(e.getCause());
        } catch (java.util.concurrent.TimeoutException e) {
            throw new TimeoutException("the brokers did not return this user's permissions in time", e);
        } catch (InterruptedException e) {
            throw new InterruptException(e);
        } finally {
            admin.close(Duration.ZERO);
        }
    }

    void start() {
        follower.start();
    }

    /** Returns the last failure; empty if the same operation has succeeded since. */
    Optional<RuntimeException> failure() {
        return Optional.ofNullable(notWritten).or(follower::failure);
    }

    /** Returns whether an error has ended the thread that reads. */
    boolean hasStopped() {
        return follower.hasStopped();
    }

    private void polled(ConsumerRecords<byte[], byte[]> records) {
        if (handleRecord(records)) {
            policies.update();
        }
    }

    /** Processes records. Returns whether they include policies. */
    private boolean handleRecord(ConsumerRecords<byte[], byte[]> records) {
        boolean hasPolicies = false;
        for (ConsumerRecord<byte[], byte[]> record : records) {
            if (record.topic().equals(responses.topic())) {
                handleResponse(record);
            } else {
                String key = record.key() == null ? null : new String(record.key(), StandardCharsets.UTF_8);
                policies.read(key, record.value());
                hasPolicies = true;
            }
        }
        return hasPolicies;
    }

    /** Processes a response. One that cannot be decoded is ignored, since enforcers write it to the dead letters. */
    private void handleResponse(ConsumerRecord<byte[], byte[]> record) {
        try {
            LeaseResponseAvro.Addressed addressed = leaseResponseAvro.decode(record.value(), record.partition());
            if (addressed.holder().equals(holder) && record.key() != null) {
                responseHandler.handleResponse(KeyCodec.decode(record.key()), addressed.response());
            }
        } catch (UnreadableException | BufferUnderflowException e) {
            // enforcers report it
        }
    }

    void requestLease(StateKey key, LeaseRequest request) {
        byte[] value = leaseRequestAvro.encode(new LeaseRequestAvro.Addressed(request, responses.partition()));
        send(new ProducerRecord<>(topics.requests(), KeyCodec.encode(key), value));
    }

    void report(StateKey key, LeaseUsage usage) {
        send(new ProducerRecord<>(topics.usage(), KeyCodec.encode(key), usageAvro.encode(usage)));
    }

    private void send(ProducerRecord<byte[], byte[]> record) {
        var unused = producer.send(record, (metadata, exception) -> {
            notWritten = exception instanceof KafkaException e ? e : null;
        });
    }

    /** Sends the messages that wait in the producer for further ones, and does not wait until they are written. */
    void flush() {
        flush.request();
    }

    /** Stops reading, and writes what was passed to the producer, for up to 5 s. */
    @Override
    public void close() {
        follower.close();
        boolean isInterrupted = Thread.interrupted(); // an interrupted thread could not write the last records
        producer.close(CLOSE);
        flush.close();
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes Kafka's clients, before {@link #start}. Writes nothing. */
    void discard() {
        follower.close();
        if (producer != null) {
            producer.close(Duration.ZERO);
        }
    }
}
