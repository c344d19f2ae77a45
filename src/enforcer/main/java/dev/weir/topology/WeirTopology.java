package dev.weir.topology;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.pacing.CommitPacing;
import dev.weir.processor.Decide;
import dev.weir.processor.DecisionReply;
import dev.weir.processor.Lend;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.ReadLeaseResponses;
import dev.weir.processor.ReadRequests;
import dev.weir.processor.ReadRoutedRequests;
import dev.weir.processor.ReplyPartitions;
import dev.weir.processor.Shape;
import dev.weir.processor.policy.CheckPolicies;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.processor.policy.UpdatePolicies;
import dev.weir.requests.RecordOrigin;
import dev.weir.requests.RequestPartitions;
import dev.weir.requests.RequestPlacement;
import dev.weir.requests.RequestReader;
import dev.weir.requests.RequestTimestamps;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.BucketId;
import dev.weir.storage.CacheBudget;
import dev.weir.storage.HolderNames;
import dev.weir.storage.QueueKeys;
import dev.weir.storage.StoredQueues;
import dev.weir.storage.codec.QueueMessageCodec;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.SchemaRegistry;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.processor.TimestampExtractor;

/**
 * The two topologies of Weir, each of which is an application of its own. {@code topology-docs/explanation/shaping.md}
 * explains why.
 *
 * <pre>
 *   weir.policies ──▶ update-policies ──▶ (policies)
 *                                             ┊
 *   weir.requests ────────▶ read-requests ──▶ decide ──▶ weir.decisions
 *                           │  │            ↗ ├──▶ weir.replies
 *                           │  │           │  ├── (policy-states)
 *               misplaced   │  │           │  ├── (log-segments)
 *        ╭──────────────────╯  │           │  ├── (idempotency)
 *        │                     │           │  ├── (reservations)
 *        ▼                     │           │  ├── (lease-books)
 *   weir.routed-requests. ─▶ read-routed ──┤  ├── (waiting-requests)
 *                              │           │  ├── (decision-order)
 *                              │           │  ├──▶ weir.lease-requests.
 *   weir.lease-responses. ─▶ read-leases ──╯  └──▶ weir.admissions.
 *                              │
 *                              └──▶ weir.dead-letters
 *
 *   weir.policies ──▶ check-policies ──▶ weir.policies
 *                          ├── (good-policies)
 *                          └──▶ weir.dead-letters
 *
 *                                         (policies)
 *                                             ┊
 *   weir.admissions. ─────────────────▶ shape ──▶ weir.decisions
 *                                         ├──▶ weir.replies
 *                                         ├── (queue-states)
 *                                         ├── (queue-entries)
 *                                         ├── (queue-tickets)
 *                                         ├── (queue-expiry-timers)
 *                                         ├── (queue-timers)
 *                                         ├── (queue-schedule)
 *                                         ├── (queue-idempotency)
 *                                         ├──▶ weir.releases
 *                                         ├──▶ weir.admissions.
 *                                         ├──▶ weir.routed-requests.
 *                                         └──▶ weir.dead-letters
 *
 *                                         (policies)
 *                                             ┊
 *   weir.lease-requests. ─────────────▶ lend ──▶ weir.lease-responses.
 *                                         ├── (ledgers)
 *                                         ├── (ledger-segments)
 *                                         └──▶ weir.dead-letters
 * </pre>
 *
 * Names of topics that end in a dot are followed by the application id.
 */
public final class WeirTopology {

    private static final String REQUESTS = "requests";
    private static final String READ_REQUESTS = "read-requests";
    private static final String MISPLACED = "misplaced";
    private static final String ROUTED = "routed-requests";
    private static final String READ_ROUTED = "read-routed";
    private static final String DECIDE = "decide";
    private static final String ADMISSIONS_IN = "admissions";
    private static final String SHAPE = "shape";
    private static final String DECISIONS = "decisions";
    private static final String REPLIES = "replies";
    private static final String RELEASES = "releases";
    private static final String ADMISSIONS_OUT = "admissions";
    private static final String QUEUE_MESSAGES = "queue-messages";
    private static final String RESERVATIONS = "cancelled-reservations";
    private static final String DEAD_LETTERS = "dead-letters";
    private static final String LEASE_RESPONSES_IN = "lease-responses";
    private static final String READ_LEASE_RESPONSES = "read-leases";
    private static final String LEASE_REQUESTS_OUT = "lease-requests";
    private static final String LEASE_REQUESTS_IN = "lease-requests";
    private static final String LEND = "lend";
    private static final String LEASE_RESPONSES_OUT = "lease-responses";
    private static final String POLICIES = "policies";
    private static final String UPDATE_POLICIES = "update-policies";
    private static final String CHECK_POLICIES = "check-policies";
    private static final String RESTORED_POLICIES = "restored-policies";
    private static final String BAD_POLICIES = "bad-policies";

