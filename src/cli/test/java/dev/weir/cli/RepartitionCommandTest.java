package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the command with a real broker, on topics without state. */
@Tag("full")
class RepartitionCommandTest {

    @TempDir
    Path directory;

    @Test
    void the_command_prints_what_it_would_do_does_it_and_has_nothing_to_do_then() throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
            Topics topics = Topics.of(config);
            assertThat(run(broker))
                    .isEqualTo(new CapturedRun(
                            1, "", "weir repartition: topic weir.requests does not exist; `weir run` creates it\n"));
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
                assertThat(run(broker)).isEqualTo(new CapturedRun(0, """
                        nothing to do: weir.requests and the state of clients have 4 partitions
                        """, ""));
                admin.createPartitions(Map.of(topics.requests(), NewPartitions.increaseTo(6)))
                        .all()
                        .get();
            }
            assertThat(run(broker, "--dry-run")).isEqualTo(new CapturedRun(0, """
                    weir.requests has 6 partitions, the state of clients has 4
                    would add partitions to weir.lease-responses.weir
                    would add partitions to weir.routed-requests.weir
                    would read up to 0 records, and copy those of clients that move
                    """, ""));
            assertThat(Shell.run("repartition", "-c", rejecting(broker)).err())
                    .startsWith(
                            "weir repartition: requests.misplaced is dead-letter: requests that wait on weir.requests")
                    .contains("Set requests.misplaced: route");
            CapturedRun done = run(broker);
            assertThat(List.of(done.out().split("\n")))
                    .contains("adding partitions to weir.routed-requests.weir")
                    .endsWith(
                            "the state of clients has 6 partitions: copied 0 records of usage and 0 idempotent answers,"
                                    + " moved 0 waiting and 0 routed requests",
                            "start the instances: weir run");
            assertThat(run(broker, "--dry-run").out()).startsWith("nothing to do: ");
        }
    }

    private String rejecting(EmbeddedBroker broker) throws IOException {
        return Files.writeString(directory.resolve("weir.yaml"), """
                kafka:
                  bootstrap.servers: %s
                requests:
                  misplaced: dead-letter
                """.formatted(broker.bootstrapServers()))
                .toString();
    }

    private static CapturedRun run(EmbeddedBroker broker, String... options) {
        List<String> words = new ArrayList<>(List.of("repartition", "-b", broker.bootstrapServers()));
        words.addAll(List.of(options));
        return Shell.run(words.toArray(String[]::new));
    }
}
