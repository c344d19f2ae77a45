package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.json.RequestJson;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The metrics of an instance. The dashboard and the alerts use only metrics and labels that exist. */
@Tag("full")
class PrometheusMetricsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /**
     * Three queues, two with a key, of which one has slots, each with one released request and others that wait; a limit that permits two of
     * three requests, and one beside it that observes; and a shared limit that permits one of two.
     */
    private static final String POLICIES = """
            policies:
              - {id: two, match: {endpoint: /two}, limits: [{algorithm: fixed-window, limit: 2, per: 30d}]}
              - {id: trial, layer: trial, match: {endpoint: /two}, on-exceed: observe,
                 limits: [{algorithm: fixed-window, limit: 1, per: 30d}]}
              - {id: slow, match: {endpoint: /slow}, queue: slow}
              - {id: hooks, match: {endpoint: /hook}, queue: hooks}
              - {id: jobs, match: {endpoint: /job}, queue: jobs}
              - {id: all, key: [], match: {endpoint: /all}, max-wait: 1m, limits: [{algorithm: gcra, limit: 1, per: 30d}]}
              - {id: bare, key: [], match: {endpoint: /bare}, when-empty: deny, limits: [{algorithm: gcra, limit: 1, per: 30d}]}
            queues:
              - {id: hooks, key: [client], limit: 1, per: 30d}
              - {id: slow, limit: 1, per: 30d, tiers: {gold: {priority: 1}}}
              - {id: jobs, key: [client], max-in-flight: 1, ack-timeout: 30d, max-duration: 30d, total: {max-in-flight: 3}}
            """;

    @TempDir
    static Path directory;

    private static WeirService service;
    private static Enforcer enforcer;
    private static Scrape scrape;

    @BeforeAll
    static void work() throws Exception {
        WeirConfig config = WeirConfig.builder()
                .named("metrics")
                .topics("metrics.", 2)
                .kafka(TestBroker.clientSettings())
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build()
                .withStateDirectory(directory);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
        service = WeirService.open(config, Map.of());
        enforcer = Enforcer.create(config, Optional.of(service.address()));
        service.setHealth(enforcer::health);
        service.setMetrics(enforcer.metrics()::scrape);
        awaitScrape(it -> it.lines("weir_health").contains("{state=\"STARTING\"} 1.0"));
        enforcer.begin();
        enforcer.awaitRunning(PATIENCE);
        send(config);
        awaitScrape(it -> it.text().contains("message=\"REFUSED\""));
        try (RequestSender sender = new RequestSender(config)) {
            sender.send(request(11, "/all", ", \"kind\": \"SETTLE\"")); // its usage is reported without a lease request
        }
        awaitScrape(it -> it.text().contains("message=\"REPORTED\""));
        try (RequestSender sender = new RequestSender(config)) {
            sender.send(request(10, "/all", ""));
            sender.send(request(12, "/bare", ""));
        }
        awaitScrape(it -> it.sum("weir_decisions_total") == 14 && it.sum("weir_dead_letters_total") == 1);
        awaitScrape(it -> it.sum("weir_release_wait_seconds_count") == 3);
        awaitScrape(it -> it.sum("weir_lag_records") == 0 && it.sum("weir_store_keys") > 0);
        System.gc();
        awaitScrape(it -> it.byName().containsKey("jvm_gc_pause_seconds_sum"));
    }

    private static void send(WeirConfig config) {
        try (RequestSender sender = new RequestSender(config)) {
            sender.send(request(9, "/all", ""));
            sender.send(request(13, "/hook", ", \"tier\": \"gold\""));
            sender.send(request(14, "/hook", ""));
            sender.send(request(15, "/job", ""));
            sender.send(request(16, "/job", ""));
            for (int i = 0; i < 3; i++) {
                sender.send(request(i, "/two", ""));
                sender.send(request(3 + i, "/slow", ", \"tier\": \"gold\""));
            }
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(KafkaSettings.producer(config), new StringSerializer(), new StringSerializer())) {
            var unused = producer.send(new ProducerRecord<>("metrics.requests", "unseen", "no request"));
        }
    }

    private static Request request(int number, String endpoint, String more) {
        return RequestJson.read(
                "{\"requestId\": \"r%d\", \"client\": \"unseen\", \"attributes\": {\"endpoint\": \"%s\"}%s}"
                        .formatted(number, endpoint, more),
                System.currentTimeMillis(),
                new Request.Source(0, 0));
    }

    private static void awaitScrape(Predicate<Scrape> condition) {
        await(() -> scrape.text(), PATIENCE, () -> {
            scrape = Scrape.of(Caller.of(service.port(), null).get("/metrics").text());
            return condition.test(scrape);
        });
    }

    @AfterAll
    static void stop() {
        service.close();
        enforcer.close();
    }

    @Test
    void decisions_are_counted_by_policy_outcome_and_reason() {
        assertThat(scrape.lines("weir_decisions_total"))
                .containsExactlyInAnyOrder(
                        "{outcome=\"ALLOWED\",policy=\"all\",reason=\"WITHIN_LIMITS\"} 1.0",
                        "{outcome=\"DENIED\",policy=\"all\",reason=\"LIMIT_EXCEEDED\"} 1.0",
                        "{outcome=\"ALLOWED\",policy=\"all\",reason=\"SETTLED\"} 1.0",
                        "{outcome=\"ALLOWED\",policy=\"two\",reason=\"WITHIN_LIMITS\"} 2.0",
                        "{outcome=\"DENIED\",policy=\"bare\",reason=\"QUOTA_NOT_AT_HAND\"} 1.0",
                        "{outcome=\"DENIED\",policy=\"two\",reason=\"LIMIT_EXCEEDED\"} 1.0",
                        "{outcome=\"QUEUED\",policy=\"hooks\",reason=\"SHAPED\"} 2.0",
                        "{outcome=\"QUEUED\",policy=\"jobs\",reason=\"SHAPED\"} 2.0",
                        "{outcome=\"QUEUED\",policy=\"slow\",reason=\"SHAPED\"} 3.0");
        assertThat(scrape.sum("weir_decision_latency_seconds_count")).isEqualTo(7);
        assertThat(scrape.lines("weir_dead_letters_total"))
                .filteredOn(line -> !line.endsWith(" 0.0"))
                .containsExactly("{reason=\"UNKNOWN_FORMAT\"} 1.0");
        assertThat(scrape.lines("weir_requests_misplaced_total")).containsExactly("0.0");
    }

    @Test
    void requests_that_an_observing_policy_would_have_denied_are_counted_by_that_policy() {
        assertThat(scrape.lines("weir_observed_total")).containsExactly("{policy=\"trial\"} 1.0");
    }

    @Test
    void lease_waits_and_messages_are_counted_by_policy() {
        assertThat(scrape.lines("weir_quota_waits_total")).containsExactly("{policy=\"all\"} 2.0");
        assertThat(scrape.lines("weir_lease_messages_total"))
                .contains("{message=\"GRANTED\",policy=\"all\"} 1.0")
                .extracting(line -> line.replaceFirst(" .*", ""))
                .filteredOn(line -> line.contains("all"))
                .containsExactlyInAnyOrder(
                        "{message=\"REQUESTED\",policy=\"all\"}",
                        "{message=\"GRANTED\",policy=\"all\"}",
                        "{message=\"REFUSED\",policy=\"all\"}",
                        "{message=\"REPORTED\",policy=\"all\"}");
    }

    @Test
    void queues_are_measured_by_tier() {
        assertThat(scrape.lines("weir_queue_waiting")).contains("{queue=\"slow\",tier=\"gold\"} 2.0");
        assertThat(scrape.lines("weir_release_wait_seconds_count"))
                .contains("{queue=\"slow\",tier=\"gold\"} 1")
                .anyMatch(line -> line.matches("\\{queue=\"hooks\",tier=\"(\\(other\\)|\\(none\\))\"} 1"))
                .hasSize(3);
        assertThat(scrape.sum("weir_release_lateness_seconds_count")).isEqualTo(3);
        assertThat(scrape.sum("weir_queue_oldest_wait_seconds")).isGreaterThan(0);
    }

    @Test
    void what_workers_have_is_measured_by_queue() {
        assertThat(scrape.lines("weir_queue_in_flight")).containsExactly("{queue=\"jobs\"} 1.0");
        assertThat(scrape.lines("weir_queue_max_in_flight")).containsExactly("{queue=\"jobs\"} 1.0");
        assertThat(scrape.lines("weir_queue_total_max_in_flight")).containsExactly("{queue=\"jobs\"} 3.0");
        assertThat(scrape.lines("weir_queue_slots")).containsExactly("{queue=\"jobs\",tier=\"(none)\"} 1.0");
        assertThat(scrape.lines("weir_queue_retries_waiting")).containsExactly("{queue=\"jobs\"} 0.0");
        assertThat(scrape.lines("weir_queue_oldest_attempt_seconds")).hasSize(1);
        assertThat(scrape.lines("weir_attempts_total"))
                .contains("{queue=\"jobs\",result=\"DONE\"} 0.0", "{queue=\"jobs\",result=\"UNCLAIMED\"} 0.0")
                .hasSize(AttemptEnd.values().length);
    }

    /** The number of keys, but no key itself: {@link #no_label_has_a_client}. */
    @Test
    void keys_in_use_are_measured_by_queue() {
        assertThat(scrape.lines("weir_queue_keys"))
                .containsExactlyInAnyOrder("{queue=\"hooks\"} 1.0", "{queue=\"jobs\"} 1.0");
        assertThat(scrape.lines("weir_queue_waiting").stream().filter(line -> line.contains("hooks")))
                .anyMatch(line -> line.endsWith(" 1.0"));
    }

    @Test
    void the_state_of_the_instance_is_measured() {
        assertThat(scrape.lines("weir_lag_records"))
                .anyMatch(line -> line.contains("topic=\"metrics.requests\""))
                .noneMatch(line -> line.contains("topic=\"weir_requests\"")); // Kafka's old form of the name
        assertThat(scrape.lines("weir_policies")).containsExactly("{kind=\"policy\"} 7.0", "{kind=\"queue\"} 3.0");
        assertThat(scrape.lines("weir_health"))
                .contains("{state=\"RUNNING\"} 1.0", "{state=\"STARTING\"} 0.0")
                .hasSize(6);
        assertThat(scrape.lines("weir_threads"))
                .containsExactly(
                        "{application=\"deciding\",state=\"RUNNING\"} 1.0",
                        "{application=\"shaping\",state=\"RUNNING\"} 1.0");
        assertThat(scrape.sum("weir_hot_state_bytes")).isBetween(1.0, 10_000.0); // one client, one policy with limits
        assertThat(scrape.sum("weir_hot_state_limit_bytes"))
                .isEqualTo((double) WeirConfig.DEFAULTS.state().hotMemoryBytes());
        assertThat(scrape.sum("weir_commits_total")).isGreaterThan(0);
        assertThat(scrape.sum("weir_tasks")).isGreaterThan(0);
        assertThat(scrape.sum("jvm_memory_used_bytes")).isGreaterThan(0);
    }

    @Test
    void no_label_has_a_client() {
        assertThat(scrape.text()).doesNotContain("unseen");
    }

    @Test
    void every_metric_is_on_the_page() throws Exception {
        String page = Files.readString(Path.of("topology-docs/reference/metrics.md"));
        for (String name : scrape.byName().keySet()) {
            if (name.startsWith("weir_")) {
                assertThat(page).contains("`" + name.replaceFirst("_(bucket|sum|count)$", "") + "`");
            }
        }
    }

    @Test
    void a_query_for_a_missing_metric_is_detected() {
        assertThat(new Queries(List.of(
                                "weir_nothing > 0",
                                "rate(weir_decisions_total{tier=\"gold\"}[1m])",
                                "sum by (tier) (weir_decisions_total)",
                                "weir_lease_messages_total{message=~\"REQUESTED|TAKEN\"}"))
                        .faults(scrape))
                .containsExactly(
                        "there is no weir_nothing: weir_nothing > 0",
                        "weir_decisions_total has no tier: rate(weir_decisions_total{tier=\"gold\"}[1m])",
                        "nothing has tier: sum by (tier) (weir_decisions_total)",
                        "weir_lease_messages_total never is message=\"TAKEN\":"
                                + " weir_lease_messages_total{message=~\"REQUESTED|TAKEN\"}");
    }

    @Test
    void the_dashboard_and_the_alerts_query_existing_metrics() throws Exception {
        Path files = Path.of("src/deploy");
        for (Queries queries : List.of(
                Queries.of(files.resolve("grafana/weir.json")),
                Queries.ofGroup(files.resolve("alerts.yaml"), "weir"))) {
            assertThat(queries.all()).hasSizeGreaterThan(5);
            assertThat(queries.faults(scrape)).isEmpty();
        }
    }
}