    /** The timestamp of the record; 0 if it has none. */
    private static final TimestampExtractor RECORD_TIME = (record, partitionTime) -> Math.max(0, record.timestamp());

    /**
     * The timestamp of the record from which a request was routed. A record without that information becomes a dead
     * letter with its own timestamp.
     */
    private static final TimestampExtractor ORIGINAL_TIME =
            (record, partitionTime) -> RecordOrigin.read(record.headers())
                    .map(RecordOrigin::timestampMs)
                    .orElseGet(() -> Math.max(0, record.timestamp()));

    /** Timestamp 0 for responses of ledgers, so that they are processed before requests, which may wait for them. */
    private static final TimestampExtractor AT_ONCE = (record, partitionTime) -> 0;

    private static final StreamPartitioner<byte[], LeaseResponseAvro.Addressed> TO_HOLDER =
            (topic, key, response, partitions) -> Optional.of(Set.of(Math.min(response.partition(), partitions - 1)));

    /**
     * Selects the partition of a message to queues. A report goes to the partition that an unkeyed queue with this name
     * would be on, where the ledger of its total is. A grant and a marker go to the partition that they name, and an
     * admission to that of its key.
     */
    private static final StreamPartitioner<byte[], QueueMessage> TO_QUEUE = (topic, key, message, partitions) -> {
        if (message instanceof QueueMessage.Reported reported) {
            byte[] ledger =
                    QueueKeys.record(new BucketId(reported.report().place().queue(), List.of()));
            return Optional.of(Set.of(BuiltInPartitioner.partitionForKey(ledger, partitions)));
        }
        if (message instanceof QueueMessage.Granted granted) {
            return Optional.of(Set.of(Math.min(granted.grant().place().partition(), partitions - 1)));
        }
        return message instanceof QueueMessage.Marker marker
                ? Optional.of(Set.of(marker.partition()))
                : Optional.empty();
    };

    /** Selects the partition of the client. The topic has as many partitions as the state of clients. */
    private static final StreamPartitioner<byte[], byte[]> TO_CLIENT = (topic, client, requestId, partitions) ->
            Optional.of(Set.of(BuiltInPartitioner.partitionForKey(client, partitions)));

    private static final Deserializer<byte[]> BYTES_IN = new ByteArrayDeserializer();
    private static final Serializer<byte[]> BYTES_OUT = new ByteArraySerializer();

    /**
     * The partitions of existing topics.
     *
     * @param requests the partitions of the request topic and of the state
     * @param replies the partitions of the topic of replies, updated by the topology
     */
    public record TopicPartitions(RequestPartitions requests, ReplyPartitions replies) {}

    /**
     * What the tasks of an application have in common.
     *
     * @param policies the policies and queues in force, updated by the deciding topology
     * @param metrics updated by the topology
     * @param commits when the threads commit; also paces their clients
     */
    public record Shared(PolicyRegistry policies, EnforcerMetrics metrics, CommitPacing commits) {}

    private WeirTopology() {}

    /**
     * Returns the deciding topology without a schema registry and with a wall clock that is never stepped. Its commits
     * are not paced.
     */
    public static Topology deciding(
            WeirConfig config, int partitions, PolicyRegistry policies, EnforcerMetrics metrics) {
        return deciding(config, partitions, new Shared(policies, metrics, new CommitPacing(config.commits())));
    }

    /** Returns the deciding topology without a schema registry and with a wall clock that is never stepped. */
    public static Topology deciding(WeirConfig config, int partitions, Shared shared) {
        CacheBudget memory = new CacheBudget(config.state().hotMemoryBytes());
        TopicPartitions both = new TopicPartitions(new RequestPartitions(partitions, partitions), replies(config));
        return deciding(config, both, shared, memory, Optional.empty(), () -> 0);
    }

