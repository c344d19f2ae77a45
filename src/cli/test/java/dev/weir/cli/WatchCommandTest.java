package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Release;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.ReleaseCodec;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class WatchCommandTest {

    private static final String TOPIC = Topics.of(WeirConfig.DEFAULTS).releases();

    private static EmbeddedBroker broker;

    @BeforeAll
    static void write() throws Exception {
        broker = EmbeddedBroker.start();
        WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        ReleaseCodec avro = new ReleaseCodec();
        try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(
                KafkaSettings.producer(config), new StringSerializer(), new ByteArraySerializer())) {
            for (Release release : List.of(
                    release("r1", "alice", "mail", 1),
                    release("r2", "alice", "sms", 1),
                    release("r3", "bob", "mail", 2))) {
                producer.send(new ProducerRecord<>(TOPIC, release.client(), avro.encode(release)))
                        .get();
            }
        }
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @Test
    void releases_are_lines_of_json() {
        assertThat(releases("-n", "1", "--client", "bob"))
                .isEqualTo("{\"requestId\":\"r3\",\"client\":\"bob\",\"tier\":null,\"queue\":\"mail\",\"sequence\":2,"
                        + "\"enqueuedAt\":900,\"releaseAt\":1000.02,\"waitMs\":100,\"cost\":1,\"attributes\":{},"
                        + "\"payload\":null,\"queueKey\":{}}\n");
    }

    @Test
    void releases_are_filtered_by_queue_and_client() {
        assertThat(releases("-n", "3").lines()).hasSize(3);
        assertThat(releases("-n", "2", "--queue", "mail").lines())
                .hasSize(2)
                .allMatch(line -> line.contains("\"queue\":\"mail\""));
        assertThat(releases("-n", "1", "--queue", "sms", "--uncommitted").lines())
                .hasSize(1)
                .allMatch(line -> line.contains("\"r2\""));
        assertThat(releases("-n", "1", "--queue", "mail", "--client", "alice").lines())
                .hasSize(1)
                .allMatch(line -> line.contains("\"r1\""));
    }

    private static String releases(String... options) {
        String[] args = new String[options.length + 5];
        System.arraycopy(
                new String[] {"watch", "releases", "--from-beginning", "-b", broker.bootstrapServers()}, 0, args, 0, 5);
        System.arraycopy(options, 0, args, 5, options.length);
        CapturedRun result = Shell.run(args);
        assertThat(result.exit()).as(result.err()).isZero();
        return result.out();
    }

    private static Release release(String requestId, String client, String queue, long sequence) {
        return Release.builder(requestId, client, queue)
                .sequence(sequence)
                .enqueuedAtMs(900)
                .releaseAtNanos(1_000_020_000)
                .build();
    }
}
