package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.ReleaseJson;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.tools.consumer.ConsoleConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the command of the FAQ that prints decisions with Kafka's console consumer. */
@Tag("full")
class ConsoleConsumerTest {

    private static final String COMMAND = "CLASSPATH=target/weir.jar kafka-console-consumer.sh ";

    @TempDir
    Path directory;

    @Test
    void kafkas_console_consumer_prints_decisions_and_releases_as_json() throws Exception {
        Decision decision = new Decision(
                        new Decision.Identity("r1", "żółw", new Request.Source(1, 7)),
                        new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429),
                        new Decision.Timing(1_000, 100L, null))
                .withLimit(new PolicyVersion("p", 2), new LimitStatus("gcra 5/1s", 5L, 1_000L, 0L, 900L));
        Release release = Release.builder("m1", "bob", "sms")
                .enqueuedAtMs(900)
                .releaseAtNanos(1_000_020_000)
                .payload(new byte[] {1})
                .build();
        StringWriter json = new StringWriter();
        StringWriter releaseJson = new StringWriter();
        try (DecisionJson out = new DecisionJson(json);
                ReleaseJson releases = new ReleaseJson(releaseJson)) {
            out.write(decision);
            releases.write(release);
        }
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
            Topics topics = Topics.of(config);
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(
                    KafkaSettings.producer(config), new StringSerializer(), new ByteArraySerializer())) {
                producer.send(new ProducerRecord<>(topics.decisions(), "żółw", new DecisionCodec().encode(decision)))
                        .get();
                producer.send(new ProducerRecord<>(topics.releases(), "bob", new ReleaseCodec().encode(release)))
                        .get();
            }
            List<String> commands = commands();
            assertThat(commands).hasSize(1);
            assertThat(run(commands.get(0), broker)).isEqualTo(json.toString());
            assertThat(run(commands.get(0).replace(topics.decisions(), topics.releases()), broker))
                    .isEqualTo(releaseJson.toString());
        }
    }

    private static List<String> commands() throws Exception {
        return ReadmeTest.commands(Path.of("topology-docs", "faq.md")).stream()
                .map(command -> command.replaceAll("\\\\\n *", ""))
                .filter(line -> line.startsWith(COMMAND))
                .map(line -> line.substring(COMMAND.length()))
                .toList();
    }

    private String run(String command, EmbeddedBroker broker) throws Exception {
        List<String> args = new ArrayList<>(List.of(
                command.replace("localhost:9092", broker.bootstrapServers()).split(" ")));
        args.addAll(List.of("--max-messages", "1", "--timeout-ms", "60000"));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        Process process = JavaProcess.of(
                        List.of("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"),
                        ConsoleConsumer.class,
                        args.toArray(String[]::new))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(err)).isZero();
        return Files.readString(out, StandardCharsets.UTF_8);
    }
}