    /**
     * Returns the deciding topology, which decides requests or sends them to a queue.
     *
     * @param partitions the partitions of the existing topics
     * @param memory the budget of the caches
     * @param registry the registry for the schemas of records that users read or write
     * @param clockSteps returns how often the wall clock of this process was stepped forward;
     *     see {@link dev.weir.lease.holder.ClockStepDetector}
     * @throws dev.weir.wire.RegistryException if the registry does not respond
     */
    public static Topology deciding(
            WeirConfig config,
            TopicPartitions partitions,
            Shared shared,
            CacheBudget memory,
            Optional<SchemaRegistry> registry,
            LongSupplier clockSteps) {
        PolicyRegistry policies = shared.policies;
        EnforcerMetrics metrics = shared.metrics;
        CommitPacing commits = shared.commits;
        Topics topics = Topics.of(config);
        RequestPlacement placement =
                new RequestPlacement(partitions.requests(), config.requests().misplaced());
        Topology topology = new Topology();
        topology.addGlobalStore(
                Stores.policies(),
                POLICIES,
                new StringDeserializer(),
                BYTES_IN,
                topics.policies(),
                UPDATE_POLICIES,
                () -> new UpdatePolicies(policies, Stores.POLICIES));
        addSource(topology, REQUESTS, new RequestTimestamps(), topics.requests());
        topology.addProcessor(
                READ_REQUESTS,
                commits.paced(() -> new ReadRequests(
                        requests(config, registry),
                        placement,
                        config.requests().maxAhead(),
                        metrics,
                        new ReadRequests.Outlets(DECIDE, MISPLACED, DEAD_LETTERS))),
                REQUESTS);
        addSource(topology, ROUTED, ORIGINAL_TIME, topics.routedRequests());
        topology.addProcessor(
                READ_ROUTED,
                commits.paced(() -> new ReadRoutedRequests(
                        requests(config, registry),
                        placement,
                        metrics,
                        topics.requests(),
                        new ReadRoutedRequests.Outlets(DECIDE, DEAD_LETTERS))),
                ROUTED);
        addSource(topology, LEASE_RESPONSES_IN, AT_ONCE, topics.leaseResponses());
        topology.addProcessor(
                        READ_LEASE_RESPONSES,
                        commits.paced(() -> new ReadLeaseResponses(
                                metrics, new HolderNames(config.applicationId()), DECIDE, DEAD_LETTERS)),
                        LEASE_RESPONSES_IN)
                .addProcessor(
                        DECIDE,
                        commits.paced(() -> new Decide(
                                policies,
                                metrics,
                                config,
                                new Decide.StoreNames(
                                        Stores.POLICY_STATES,
                                        Stores.LOG_SEGMENTS,
                                        Stores.IDEMPOTENCY,
                                        Stores.RESERVATIONS,
                                        Stores.LEASE_BOOKS,
                                        Stores.WAITING_REQUESTS,
                                        Stores.DECISION_ORDER),
                                new Decide.Outlets(DECISIONS, REPLIES, ADMISSIONS_OUT, LEASE_REQUESTS_OUT),
                                partitions.replies(),
                                clockSteps)),
                        READ_REQUESTS,
                        READ_ROUTED,
                        READ_LEASE_RESPONSES)
                .addStateStore(Stores.policyStates(memory), DECIDE)
                .addStateStore(Stores.persistent(Stores.LOG_SEGMENTS), DECIDE)
                .addStateStore(Stores.persistent(Stores.IDEMPOTENCY), DECIDE)
                .addStateStore(Stores.reservations(memory), DECIDE)
                .addStateStore(Stores.leaseBooks(memory), DECIDE)
                .addStateStore(Stores.persistent(Stores.WAITING_REQUESTS), DECIDE)
                .addStateStore(Stores.persistent(Stores.DECISION_ORDER), DECIDE)
                .addSink(DECISIONS, topics.decisions(), BYTES_OUT, decisions(registry, config), DECIDE)
                .addSink(
                        REPLIES,
                        topics.replies(),
                        BYTES_OUT,
                        replies(registry, config),
                        toRequester(partitions.replies()),
                        DECIDE)
                .addSink(ADMISSIONS_OUT, topics.admissions(), BYTES_OUT, queueMessages(), TO_QUEUE, DECIDE)
                .addSink(LEASE_REQUESTS_OUT, topics.leaseRequests(), BYTES_OUT, leaseRequests(), DECIDE)
                .addSink(MISPLACED, topics.routedRequests(), BYTES_OUT, BYTES_OUT, toTask(placement), READ_REQUESTS)
                .addSink(
                        DEAD_LETTERS,
                        topics.deadLetters(),
                        BYTES_OUT,
                        BYTES_OUT,
                        READ_REQUESTS,
                        READ_ROUTED,
                        READ_LEASE_RESPONSES);
        return topology;
    }

