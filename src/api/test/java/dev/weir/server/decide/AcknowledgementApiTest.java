package dev.weir.server.decide;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Caller;
import dev.weir.api.DecidingInstance;
import dev.weir.api.Reply;
import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.config.WeirConfig;
import dev.weir.event.Release;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicReader.From;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Workers acknowledge releases over HTTP, with a real broker. */
@Tag("full")
class AcknowledgementApiTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String DECIDE = "/v1/decide?timeout=10s";
    private static final String COMPLETE = "/v1/complete?timeout=10s";
    private static final String EXTEND = "/v1/extend?timeout=10s";

    private static final String POLICIES = """
            policies: [{id: jobs, queue: jobs}]
            queues: [{id: jobs, key: [client], max-in-flight: 1, ack-timeout: 1d, max-duration: 2d, retry-backoff: 0ms}]
            """;

    @TempDir
    static Path directory;

    private static WeirConfig config;
    private static DecidingInstance instance;
    private static Caller caller;
    private static TopicReader<Release> topic;
    private static final List<Release> RELEASES = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        config = DecidingInstance.config(WeirConfig.builder()
                .named("acknowledged")
                .topics("acknowledged.", 2)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory));
        instance = new DecidingInstance(config, POLICIES);
        caller = instance.caller();
        topic = TopicReader.releases(config, From.BEGINNING, true);
    }

    @AfterAll
    static void stop() {
        topic.close();
        instance.close();
    }

    private static void queue(String client, String id) throws IOException {
        JsonNode decision = caller.post(DECIDE, "{\"client\":\"" + client + "\",\"requestId\":\"" + id + "\"}")
                .json();
        assertThat(decision.get("outcome").asText()).isEqualTo("QUEUED");
    }

    private static Release released(String client, String id, int attempt) {
        await("attempt " + attempt + " of " + id, PATIENCE, () -> {
            topic.poll(Duration.ofMillis(100), RELEASES::add);
            return RELEASES.stream().anyMatch(release -> isAttempt(release, client, id, attempt));
        });
        return RELEASES.stream()
                .filter(release -> isAttempt(release, client, id, attempt))
                .findFirst()
                .orElseThrow();
    }

    private static boolean isAttempt(Release release, String client, String id, int attempt) {
        return release.client().equals(client)
                && release.requestId().equals(id)
                && release.attempt().number() == attempt;
    }

    /** Returns the body of an acknowledgement with the further fields, such as {@code ,"result":"done"}. */
    private static String answer(Release release, String fields) {
        return "{\"client\":\"" + release.client() + "\",\"receipt\":\""
                + release.attempt().receipt() + "\"" + fields + "}";
    }

    private static String reason(String path, String body) throws IOException {
        Reply reply = caller.post(path, body);
        assertThat(reply.status()).as(reply.text()).isEqualTo(200);
        return reply.json().get("reason").asText();
    }

    @Test
    void a_worker_extends_retries_and_completes() throws Exception {
        queue("ann", "a");
        queue("ann", "b");
        Release first = released("ann", "a", 1);
        assertThat(first.attempt().ackTimeoutMs()).isEqualTo(86_400_000);
        assertThat(reason(EXTEND, answer(first, ""))).isEqualTo("EXTENDED");
        assertThat(reason(COMPLETE, answer(first, ",\"result\":\"retry\",\"error\":\"no carrier\"")))
                .isEqualTo("COMPLETED");
        Release second = released("ann", "a", 2);
        assertThat(RELEASES).as("one slot").noneMatch(release -> isAttempt(release, "ann", "b", 1));

        Reply stale = caller.post(COMPLETE + "&enforce=true", answer(first, ",\"result\":\"done\""));
        assertThat(stale.status()).isEqualTo(410);
        assertThat(stale.json().get("reason").asText()).isEqualTo("STALE_ATTEMPT");
        assertThat(reason(COMPLETE, answer(second, ",\"result\":\"done\""))).isEqualTo("COMPLETED");
        Release other = released("ann", "b", 1);
        assertThat(reason(COMPLETE, answer(other, ",\"result\":\"failed\""))).isEqualTo("COMPLETED");
        assertAudited(7);
    }

    /** Waits until the audit has verified so many requests that a queue answered, and found a dead letter. */
    private static void assertAudited(int requests) {
        await("the decisions are committed", PATIENCE, () -> {
            List<Mismatch> mismatches = new ArrayList<>();
            AuditSummary totals =
                    Audit.run(config, new AuditRange(null, null, Duration.ofSeconds(30)), mismatches::add);
            assertThat(mismatches).isEmpty();
            return totals.sentToQueue() >= requests && totals.deadLetters() == 1;
        });
    }

    @Test
    void several_acknowledgements_are_answered_in_their_order() throws Exception {
        queue("bob", "a");
        queue("eve", "a");
        Release bob = released("bob", "a", 1);
        Release eve = released("eve", "a", 1);
        String stolen = answer(eve, "").replace("\"eve\"", "\"bob\"");
        JsonNode decisions =
                caller.post(EXTEND, "[" + answer(bob, "") + "," + stolen + "]").json();
        assertThat(decisions.findValuesAsText("reason")).containsExactly("EXTENDED", "STALE_ATTEMPT");
        String lines = answer(bob, ",\"result\":\"done\"") + "\n" + answer(eve, ",\"result\":\"done\"") + "\n";
        Reply reply = caller.post(COMPLETE, lines, "Content-Type: application/x-ndjson");
        assertThat(reply.text().lines()).hasSize(2).allMatch(line -> line.contains("\"COMPLETED\""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "/v1/complete | {\"client\":\"c\",\"kind\":\"COMPLETE\"} | kind cannot be set: it is COMPLETE",
                "/v1/extend | {\"client\":\"c\",\"kind\":\"CONSUME\"} | kind cannot be set: it is EXTEND",
                "/v1/extend | [{\"client\":\"c\",\"kind\":\"CONSUME\"}] | [0]: kind cannot be set: it is EXTEND",
                "/v1/complete | {\"client\":\"c\"} | receipt is required for COMPLETE",
                "/v1/complete | {\"client\":\"c\",\"receipt\":\"x\"} | receipt must be copied unchanged",
                "/v1/complete | {\"client\":\"c\",\"receipt\":\"AQFxAAAAAAEBAQ\"} | result is required for COMPLETE",
                "/v1/extend | {\"client\":\"c\",\"receipt\":\"AQFxAAAAAAEBAQ\",\"result\":\"done\"} | result is for requests of the kind COMPLETE",
            })
    void an_invalid_acknowledgement_is_rejected(String path, String body, String why) throws Exception {
        Reply reply = caller.post(path, body);
        assertThat(reply.status()).isEqualTo(400);
        assertThat(reply.detail()).contains(why);
    }
}
