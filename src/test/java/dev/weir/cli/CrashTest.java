package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.JavaProcess;
import dev.weir.app.DemoTrace;
import dev.weir.app.KafkaSettings;
import dev.weir.app.Sender;
import dev.weir.app.TopicReader;
import dev.weir.app.TopicSetup;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Request;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An enforcer that is killed in the middle of its work, three times, and started again on its state. */
class CrashTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int KILLS = 3;

    @TempDir
    Path directory;

    @Test
    void every_request_has_one_committed_decision_and_the_counts_are_those_of_an_undisturbed_run() throws Exception {
        List<Request> requests = DemoTrace.requests();
        Map<String, Decision> decisions = new HashMap<>();
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
            Path settings = Files.writeString(
                    directory.resolve("weir.yaml"),
                    "state: {directory: \"%s\"}\nkafka: {bootstrap.servers: \"%s\"}\n"
                            .formatted(directory.resolve("weir-state"), broker.bootstrapServers()));
            Path policies = Files.writeString(
                    directory.resolve("policies.yaml"),
                    // a queue drains by the wall clock
                    DemoTrace.policies().replace("queue: archive", "limits: [{unlimited: true}]"));
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.CREATE);
            }
            assertThat(Shell.run("policies", "apply", "-c", settings.toString(), policies.toString())
                            .exit())
                    .isZero();
            try (TopicReader<Decision> reader = TopicReader.decisions(config, TopicReader.From.BEGINNING, true);
                    Sender sender = new Sender(config)) {
                int sent = 0;
                for (int life = 0; life <= KILLS; life++) {
                    Process weir = start(settings);
                    try {
                        int share = requests.size() * (life + 1) / (KILLS + 1);
                        int some = (sent + share) / 2; // so it dies with work behind it and before it
                        for (; sent < share; sent++) {
                            sender.send(requests.get(sent));
                        }
                        read(reader, decisions, life == KILLS ? requests.size() : some);
                    } finally {
                        weir.destroyForcibly().waitFor();
                    }
                }
            }
        }
        assertThat(decisions).hasSize(requests.size());
        assertThat(decisions.values())
                .filteredOn(decision -> decision.outcome() == Outcome.DENIED)
                .hasSize(2_973);
    }

    private static void read(TopicReader<Decision> reader, Map<String, Decision> decisions, int until) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (decisions.size() < until && System.nanoTime() - deadline < 0) {
            reader.poll(Duration.ofMillis(20), decision -> assertThat(decisions.put(decision.requestId(), decision))
                    .as("a second decision for %s", decision.requestId())
                    .isNull());
        }
        assertThat(decisions.size()).isGreaterThanOrEqualTo(until);
    }

    private Process start(Path settings) throws IOException {
        return JavaProcess.of(List.of(), Main.class, "run", "--service-port", "0", "-c", settings.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("log").toFile()))
                .start();
    }
}