    /** Returns the shaping topology without a schema registry. Its commits are not paced. */
    public static Topology shaping(
            WeirConfig config, PolicyRegistry policies, QueueRegistry queues, EnforcerMetrics metrics) {
        return shaping(config, queues, new Shared(policies, metrics, new CommitPacing(config.commits())));
    }

    /** Returns the shaping topology without a schema registry. */
    public static Topology shaping(WeirConfig config, QueueRegistry queues, Shared shared) {
        return shaping(config, replies(config), queues, shared, Optional.empty());
    }

    /**
     * Returns the shaping topology, which queues and releases requests. It also maintains the ledgers of shared limits
     * and validates the policies topic.
     *
     * @param replies the partitions of the topic of replies
     * @param queues updated by the topology
     * @param registry the registry for the schemas of records that users read
     * @throws dev.weir.wire.RegistryException if the registry does not respond
     */
    public static Topology shaping(
            WeirConfig config,
            ReplyPartitions replies,
            QueueRegistry queues,
            Shared shared,
            Optional<SchemaRegistry> registry) {
        PolicyRegistry policies = shared.policies;
        EnforcerMetrics metrics = shared.metrics;
        CommitPacing commits = shared.commits;
        Topics topics = Topics.of(config);
        Topology topology = new Topology();
        addSource(topology, POLICIES, RECORD_TIME, topics.policies());
        topology.addProcessor(
                        CHECK_POLICIES,
                        commits.paced(() -> new CheckPolicies(
                                metrics,
                                Stores.GOOD_POLICIES,
                                new CheckPolicies.Outlets(RESTORED_POLICIES, BAD_POLICIES))),
                        POLICIES)
                .addStateStore(Stores.persistent(Stores.GOOD_POLICIES), CHECK_POLICIES)
                .addSink(RESTORED_POLICIES, topics.policies(), BYTES_OUT, BYTES_OUT, CHECK_POLICIES)
                .addSink(BAD_POLICIES, topics.deadLetters(), BYTES_OUT, BYTES_OUT, CHECK_POLICIES);
        addSource(topology, ADMISSIONS_IN, RECORD_TIME, topics.admissions());
        topology.addProcessor(
                        SHAPE,
                        commits.paced(() -> new Shape(
                                policies,
                                queues,
                                metrics,
                                config,
                                new StoredQueues.StoreNames(
                                        Stores.QUEUE_STATES,
                                        Stores.QUEUE_ENTRIES,
                                        Stores.QUEUE_TICKETS,
                                        Stores.QUEUE_EXPIRY_TIMERS,
                                        Stores.QUEUE_TIMERS,
                                        Stores.QUEUE_SCHEDULE,
                                        Stores.QUEUE_IDEMPOTENCY),
                                new Shape.Outlets(
                                        DECISIONS, REPLIES, RELEASES, QUEUE_MESSAGES, RESERVATIONS, DEAD_LETTERS),
                                replies)),
                        ADMISSIONS_IN)
                .addStateStore(Stores.persistent(Stores.QUEUE_STATES), SHAPE)
                .addStateStore(Stores.persistent(Stores.QUEUE_ENTRIES), SHAPE)
                .addStateStore(Stores.persistent(Stores.QUEUE_TICKETS), SHAPE)
                .addStateStore(Stores.persistent(Stores.QUEUE_EXPIRY_TIMERS), SHAPE)
                .addStateStore(Stores.persistent(Stores.QUEUE_TIMERS), SHAPE)
                .addStateStore(Stores.persistent(Stores.QUEUE_SCHEDULE), SHAPE)
                .addStateStore(Stores.persistent(Stores.QUEUE_IDEMPOTENCY), SHAPE)
                .addSink(DECISIONS, topics.decisions(), BYTES_OUT, decisions(registry, config), SHAPE)
                .addSink(REPLIES, topics.replies(), BYTES_OUT, replies(registry, config), toRequester(replies), SHAPE)
                .addSink(RELEASES, topics.releases(), BYTES_OUT, releases(registry, config), SHAPE)
                .addSink(QUEUE_MESSAGES, topics.admissions(), BYTES_OUT, queueMessages(), TO_QUEUE, SHAPE)
                .addSink(RESERVATIONS, topics.routedRequests(), BYTES_OUT, BYTES_OUT, TO_CLIENT, SHAPE);
        addSource(topology, LEASE_REQUESTS_IN, RECORD_TIME, topics.leaseRequests());
        topology.addProcessor(
                        LEND,
                        commits.paced(() -> new Lend(
                                policies,
                                metrics,
                                config,
                                new Lend.StoreNames(Stores.LEDGERS, Stores.LEDGER_SEGMENTS),
                                new Lend.Outlets(LEASE_RESPONSES_OUT, DEAD_LETTERS))),
                        LEASE_REQUESTS_IN)
                .addStateStore(Stores.persistent(Stores.LEDGERS), LEND)
                .addStateStore(Stores.persistent(Stores.LEDGER_SEGMENTS), LEND)
                .addSink(LEASE_RESPONSES_OUT, topics.leaseResponses(), BYTES_OUT, leaseResponses(), TO_HOLDER, LEND)
                .addSink(DEAD_LETTERS, topics.deadLetters(), BYTES_OUT, BYTES_OUT, SHAPE, LEND);
        return topology;
    }

