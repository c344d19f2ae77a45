package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names that callers invent never become labels of metrics, whichever way they arrive. */
@Tag("full")
class MetricLabelsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String LINES = "Content-Type: application/x-ndjson";
    private static final int MANY = 30;

    private static final String POLICIES = """
            policies:
              - {id: card, match: {q: card}, queue: card}
              - {id: limited, match: {q: limited}, key: [client, tenant], limits: [
                  {algorithm: fixed-window, limit: 1, per: 30d}]}
              - {id: shared, match: {q: shared}, key: [tenant], limits: [{algorithm: gcra, limit: 100000, per: 1s}]}
            queues:
              - {id: card, limit: 1000, per: 1s, capacity: 100000, tiers: {gold: {priority: 1}}}
            """;

    @TempDir
    private Path directory;

    private static String request(String id, String queue) {
        return "{\"requestId\":\"%1$s\",\"client\":\"c%1$s\",\"tier\":\"t%1$s\",\"attributes\":{\"q\":\"%2$s\",\"x%1$s\":\"y\",\"tenant\":\"n%1$s\"}}"
                .formatted(id, queue);
    }

    private static List<String> requests(String prefix, int count) {
        return IntStream.range(0, count)
                .boxed()
                .flatMap(i -> List.of("card", "limited", "shared", "none" + prefix + i).stream()
                        .map(queue -> request(prefix + queue + i, queue)))
                .toList();
    }

    /** Sends requests with names of their own, and returns how many of them are certainly queued. */
    private static long send(WeirConfig config, Caller caller, String prefix, int count) throws Exception {
        List<String> all = requests(prefix + "t", count);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                KafkaSettings.producer(config), new ByteArraySerializer(), new ByteArraySerializer())) {
            String requests = config.topics().prefix() + "requests";
            for (String request : all) {
                String client = request.replaceAll(".*\"client\":\"([^\"]*)\".*", "$1");
                producer.send(new ProducerRecord<>(requests, utf8(client), utf8(request)));
            }
            producer.send(new ProducerRecord<>(requests, utf8("c"), utf8("{\"x" + prefix + "\":1}")));
        }
        long queued = count;
        List<String> lines = requests(prefix + "h", count);
        for (int i = 0; i < lines.size(); i += 1_000) {
            String body = String.join("\n", lines.subList(i, Math.min(lines.size(), i + 1_000)));
            Reply reply = caller.post("/v1/decide?timeout=10s&fallback=deny", body, LINES);
            assertThat(reply.status()).isEqualTo(200);
            queued += reply.text()
                    .lines()
                    .filter(line -> line.contains("\"QUEUED\""))
                    .count();
        }
        for (int i = 0; i < count; i++) {
            caller.post("/v1/peek", request(prefix + "p" + i, "card"));
            caller.get("/v1/usage/" + prefix + i + "?tier=" + prefix + i + "&attribute.a" + prefix + i + "=1");
            caller.get("/v1/" + prefix + i);
            caller.get("/v1/queues/" + prefix + i);
        }
        return queued;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String metrics(Caller caller) {
        try {
            return caller.get("/metrics").text();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> series(Caller caller) {
        return metrics(caller)
                .lines()
                .filter(line -> line.startsWith("weir_"))
                .map(line -> line.substring(0, line.lastIndexOf(' ')))
                .sorted()
                .toList();
    }

    private static long released(Caller caller) {
        return metrics(caller)
                .lines()
                .filter(line -> line.startsWith("weir_release_wait_seconds_count"))
                .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    @Test
    void invented_names_are_no_labels() throws Exception {
        WeirConfig config = DecidingInstance.config(WeirConfig.builder()
                .named("labels")
                .topics("labels.", 2)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory));
        new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
        try (WeirService service = WeirService.open(config, Map.of());
                Enforcer enforcer = Enforcer.start(config, Optional.of(service.address()))) {
            enforcer.awaitRunning(PATIENCE);
            service.setMetrics(enforcer.metrics()::scrape);
            service.attachEnforcer(enforcer.policies(), enforcer.queries());
            Caller caller = Caller.of(service.port(), null);
            long first = send(config, caller, "first", 2);
            await(() -> metrics(caller), PATIENCE, () -> released(caller) >= first);
            List<String> before = series(caller);

            long more = send(config, caller, "more", MANY);
            await(() -> metrics(caller), PATIENCE, () -> released(caller) >= first + more);
            List<String> after = series(caller);
            assertThat(after.stream().filter(line -> !before.contains(line)).collect(Collectors.toList()))
                    .as("new series after %d invented names", MANY)
                    .allMatch(line -> line.contains("reason=\"") || line.contains("weir_lease_messages"))
                    .hasSizeLessThan(5);
            assertThat(after).noneMatch(line -> line.matches(".*=\"[a-z]*(first|more)[a-z]*[0-9].*"));

            caller.post(
                    "/v1/decide?timeout=10s",
                    "{\"requestId\":\"g\",\"client\":\"g\",\"tier\":\"gold\",\"attributes\":{\"q\":\"card\"}}");
            await("a tier that the queue names is a label", PATIENCE, () -> series(caller)
                    .contains("weir_release_wait_seconds_count{queue=\"card\",tier=\"gold\"}"));
        }
    }
}
