package dev.weir.examples;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Outcome;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.TopicSetup;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the examples with an enforcer and a real broker. */
@Tag("full")
class RunningExamplesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final String POLICIES = """
            policies:
              - {id: articles, match: {endpoint: "/articles/**"}, limits: [{algorithm: sliding-window-log, limit: 2, per: 1 day}]}
              - {id: calls, match: {method: "shop.*/Get"}, limits: [{algorithm: sliding-window-log, limit: 2, per: 1 day}]}
              - {id: mails, match: {operation: send-mail}, limits: [{algorithm: gcra, limit: 20, per: 1s, burst: 2}]}
              - {id: sms, match: {endpoint: /sms}, queue: sms}
            queues:
              - {id: sms, limit: 50, per: 1s}
            """;

    @TempDir
    private static Path directory;

    private static EmbeddedBroker broker;
    private static Enforcer enforcer;
    private static Map<String, Object> kafka;

    @BeforeAll
    static void start() throws Exception {
        broker = EmbeddedBroker.start();
        kafka = Map.of("bootstrap.servers", broker.bootstrapServers());
        WeirConfig config = WeirConfig.builder()
                .threads(1)
                .topics(WeirConfig.DEFAULTS.topics().prefix(), 2)
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
    }

    @AfterAll
    static void stop() {
        enforcer.close();
        broker.close();
    }

    @Test
    void the_http_server_refuses_the_third_request() throws Exception {
        List<Integer> statuses = new ArrayList<>();
        try (RateLimitedServer server = new RateLimitedServer(kafka, 0)) {
            assertThat(server.awaitReady(PATIENCE)).isTrue();
            HttpClient http = HttpClient.newHttpClient();
            URI uri = URI.create("http://localhost:" + server.port() + "/articles/7");
            HttpRequest request =
                    HttpRequest.newBuilder(uri).header("X-Api-Key", "alice").build();
            HttpResponse<String> last = null;
            for (int i = 0; i < 3; i++) {
                last = http.send(request, BodyHandlers.ofString());
                statuses.add(last.statusCode());
            }
            assertThat(last.headers().firstValue("Retry-After")).isPresent();
        }
        assertThat(statuses).containsExactly(200, 200, 429);
    }

    @Test
    void the_grpc_server_refuses_the_third_call() throws Exception {
        List<Status.Code> statuses = new ArrayList<>();
        try (GrpcServer server = new GrpcServer(kafka, 0)) {
            assertThat(server.awaitReady(PATIENCE)).isTrue();
            ManagedChannel channel = Grpc.newChannelBuilder(
                            "localhost:" + server.port(), InsecureChannelCredentials.create())
                    .build();
            try {
                for (int i = 0; i < 3; i++) {
                    try {
                        ClientCalls.blockingUnaryCall(channel, GrpcServer.GET, CallOptions.DEFAULT, "7");
                        statuses.add(Status.Code.OK);
                    } catch (StatusRuntimeException e) {
                        statuses.add(e.getStatus().getCode());
                    }
                }
            } finally {
                channel.shutdownNow();
            }
        }
        assertThat(statuses).containsExactly(Status.Code.OK, Status.Code.OK, Status.Code.RESOURCE_EXHAUSTED);
    }

    @Test
    void the_mailer_sends_all_mails_at_the_rate_of_the_policy() throws Exception {
        try (Admin admin = Admin.create(kafka)) {
            admin.createTopics(List.of(new NewTopic("mails", 2, (short) 1)))
                    .all()
                    .get();
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(kafka, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < 12; i++) {
                var unused = producer.send(new ProducerRecord<>("mails", "acme", "mail" + i));
            }
        }
        List<String> sent = new CopyOnWriteArrayList<>();
        long startNanos = System.nanoTime();
        try (ThrottledMailer mailer = new ThrottledMailer(kafka, "mails", sent::add)) {
            Thread thread = new Thread(mailer::run);
            thread.start();
            await("all mails are sent", PATIENCE, () -> sent.size() == 12);
            mailer.stop();
            thread.join();
        }
        assertThat(sent).doesNotHaveDuplicates();
        // 2 at once, and 10 at 20 a second
        assertThat(System.nanoTime() - startNanos)
                .isGreaterThanOrEqualTo(Duration.ofMillis(450).toNanos());
    }

    @Test
    void the_worker_sends_each_message_that_is_released() throws Exception {
        Set<String> sent = ConcurrentHashMap.newKeySet();
        Map<String, Object> group = Map.of("bootstrap.servers", broker.bootstrapServers(), "group.id", "queue-worker");
        try (WeirClient weir = WeirClient.builder(kafka).timeout(PATIENCE).start();
                ReleaseWorker worker = QueueWorker.start(group, release -> sent.add(release.requestId()))) {
            for (int i = 0; i < 10; i++) {
                assertThat(weir.decide(RequestBuilder.of("alice")
                                        .requestId("message" + i)
                                        .attribute("endpoint", "/sms")
                                        .build())
                                .join()
                                .decision()
                                .orElseThrow()
                                .outcome())
                        .isEqualTo(Outcome.QUEUED);
            }
            await(
                    "all messages are sent",
                    PATIENCE,
                    () -> worker.stats().attempts().handled() == 10);
        }
        assertThat(sent).hasSize(10);
    }
}