    private static RequestReader requests(WeirConfig config, Optional<SchemaRegistry> registry) {
        return new RequestReader(new RequestCodec(registry), config.requests().rules());
    }

    private static Serializer<LeaseRequestAvro.Addressed> leaseRequests() {
        LeaseRequestAvro avro = new LeaseRequestAvro();
        return (topic, request) -> avro.encode(request);
    }

    private static Serializer<LeaseResponseAvro.Addressed> leaseResponses() {
        LeaseResponseAvro avro = new LeaseResponseAvro();
        return (topic, response) -> avro.encode(response);
    }

    private static Serializer<Decision> decisions(Optional<SchemaRegistry> registry, WeirConfig config) {
        DecisionCodec codec = new DecisionCodec(
                registry, Topics.of(config).decisions(), config.topics().outputFormat());
        return (topic, decision) -> codec.encode(decision);
    }

    /** Selects the partition that the task of the client reads. The partitioner in {@code kafka} has no effect. */
    private static StreamPartitioner<byte[], byte[]> toTask(RequestPlacement placement) {
        return (topic, client, value, partitions) -> Optional.of(Set.of(placement.partitionOf(client)));
    }

    /** Returns the partitions of a topic of replies that was created with a configuration. */
    private static ReplyPartitions replies(WeirConfig config) {
        return new ReplyPartitions(config.topics().replyPartitions());
    }

    /** A reply is written in the same bytes as the decision, also with a schema registry. */
    private static Serializer<DecisionReply> replies(Optional<SchemaRegistry> registry, WeirConfig config) {
        Serializer<Decision> decisions = decisions(registry, config);
        return (topic, reply) -> decisions.serialize(topic, reply.decision());
    }

    /** Selects the partition that the requester reads. The producer detects new partitions after some minutes. */
    private static StreamPartitioner<byte[], DecisionReply> toRequester(ReplyPartitions replies) {
        return (topic, client, reply, partitions) -> {
            replies.update(partitions);
            return Optional.of(Set.of(Math.min(reply.partition(), partitions - 1)));
        };
    }

    private static Serializer<QueueMessage> queueMessages() {
        QueueMessageCodec codec = new QueueMessageCodec();
        return (topic, message) -> codec.encode(message);
    }

    private static Serializer<Release> releases(Optional<SchemaRegistry> registry, WeirConfig config) {
        ReleaseCodec codec = new ReleaseCodec(
                registry, Topics.of(config).releases(), config.topics().outputFormat());
        return (topic, release) -> codec.encode(release);
    }

    /**
     * Adds a source of bytes that uses the consumer's own reset policy, which is {@code earliest} in Kafka Streams. If a
     * source set a policy, Streams would configure its consumer with none. Then a commit before the first successful
     * poll, for example during the outage of a broker, would end the application with
     * {@code NoOffsetForPartitionException}.
     */
    private static void addSource(Topology topology, String name, TimestampExtractor time, String topic) {
        AutoOffsetReset unset = null; // Kafka's only way to set an extractor and deserializers, but no policy
        topology.addSource(unset, name, time, BYTES_IN, BYTES_IN, topic);
    }
}
