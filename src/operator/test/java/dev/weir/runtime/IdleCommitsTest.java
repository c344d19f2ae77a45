package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class IdleCommitsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Pattern COMMITS = Pattern.compile("(?m)^weir_commits_total\\{[^}]*} (\\S+)$");

    private static final String RULES = """
            policies:
              - {id: own, limits: [{algorithm: gcra, limit: 100, per: 1s}]}
              - {id: shared, key: [client, route], limits: [{algorithm: fixed-window, limit: 100, per: 1s}]}
            """;

    @TempDir
    Path directory;

    /** Expired states are deleted while requests arrive, which must not wake up the tasks for ever. */
    @Test
    void an_enforcer_without_requests_commits_nothing() throws Exception {
        WeirConfig.State state = WeirConfig.DEFAULTS.state();
        WeirConfig config = WeirConfig.builder()
                .named("idlecommits")
                .kafka(TestBroker.clientSettings())
                .state(new WeirConfig.State(
                        directory,
                        state.memoryBytes(),
                        state.hotMemoryBytes(),
                        Duration.ofMillis(10),
                        state.cleanupKeys(),
                        Duration.ofMillis(40),
                        state.most()))
                .leases(new WeirConfig.Leases(Duration.ofMillis(500), Duration.ofMillis(50)))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("idle", RULES), PolicyTopic.Options.DEFAULTS, 0);
        try (Enforcer enforcer = Enforcer.start(config);
                RequestSender sender = new RequestSender(config)) {
            enforcer.awaitRunning(PATIENCE);
            for (int i = 0; i < 20; i++) {
                sender.send(Request.builder("r" + i, "c" + i)
                        .attributes(Map.of("route", "a"))
                        .timestampMs(System.currentTimeMillis())
                        .build());
            }
            sender.flush();
            awaitDecisions(config, 20);
            assertThat(commits(enforcer)).isPositive();
            await("no commits for 3 s", PATIENCE, unchanged(() -> commits(enforcer), Duration.ofSeconds(3)));
        }
    }

    private static void awaitDecisions(WeirConfig config, int count) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, "idlecommits-reader");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(Topics.of(config).decisions()));
            int[] read = {0};
            await("the decisions are committed", PATIENCE, () -> {
                read[0] += consumer.poll(Duration.ofMillis(100)).count();
                return read[0] == count;
            });
        }
    }

    /** Returns the commits of all threads. */
    private static long commits(Enforcer enforcer) {
        return COMMITS.matcher(enforcer.metrics().scrape())
                .results()
                .map(MatchResult::group)
                .map(line -> line.substring(line.lastIndexOf(' ')))
                .mapToLong(number -> (long) Double.parseDouble(number))
                .sum();
    }

    /** Returns a condition: a value has not changed for a time. */
    private static Callable<Boolean> unchanged(Callable<Long> value, Duration time) {
        return new Callable<>() {
            private long last = -1;
            private long sinceNanos = System.nanoTime();

            @Override
            public Boolean call() throws Exception {
                long now = value.call();
                if (now != last) {
                    last = now;
                    sinceNanos = System.nanoTime();
                }
                return System.nanoTime() - sinceNanos >= time.toNanos();
            }
        };
    }
}
