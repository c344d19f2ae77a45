package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.JavaProcess;
import dev.weir.app.KafkaSettings;
import dev.weir.app.QueueAudit;
import dev.weir.app.QueueHistory;
import dev.weir.app.QueueTraffic;
import dev.weir.app.Sender;
import dev.weir.app.TopicSetup;
import dev.weir.codec.PolicyFile;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.policy.Reason;
import dev.weir.shape.QueueRules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An enforcer that is killed again and again while requests come in and others wait, and started on its state. */
class ShapingCrashTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** How many each life releases before it is killed; the last one ends in peace. */
    private static final List<Integer> LIVES = List.of(150, 1, 60);

    private static final String POLICIES = """
            policies:
              - {id: sms, match: {endpoint: /sms}, queue: sms}
              - {id: mail, match: {endpoint: /mail}, queue: mail}
            queues:
              - {id: sms, limit: 700, per: 1s, burst: 3, max-wait: 60s, tiers: {platinum: {priority: 1}, gold: {weight: 4}}}
              - {id: mail, limit: 40, per: 1s, capacity: 12, max-wait: 6s, tiers: {platinum: {priority: 1}}}
            """;

    @TempDir
    Path directory;

    @Test
    void each_queued_request_ends_once_in_order_at_the_pace_and_in_time() throws Exception {
        List<QueueRules> rules = PolicyFile.read("policies.yaml", POLICIES).queues().stream()
                .map(PolicyFile.Definition.OfQueue::queue)
                .toList();
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
            Path settings = Files.writeString(directory.resolve("weir.yaml"), """
                    state: {directory: "%s"}
                    kafka:
                      bootstrap.servers: "%s"
                      main.consumer.session.timeout.ms: 2000
                      main.consumer.heartbeat.interval.ms: 500
                    """.formatted(
                            directory.resolve("weir-state"), broker.bootstrapServers()));
            Path policies = Files.writeString(directory.resolve("policies.yaml"), POLICIES);
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            assertThat(Shell.run("policies", "apply", "-c", settings.toString(), policies.toString())
                            .exit())
                    .isZero();
            try (QueueHistory history = new QueueHistory(config);
                    Sender sender = new Sender(config)) {
                runAndKill(settings, history, sender);
            }
            QueueAudit audit = QueueHistory.read(config, PATIENCE);
            assertThat(audit.faults(rules)).isEmpty();
            assertThat(audit.released()).isGreaterThan(1_000);
            assertThat(List.of(Reason.QUEUE_FULL, Reason.EVICTED, Reason.WAITED_TOO_LONG, Reason.CANCELLED))
                    .allMatch(reason -> audit.decided(reason) > 0);
        }
    }

    private void runAndKill(Path settings, QueueHistory history, Sender sender)
            throws IOException, InterruptedException {
        QueueTraffic traffic = new QueueTraffic(2);
        for (int releases : LIVES) {
            int before = history.poll().released();
            traffic.next(700).forEach(sender::send);
            Process weir = start(settings);
            try {
                history.await("some are released", PATIENCE, audit -> {
                    if (audit.released() > 0) { // it runs: more come until it dies
                        traffic.next(5).forEach(sender::send);
                    }
                    return audit.released() >= before + releases;
                });
            } finally {
                weir.destroyForcibly().waitFor();
            }
            QueueAudit atDeath = history.readToEnd(PATIENCE);
            assertThat(atDeath.waiting() + atDeath.unanswered()).isGreaterThan(100);
        }
        Process weir = start(settings);
        try {
            sender.flush();
            history.awaitEnds(PATIENCE);
            weir.destroy(); // it commits what it still has to say
            assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            weir.destroyForcibly();
        }
    }

    private Process start(Path settings) throws IOException {
        return JavaProcess.of(List.of(), Main.class, "run", "--service-port", "0", "-c", settings.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("log").toFile()))
                .start();
    }
}
