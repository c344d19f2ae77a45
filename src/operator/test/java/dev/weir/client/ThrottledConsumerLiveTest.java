package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.throttle.ThrottledConsumer;
import dev.weir.client.throttle.ThrottledConsumerBuilder;
import dev.weir.client.throttle.ThrottledMetricsBinder;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a throttled consumer with a real broker and an enforcer. */
@Tag("full")
class ThrottledConsumerLiveTest {

    private static final int PARTITIONS = 4;

    /** The limit of {@code days} never permits more during a test; {@code rate} permits 10 at once, and 100 a second. */
    private static final String POLICIES = """
            policies:
              - id: days
                match: {topic: "*-days"}
                idempotency: 1h
                limits: [{algorithm: sliding-window-log, limit: 10, per: 1 day}]
              - id: rate
                match: {topic: "*-rate"}
                limits: [{algorithm: gcra, limit: 100, per: 1s, burst: 10}]
            """;

    @TempDir
    static Path directory;

    private static EmbeddedBroker broker;
    private static LiveWeir weir;
    private static Enforcer enforcer;

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
        weir = LiveWeir.create(broker, directory, "throttled.", POLICIES);
        enforcer = weir.enforce();
    }

    @AfterAll
    static void stop() {
        enforcer.close();
    }

    private static ThrottledConsumerBuilder<String, String> consumer(WeirClient client, String group) {
        return consumer(client, group, broker.bootstrapServers());
    }

    private static ThrottledConsumerBuilder<String, String> consumer(
            WeirClient client, String group, String bootstrapServers) {
        Map<String, Object> kafka = Map.of(
                "bootstrap.servers", bootstrapServers,
                "group.id", group,
                "auto.offset.reset", "earliest",
                "session.timeout.ms", "6000",
                "heartbeat.interval.ms", "200",
                "max.poll.records", "20");
        return ThrottledConsumer.builder(
                kafka, new StringDeserializer(), new StringDeserializer(), client, record -> RequestBuilder.of("all")
                        .attribute("topic", record.topic())
                        .build());
    }

    private static void write(String topic, int from, int to) {
        write(broker.bootstrapServers(), topic, from, to);
    }

    private static void write(String bootstrapServers, String topic, int from, int to) {
        Map<String, Object> kafka = Map.of("bootstrap.servers", bootstrapServers, "acks", "all");
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(kafka, new StringSerializer(), new StringSerializer())) {
            for (int i = from; i < to; i++) {
                var unused = producer.send(new ProducerRecord<>(topic, i % PARTITIONS, "key", String.valueOf(i)));
            }
        }
    }

    private static void create(String bootstrapServers, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers))) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1)))
                    .all()
                    .get();
        }
    }

    private static long committed(String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()))) {
            return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().values().stream()
                    .mapToLong(OffsetAndMetadata::offset)
                    .sum();
        }
    }

    /** Adds the values that a poll returns. */
    private static void drain(ThrottledConsumer<String, String> from, List<ConsumerRecord<String, String>> to) {
        to.addAll(from.poll(Duration.ofMillis(20)));
        from.commit();
    }

    private static List<Integer> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(each -> Integer.parseInt(each.value())).toList();
    }

    @Test
    void records_are_returned_at_the_rate_of_the_policy_each_once_and_in_order() throws Exception {
        create(broker.bootstrapServers(), "mails-rate");
        write("mails-rate", 0, 60);
        List<ConsumerRecord<String, String>> received = new ArrayList<>();
        SimpleMeterRegistry meters = new SimpleMeterRegistry();
        try (WeirClient client = weir.client().start();
                ThrottledConsumer<String, String> mails =
                        consumer(client, "rate").start()) {
            ThrottledMetricsBinder.of(mails).bindTo(meters);
            mails.subscribe(List.of("mails-rate"));
            long startNanos = System.nanoTime();
            await("all records are returned", LiveWeir.PATIENCE, () -> {
                drain(mails, received);
                return received.size() >= 60;
            });
            // 10 at once, and 50 at 100 a second
            assertThat(System.nanoTime() - startNanos)
                    .isGreaterThanOrEqualTo(Duration.ofMillis(450).toNanos());
            assertThat(mails.stats().denied()).isPositive();
            assertThat(meters.get("weir.consumer.delivered").functionCounter().count())
                    .isEqualTo(60);
            assertThat(meters.get("weir.consumer.held").gauge().value()).isZero();
        }
        assertThat(values(received)).doesNotHaveDuplicates().hasSize(60);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            int of = partition;
            assertThat(received.stream().filter(each -> each.partition() == of).map(ConsumerRecord::offset))
                    .isSorted();
        }
        assertThat(committed("rate")).isEqualTo(60);
    }

    /** The records that wait are not committed: they go to the member that gets their partitions. */
    @Test
    void a_rebalance_loses_no_record_and_charges_none_twice() throws Exception {
        create(broker.bootstrapServers(), "mails-days");
        write("mails-days", 0, 40);
        List<ConsumerRecord<String, String>> received = new ArrayList<>();
        try (WeirClient client = weir.client().start();
                ThrottledConsumer<String, String> first =
                        consumer(client, "days").start()) {
            first.subscribe(List.of("mails-days"));
            await("the limit is used up", LiveWeir.PATIENCE, () -> {
                drain(first, received);
                return received.size() == 10 && first.stats().held() == 30;
            });
            try (ThrottledConsumer<String, String> second =
                    consumer(client, "days").start()) {
                second.subscribe(List.of("mails-days"));
                await("both members hold records", LiveWeir.PATIENCE, () -> {
                    drain(first, received);
                    drain(second, received);
                    return second.stats().held() > 0
                            && first.stats().held() + second.stats().held() == 30;
                });
                assertThat(first.stats().held()).isLessThan(30);
            }
            await("the first member has all records again", LiveWeir.PATIENCE, () -> {
                drain(first, received);
                return first.stats().held() == 30;
            });
        }
        assertThat(values(received)).doesNotHaveDuplicates().hasSize(10);
        assertThat(committed("days")).isEqualTo(10);
    }

    @Test
    void records_wait_while_no_enforcer_runs_and_brokers_are_away() throws Exception {
        Path data = directory.resolve("broker");
        EmbeddedBroker own = EmbeddedBroker.start(data, 0);
        String servers = own.bootstrapServers();
        int port = Integer.parseInt(servers.substring(servers.lastIndexOf(':') + 1));
        try {
            LiveWeir live = LiveWeir.create(servers, directory, "away.", POLICIES);
            create(servers, "mails-rate");
            write(servers, "mails-rate", 0, 8);
            List<ConsumerRecord<String, String>> received = new ArrayList<>();
            try (WeirClient client =
                            live.client().timeout(Duration.ofMillis(200)).start();
                    ThrottledConsumer<String, String> mails =
                            consumer(client, "away", servers).start()) {
                mails.subscribe(List.of("mails-rate"));
                await("requests end without a decision", LiveWeir.PATIENCE, () -> {
                    drain(mails, received);
                    return mails.stats().undecided() > 0;
                });
                own.close();
                long before = mails.stats().undecided();
                await("requests end without a broker", LiveWeir.PATIENCE, () -> {
                    received.addAll(mails.poll(Duration.ofMillis(20)));
                    return mails.stats().undecided() > before;
                });
                assertThat(received).isEmpty();
                own = EmbeddedBroker.start(data, port);
                try (Enforcer back = live.enforce()) {
                    assertThat(back).isNotNull();
                    await("all records are returned", LiveWeir.PATIENCE, () -> {
                        received.addAll(mails.poll(Duration.ofMillis(20)));
                        return received.size() >= 8;
                    });
                }
            }
            assertThat(values(received)).doesNotHaveDuplicates().hasSize(8);
        } finally {
            own.close();
        }
    }
}
