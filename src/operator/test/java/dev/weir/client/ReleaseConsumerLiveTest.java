package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.release.ReleaseConsumer;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Release;
import dev.weir.testing.TestBroker;
import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests a consumer of releases that are written in transactions, with a real broker. */
@Tag("full")
class ReleaseConsumerLiveTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int PARTITIONS = 2;
    private static final int RELEASES = 20;

    private static EmbeddedBroker broker;
    private static Admin admin;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
        admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()));
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    @Test
    void a_second_worker_gets_the_releases_that_the_first_has_not_committed() throws Exception {
        List<Release> all = new ArrayList<>();
        for (int i = 0; i < RELEASES; i++) {
            all.add(release(i, 1_000_000L * (i + 1)));
        }
        write("ordered", List.of(release(99, 0)), false);
        write("ordered", all.subList(0, 15), true);
        write("ordered", all.subList(15, RELEASES), true);
        List<String> left = new ArrayList<>(all.stream().map(Release::requestId).toList());
        try (ReleaseConsumer first = consumer("ordered")) {
            left.removeAll(next(first, 7));
            first.commit();
            assertThat(left).hasSize(RELEASES - 7).containsAll(next(first, 1));
        }
        try (ReleaseConsumer second = consumer("ordered")) {
            assertThat(next(second, RELEASES - 7)).containsExactlyInAnyOrderElementsOf(left);
            long startNanos = System.nanoTime();
            do {
                assertThat(second.next(Duration.ofMillis(10))).isEmpty();
                second.commit();
            } while (!committed().equals(ends("ordered")) && System.nanoTime() - startNanos < PATIENCE.toNanos());
            assertThat(committed()).isEqualTo(ends("ordered"));
        }
    }

    @Test
    void no_release_is_returned_early_by_the_brokers_clock() throws Exception {
        Random random = new Random(3);
        write("wall", List.of(release(0, 0)), true);
        try (ReleaseConsumer releases =
                new ReleaseConsumer(Map.of("bootstrap.servers", broker.bootstrapServers(), "group.id", "g"), "wall")) {
            assertThat(releases.next(PATIENCE)).isPresent(); // the consumer has joined the group
            List<Release> ahead = new ArrayList<>();
            for (int i = 1; i <= 100; i++) {
                ahead.add(release(i, wallClockNanos() + 300_000_000 + random.nextInt(300_000_000)));
            }
            write("wall", ahead, true);
            Set<String> left = new HashSet<>();
            while (left.size() < ahead.size()) {
                Optional<Release> release = releases.next(PATIENCE);
                long nowNanos = wallClockNanos();
                assertThat(release).isPresent();
                assertThat(release.get().releaseAtNanos()).isLessThanOrEqualTo(nowNanos);
                assertThat(left.add(release.get().requestId())).isTrue();
            }
        }
    }

    private static List<String> next(ReleaseConsumer releases, int count) {
        List<String> next = new ArrayList<>();
        while (next.size() < count) {
            next.add(releases.next(PATIENCE).orElseThrow().requestId());
        }
        return next;
    }

    private static ReleaseConsumer consumer(String topic) {
        return new ReleaseConsumer(
                Map.of("bootstrap.servers", broker.bootstrapServers(), "group.id", "workers"), topic);
    }

    private static Release release(int i, long releaseAtNanos) {
        return Release.builder("r" + i, "c", "q")
                .sequence(i + 1)
                .releaseAtNanos(releaseAtNanos)
                .build();
    }

    /** Writes releases to alternating partitions in one transaction. Creates the topic if it does not exist. */
    private static void write(String topic, List<Release> releases, boolean commit) throws Exception {
        if (!admin.listTopics().names().get().contains(topic)) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1)))
                    .all()
                    .get();
        }
        Map<String, Object> settings =
                Map.of("bootstrap.servers", broker.bootstrapServers(), "transactional.id", "shaper");
        ReleaseCodec avro = new ReleaseCodec();
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            for (Release release : releases) {
                int partition = (int) (release.sequence() % PARTITIONS);
                var unused = producer.send( // the commit reports failures
                        new ProducerRecord<>(topic, partition, release.client(), avro.encode(release)));
            }
            if (commit) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
    }

    private static Map<TopicPartition, Long> committed() throws Exception {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        Map<TopicPartition, OffsetAndMetadata> committed = admin.listConsumerGroupOffsets("workers")
                .partitionsToOffsetAndMetadata()
                .get();
        committed.forEach((partition, offset) -> offsets.put(partition, offset.offset()));
        return offsets;
    }

    private static Map<TopicPartition, Long> ends(String topic) throws Exception {
        Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
        for (int i = 0; i < PARTITIONS; i++) {
            specs.put(new TopicPartition(topic, i), OffsetSpec.latest());
        }
        Map<TopicPartition, Long> ends = new HashMap<>();
        admin.listOffsets(specs).all().get().forEach((partition, end) -> ends.put(partition, end.offset()));
        return ends;
    }

    private static long wallClockNanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000 + now.getNano();
    }
}
