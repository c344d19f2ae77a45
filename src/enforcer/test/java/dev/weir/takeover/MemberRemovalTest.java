package dev.weir.takeover;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.dev.EmbeddedBroker;
import dev.weir.takeover.Announcement.Member;
import dev.weir.takeover.PeerGroups.Evidence;
import dev.weir.testing.TestBroker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests with a real broker, and consumers and producers as those of an instance. */
@Tag("slow")
class MemberRemovalTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final EmbeddedBroker broker = TestBroker.shared();
    private final AtomicLong nanos = new AtomicLong();
    private final String group = "removal-" + UUID.randomUUID();
    private final String foreignGroup = "foreign-" + UUID.randomUUID();
    private final String topic = group;
    private final MemberRemoval removal = new MemberRemoval(Set.of(group), topic, this::admin, nanos::get);

    private Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()));
    }

    private KafkaConsumer<byte[], byte[]> join(String group) {
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", broker.bootstrapServers(), "group.id", group, "group.instance.id", "i-1"),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        await("the member has joined", PATIENCE, () -> {
            consumer.poll(Duration.ofMillis(50));
            return !consumer.assignment().isEmpty();
        });
        return consumer;
    }

    private static Member member(KafkaConsumer<byte[], byte[]> consumer) {
        ConsumerGroupMetadata group = consumer.groupMetadata();
        return new Member(group.groupId(), group.groupInstanceId().orElseThrow(), group.memberId());
    }

    private long members(String group) throws Exception {
        try (Admin admin = admin()) {
            return admin.describeConsumerGroups(List.of(group))
                    .all()
                    .get()
                    .get(group)
                    .members()
                    .size();
        }
    }

    private KafkaProducer<byte[], byte[]> begin(String transactionalId) {
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", broker.bootstrapServers(), "transactional.id", transactionalId),
                new ByteArraySerializer(),
                new ByteArraySerializer());
        producer.initTransactions();
        begin(producer);
        return producer;
    }

    private void begin(KafkaProducer<byte[], byte[]> producer) {
        producer.beginTransaction();
        var unused = producer.send(new ProducerRecord<>(topic, new byte[] {1}));
        producer.flush();
    }

    @BeforeEach
    void createTopic() throws Exception {
        try (Admin admin = admin()) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
    }

    @AfterEach
    void close() {
        removal.close();
    }

    @Test
    void only_the_announced_incarnation_of_an_own_member_is_removed_and_its_producers_are_fenced() throws Exception {
        try (KafkaConsumer<byte[], byte[]> own = join(group);
                KafkaConsumer<byte[], byte[]> foreign = join(foreignGroup);
                KafkaProducer<byte[], byte[]> producer = begin(group + "-p-1");
                KafkaProducer<byte[], byte[]> other = begin(foreignGroup + "-p-1")) {
            List<String> ids = List.of(group + "-p-1", foreignGroup + "-p-1");
            Announcement earlier = new Announcement(
                    "peer", List.of(new Member(group, "i-1", "an earlier member id"), member(foreign)), ids);
            assertThat(removal.activity(earlier)).isEmpty();
            removal.remove(earlier, Evidence.REFUSED);
            assertThat(members(group)).isEqualTo(1);
            producer.commitTransaction();
            begin(producer);

            removal.remove(new Announcement("peer", List.of(member(own), member(foreign)), ids), Evidence.REFUSED);
            assertThat(members(group)).isZero();
            assertThat(members(foreignGroup)).isEqualTo(1);
            assertThatThrownBy(producer::commitTransaction)
                    .isInstanceOfAny(ProducerFencedException.class, InvalidProducerEpochException.class);
            other.commitTransaction();
            assertThat(removal.removals(Evidence.REFUSED)).isEqualTo(1);
        }
        try (KafkaConsumer<byte[], byte[]> again = join(group)) {
            Announcement announced = new Announcement("peer", List.of(member(again)), List.of());
            assertThat(removal.activity(announced)).as("at most once a minute").isEmpty();
            nanos.set(MemberRemoval.INTERVAL.toNanos());
            assertThat(removal.activity(announced)).isPresent();
        }
    }

    @Test
    void an_instance_that_has_joined_one_of_its_groups_again_is_not_removed() throws Exception {
        try (KafkaConsumer<byte[], byte[]> own = join(group)) {
            Announcement half = new Announcement(
                    "peer", List.of(member(own), new Member(group, "i-1", "an earlier member id")), List.of());
            assertThat(removal.activity(half)).isEmpty();
            removal.remove(half, Evidence.SILENT);
            assertThat(members(group)).isEqualTo(1);
        }
    }

    @Test
    void commits_and_what_waits_for_them_are_seen() throws Exception {
        try (KafkaConsumer<byte[], byte[]> own = join(group);
                KafkaProducer<byte[], byte[]> producer = begin(group + "-p-1")) {
            producer.commitTransaction(); // the partition has two records: the second is the marker
            own.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(2)));
            Announcement announced =
                    new Announcement("peer", List.of(member(own)), List.of(group + "-p-1", group + "-never-used"));
            PeerActivity idle = activity(announced);
            PeerActivity still = activity(announced);
            assertThat(still.isSilentSince(idle)).isTrue();
            assertThat(still.isDueSince(idle)).as("nothing to do").isFalse();

            begin(producer);
            PeerActivity open = activity(announced);
            assertThat(open.isSilentSince(idle)).as("a transaction has begun").isFalse();
            PeerActivity stillOpen = activity(announced);
            assertThat(stillOpen.isSilentSince(open)).isTrue();
            assertThat(stillOpen.isDueSince(open)).as("an open transaction").isTrue();

            producer.commitTransaction();
            PeerActivity waiting = activity(announced);
            assertThat(waiting.isSilentSince(stillOpen)).isFalse();
            PeerActivity stillWaiting = activity(announced);
            assertThat(stillWaiting.isSilentSince(waiting)).isTrue();
            assertThat(stillWaiting.isDueSince(waiting)).as("records wait").isTrue();

            own.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(4)));
            assertThat(activity(announced).isSilentSince(stillWaiting)).isFalse();
        }
    }

    /** Returns the activity when no commit is in progress: the broker completes one after it has answered. */
    private PeerActivity activity(Announcement of) {
        return awaitValue("commits are completed", PATIENCE, () -> removal.activity(of)
                .filter(seen -> seen.producers().values().stream()
                        .noneMatch(producer -> producer.state() == TransactionState.PREPARE_COMMIT))
                .orElse(null));
    }
}
