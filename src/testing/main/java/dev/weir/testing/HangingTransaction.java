package dev.weir.testing;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;

import dev.weir.dev.EmbeddedBroker;
import dev.weir.dev.EmbeddedBroker.BrokerOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceDataCollection;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Leaves a transaction open in a partition although its coordinator has ended it, as a lost marker does. The broker must
 * be {@linkplain #startBroker started} so that it accepts the record; the topic is deleted and created again, so that it
 * does not have the marker.
 */
public final class HangingTransaction {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** The last version of produce requests that names topics, and does not add partitions to transactions. */
    private static final short PRODUCE_VERSION = 11;

    /** Added to a producer id, gives one that no broker of a test assigns. */
    private static final long UNUSED_IDS = 1_000_000_000L;

    private static final String OTHER = "of-other-transactions";

    private HangingTransaction() {}

    /** Starts a broker that accepts records of transactions that have ended. */
    public static EmbeddedBroker startBroker() {
        return EmbeddedBroker.start(
                0,
                new BrokerOptions(
                        SecurityProtocol.PLAINTEXT,
                        Map.of("transaction.partition.verification.enable", "false"),
                        List.of()));
    }

    /** How the coordinator ended the transaction. */
    public enum End {
        /** It was committed, with the partition. */
        COMMITTED,
        /** It was aborted, with the partition. */
        ABORTED,
        /** It was committed, with the partition, and has records there of the next transaction too. */
        COMMITTED_AND_CONTINUED,
        /** It was committed, and the partition was not part of it. */
        WITHOUT_PARTITION,
        /** No coordinator has a transactional id with the producer id of the records. */
        NOT_REPORTED
    }

    /** Sends a request to a broker and returns the response. */
    public interface BrokerCall {
        AbstractResponse send(Node broker, AbstractRequest.Builder<?> request);
    }

    /**
     * Leaves a transaction open that has one record without a value. The producer commits another transaction later, as
     * that of a stream thread does, so the state of the coordinator is not that of this transaction.
     *
     * @param partition a partition of an existing topic, which is deleted and created again with its settings
     */
    public static void create(
            String bootstrapServers, BrokerCall call, TopicPartition partition, String transactionalId, End end)
            throws ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers));
                KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                        Map.of("bootstrap.servers", bootstrapServers, "transactional.id", transactionalId),
                        new ByteArraySerializer(),
                        new ByteArraySerializer())) {
            createOther(admin);
            boolean isMember = end != End.WITHOUT_PARTITION && end != End.NOT_REPORTED;
            TopicPartition written = isMember ? partition : new TopicPartition(OTHER, 0);
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(written.topic(), written.partition(), key(), null))
                    .get();
            ProducerState state = openIn(admin, written);
            if (end == End.ABORTED) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
            await("the transaction has ended", PATIENCE, () -> isComplete(admin, transactionalId));
            if (isMember) {
                recreate(admin, partition.topic());
            }
            long producerId = state.producerId() + (end == End.NOT_REPORTED ? UNUSED_IDS : 0);
            write(admin, call, partition, transactionalId, producerId, (short) state.producerEpoch());
            if (end == End.COMMITTED_AND_CONTINUED) {
                write(admin, call, partition, transactionalId, producerId, (short) (state.producerEpoch() + 1));
            }
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(OTHER, 0, key(), null)).get();
            producer.commitTransaction();
        }
    }

    private static byte[] key() {
        return new byte[] {1};
    }

    private static void createOther(Admin admin) throws ExecutionException, InterruptedException {
        try {
            admin.createTopics(List.of(new NewTopic(OTHER, 1, (short) 1))).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof TopicExistsException)) {
                throw e;
            }
        }
    }

    private static ProducerState openIn(Admin admin, TopicPartition partition)
            throws ExecutionException, InterruptedException {
        return admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().stream()
                .filter(one -> one.currentTransactionStartOffset().isPresent())
                .findFirst()
                .orElseThrow();
    }

    private static boolean isComplete(Admin admin, String transactionalId)
            throws ExecutionException, InterruptedException {
        TransactionState state = admin.describeTransactions(List.of(transactionalId))
                .description(transactionalId)
                .get()
                .state();
        return state == TransactionState.COMPLETE_COMMIT || state == TransactionState.COMPLETE_ABORT;
    }

    private static void recreate(Admin admin, String topic) throws ExecutionException, InterruptedException {
        TopicDescription before = describe(admin, topic);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Map<String, String> settings =
                admin.describeConfigs(List.of(resource)).values().get(resource).get().entries().stream()
                        .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
                        .collect(Collectors.toMap(ConfigEntry::name, ConfigEntry::value));
        admin.deleteTopics(List.of(topic)).all().get();
        NewTopic again = new NewTopic(topic, before.partitions().size(), (short)
                        before.partitions().get(0).replicas().size())
                .configs(settings);
        await("the topic is created again", PATIENCE, () -> isCreated(admin, again));
        await("the new topic is known", PATIENCE, () -> isReplaced(admin, before));
    }

    private static boolean isCreated(Admin admin, NewTopic topic) throws ExecutionException, InterruptedException {
        try {
            admin.createTopics(List.of(topic)).all().get();
            return true;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof TopicExistsException) {
                return false;
            }
            throw e;
        }
    }

    private static boolean isReplaced(Admin admin, TopicDescription before)
            throws ExecutionException, InterruptedException {
        try {
            TopicDescription now = describe(admin, before.name());
            return !now.topicId().equals(before.topicId())
                    && now.partitions().stream().allMatch(one -> one.leader() != null);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return false;
            }
            throw e;
        }
    }

    private static TopicDescription describe(Admin admin, String topic)
            throws ExecutionException, InterruptedException {
        return admin.describeTopics(List.of(topic)).topicNameValues().get(topic).get();
    }

    private static void write(
            Admin admin,
            BrokerCall call,
            TopicPartition partition,
            String transactionalId,
            long producerId,
            short producerEpoch)
            throws ExecutionException, InterruptedException {
        Node leader = describe(admin, partition.topic())
                .partitions()
                .get(partition.partition())
                .leader();
        awaitValue("the record is written", PATIENCE, () -> {
            MemoryRecords records = MemoryRecords.withTransactionalRecords(
                    Compression.NONE,
                    producerId,
                    producerEpoch,
                    0,
                    new SimpleRecord(System.currentTimeMillis(), key(), null));
            ProduceRequestData data = new ProduceRequestData()
                    .setTransactionalId(transactionalId)
                    .setAcks((short) -1)
                    .setTimeoutMs((int) PATIENCE.toMillis())
                    .setTopicData(new TopicProduceDataCollection(List.of(new TopicProduceData()
                                    .setName(partition.topic())
                                    .setPartitionData(List.of(new PartitionProduceData()
                                            .setIndex(partition.partition())
                                            .setRecords(records))))
                            .iterator()));
            ProduceResponse response = (ProduceResponse)
                    call.send(leader, new ProduceRequest.Builder(PRODUCE_VERSION, PRODUCE_VERSION, data));
            Errors error = Errors.forCode(response.data()
                    .responses()
                    .iterator()
                    .next()
                    .partitionResponses()
                    .get(0)
                    .errorCode());
            return switch (error) {
                case NONE -> true;
                case NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION -> null;
                default -> throw error.exception();
            };
        });
    }
}
