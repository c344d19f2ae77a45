package dev.weir.server.decide;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Caller;
import dev.weir.api.DecidingInstance;
import dev.weir.api.Reply;
import dev.weir.api.Scrape;
import dev.weir.api.WeirService;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.config.WeirConfig;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Deciding over HTTP, with a real broker. */
@Tag("slow")
class DecideApiTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String DECIDE = "/v1/decide?timeout=10s";
    private static final String LINES = "Content-Type: application/x-ndjson";

    private static final String POLICIES = """
            policies:
              - {id: three, match: {endpoint: /three}, limits: [{algorithm: sliding-window-log, limit: 3, per: 1h}]}
              - {id: own, match: {endpoint: /own}, limits: [{algorithm: fixed-window, limit: 3, per: 30d}],
                 allow-override: true}
              - {id: sms, match: {endpoint: /sms}, queue: sms}
              - {id: paced, match: {endpoint: /paced}, limits: [{algorithm: gcra, limit: 600, per: 1m, burst: 1}]}
              - {id: two, match: {endpoint: /two}, limits: [{algorithm: sliding-window-log, limit: 10, per: 1h},
                  {algorithm: sliding-window-log, limit: 1000, per: 30d}]}
              - {id: other, layer: other, match: {endpoint: /two}, limits: [
                  {algorithm: sliding-window-log, limit: 9, per: 1h}]}
              - {id: trial, layer: trial, match: {endpoint: /two}, on-exceed: observe, limits: [
                  {algorithm: sliding-window-log, limit: 1, per: 1h}]}
              - {id: shared, match: {endpoint: /shared}, key: [], lease: client, max-wait: 10s, limits: [
                  {algorithm: sliding-window-log, limit: 100, per: 1h}]}
            queues:
              - {id: sms, limit: 1, per: 1h}
            """;

    @TempDir
    static Path directory;

    private static WeirConfig config;
    private static DecidingInstance instance;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        config = config("deciding");
        instance = new DecidingInstance(config, POLICIES);
        caller = instance.caller();
    }

    @AfterAll
    static void stop() {
        instance.close();
    }

    private static WeirConfig config(String prefix) {
        WeirConfig base = DecidingInstance.config(WeirConfig.builder()
                .named(prefix)
                .topics(prefix + ".", 2)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory.resolve(prefix)));
        return base.toBuilder()
                .service(base.service().withXRateLimit(XRateLimitFields.DELTA_SECONDS))
                .build();
    }

    private static String request(String client, String endpoint) {
        return "{\"client\":\"" + client + "\",\"attributes\":{\"endpoint\":\"" + endpoint + "\"}}";
    }

    private static List<String> outcomes(JsonNode decisions) {
        return decisions.findValuesAsText("outcome");
    }

    @Test
    void a_request_is_decided_and_charged() throws Exception {
        for (int left = 2; left >= 0; left--) {
            Reply allowed = caller.post(DECIDE, request("alice", "/three"));
            assertThat(allowed.status()).isEqualTo(200);
            assertThat(allowed.json().get("outcome").asText()).isEqualTo("ALLOWED");
            assertThat(allowed.json().get("remaining").asInt()).isEqualTo(left);
            assertThat(allowed.json().get("requestId").asText()).isNotEmpty();
        }
        Reply yaml = caller.send(
                "POST",
                DECIDE,
                "client: alice\nattributes: {endpoint: /three}\n",
                "Content-Type: application/yaml",
                "Accept: application/yaml");
        assertThat(yaml.text()).contains("outcome: \"DENIED\"");
        Reply denied = caller.post(DECIDE, request("alice", "/three"));
        assertThat(denied.status()).isEqualTo(200);
        assertThat(denied.json().get("outcome").asText()).isEqualTo("DENIED");
        await("a peek sees the charges", PATIENCE, () -> caller.post("/v1/peek", request("alice", "/three"))
                .json()
                .get("outcome")
                .asText()
                .equals("DENIED"));
    }

    @Test
    void an_enforced_decision_has_the_status_and_the_headers_of_the_decision() throws Exception {
        String enforce = DECIDE + "&enforce=true";
        Reply allowed = caller.post(enforce, request("bob", "/three"));
        assertThat(allowed.status()).isEqualTo(200);
        assertThat(allowed.header("RateLimit")).startsWith("\"three\";r=2;t=");
        assertThat(allowed.header("Retry-After")).isNull();
        Reply denied = caller.post(enforce, "{\"client\":\"bob\",\"cost\":3,\"attributes\":{\"endpoint\":\"/three\"}}");
        assertThat(denied.status()).isEqualTo(429);
        assertThat(Long.parseLong(denied.header("Retry-After"))).isBetween(3_500L, 3_600L);
        assertThat(denied.json().get("reason").asText()).isEqualTo("LIMIT_EXCEEDED");
        assertThat(caller.post(enforce, "[" + request("bob", "/three") + "]").detail())
                .isEqualTo("enforce=true needs a body with a single request");
        assertThat(caller.post(enforce, request("bob", "/sms")).status()).isEqualTo(202);
    }

    @Test
    void the_headers_describe_each_limit_that_is_enforced() throws Exception {
        Reply paced = caller.post(DECIDE + "&enforce=true", request("pat", "/paced"));
        assertThat(paced.header("RateLimit-Policy")).isEqualTo("\"paced\";q=600;w=60");
        assertThat(paced.header("RateLimit")).isEqualTo("\"paced\";r=0;t=1");
        Reply two = caller.post(DECIDE + "&enforce=true", request("pat", "/two"));
        assertThat(two.header("RateLimit-Policy"))
                .isEqualTo("\"two\";q=10;w=3600, \"two/2\";q=1000;w=2592000, \"other\";q=9;w=3600");
        assertThat(two.header("RateLimit").replaceAll(";t=[0-9]+", ""))
                .isEqualTo("\"two\";r=9, \"two/2\";r=999, \"other\";r=8");
        assertThat(two.header("X-RateLimit-Remaining")).isEqualTo("8");
        assertThat(two.json().get("limits").findValuesAsText("policyId")).containsExactly("two", "two", "other");
    }

    @Test
    void a_request_is_decided_by_its_own_limit_where_the_policy_allows_it() throws Exception {
        String ten = "{\"client\":\"ola\",\"cost\":8,\"attributes\":{\"endpoint\":\"/own\"},"
                + "\"limitOverride\":{\"limit\":10,\"windowMs\":2592000000}}";
        Reply raised = caller.post(DECIDE + "&enforce=true", ten);
        assertThat(raised.status()).isEqualTo(200);
        assertThat(raised.json().get("limit").asInt()).isEqualTo(10);
        assertThat(raised.json().get("limitedBy").asText()).isEqualTo("fixed-window 10/30d");
        assertThat(raised.header("RateLimit")).startsWith("\"own\";r=2;t=");
        assertThat(raised.header("RateLimit-Policy")).isEqualTo("\"own\";q=10;w=2592000");
        Reply own = caller.post(DECIDE + "&enforce=true", request("ola", "/own"));
        assertThat(own.status()).isEqualTo(429);
        assertThat(own.header("RateLimit-Policy")).isEqualTo("\"own\";q=3;w=2592000");
        JsonNode batch = caller.post(
                        DECIDE,
                        "[" + ten.replace(":8,", ":1,").replace(":10,", ":9,") + "," + ten.replace(":10,", ":0,") + "]")
                .json();
        assertThat(batch.findValuesAsText("outcome")).containsExactly("ALLOWED", "DENIED");
        assertThat(batch.get(0).get("remaining").asInt()).isZero();
        assertThat(batch.get(1).get("remaining").asInt()).isZero();
        await("the usage is known", PATIENCE, () -> {
            JsonNode limit =
                    caller.get("/v1/usage/ola?attribute.endpoint=/own").json().at("/usage/0/limits/0");
            return limit.path("used").asInt() == 9
                    && limit.path("limit").asInt() == 3
                    && limit.path("remaining").asInt(1) == 0;
        });
        assertThat(caller.post("/v1/peek", ten.replace(":10,", ":20,"))
                        .json()
                        .get("remaining")
                        .asInt())
                .isEqualTo(3);
        assertThat(caller.post(DECIDE, ten.replace(":10,", ":-1,")).detail())
                .isEqualTo("limitOverride.limit must be 0 to 1152921504606846976, is -1");
    }

    @Test
    void a_reset_frees_the_limits_of_the_policy_that_it_names() throws Exception {
        String enforce = DECIDE + "&enforce=true";
        String reset =
                "{\"client\":\"uma\",\"kind\":\"RESET\",\"policyId\":\"%s\",\"attributes\":{\"endpoint\":\"/two\"}}";
        caller.post(DECIDE, request("uma", "/two"));
        JsonNode freed = caller.post(enforce, reset.formatted("two")).json();
        assertThat(freed.get("reason").asText()).isEqualTo("USAGE_RESET");
        assertThat(freed.get("policyId").asText()).isEqualTo("two");
        assertThat(freed.get("remaining").asInt()).isEqualTo(10);
        JsonNode after = caller.post(DECIDE, request("uma", "/two")).json();
        assertThat(after.get("limits").findValues("remaining").stream().map(JsonNode::asInt))
                .containsExactly(9, 999, 7);
        Reply unknown = caller.post(enforce, reset.formatted("twa"));
        assertThat(unknown.status()).isEqualTo(404);
        assertThat(unknown.json().get("reason").asText()).isEqualTo("POLICY_NOT_APPLICABLE");
        assertThat(unknown.json().get("limitedBy").asText()).isEqualTo("twa");
        assertThat(caller.post(DECIDE, reset.formatted("two").replace("RESET", "PEEK"))
                        .detail())
                .isEqualTo("policyId is for requests of the kind RESET, this is a PEEK");
    }

    @Test
    void each_request_of_a_batch_is_decided_in_order() throws Exception {
        String array = IntStream.range(0, 5)
                .mapToObj(i -> request(i == 2 ? "other" : "cem", "/three"))
                .collect(Collectors.joining(",", "[", "]"));
        JsonNode decisions = caller.post(DECIDE, array).json();
        assertThat(outcomes(decisions)).containsExactly("ALLOWED", "ALLOWED", "ALLOWED", "ALLOWED", "DENIED");
        assertThat(decisions.findValuesAsText("client")).containsExactly("cem", "cem", "other", "cem", "cem");
        assertThat(caller.post(DECIDE, "[]").text()).isEqualTo("[]");
    }

    @Test
    void each_line_of_a_body_is_decided_in_order() throws Exception {
        Reply reply = caller.send(
                "POST", DECIDE, (request("dan", "/three") + "\n").repeat(3) + "\n" + request("dan", "/three"), LINES);
        assertThat(reply.contentType()).isEqualTo("application/x-ndjson");
        assertThat(reply.text().lines().map(line -> line.replaceAll(".*\"outcome\":\"(\\w+)\".*", "$1")))
                .containsExactly("ALLOWED", "ALLOWED", "ALLOWED", "DENIED");
    }

    @Test
    void lines_are_answered_in_utf_8() throws Exception {
        Reply reply = caller.send("POST", DECIDE, request("żółw", "/three"), LINES);
        assertThat(reply.json().get("client").asText()).isEqualTo("żółw");
    }

    @Test
    void blank_lines_have_no_decisions() throws Exception {
        assertThat(caller.send("POST", DECIDE, " \n\n", LINES).text()).isEmpty();
    }

    @Test
    void one_invalid_request_rejects_the_whole_body_and_nothing_is_charged() throws Exception {
        String good = request("erin", "/three");
        assertThat(caller.post(DECIDE, "[" + good + ",{\"client\":\"erin\",\"cost\":-1}]")
                        .detail())
                .startsWith("[1]: cost ");
        assertThat(caller.post(DECIDE, "[" + good + ",{\"cost\":1}]").detail())
                .isEqualTo("the body [1]: client is required");
        assertThat(caller.post(DECIDE, "[" + good + ",7]").detail()).isEqualTo("the body [1]: is not a JSON object");
        assertThat(caller.post(DECIDE, "[" + good + ",{\"client\":]").detail())
                .startsWith("the body [1]: is not valid JSON: Unexpected character");
        assertThat(caller.post(DECIDE, "[" + good + " " + good + "]").detail())
                .startsWith("the body [1]: is not valid JSON: ");
        assertThat(caller.send("POST", DECIDE, good + "\n\n{\"client\":7}\n", LINES)
                        .detail())
                .isEqualTo("line 3: client must be a string");
        assertThat(caller.send("POST", DECIDE, good + "\n{\"client\":\"\"}\n", LINES)
                        .detail())
                .startsWith("line 2: ");
        assertThat(caller.post(DECIDE, "[" + (good + ",").repeat(1_000) + good + "]")
                        .detail())
                .isEqualTo("the body has more than 1000 requests");
        assertThat(caller.send("POST", DECIDE, (good + "\n").repeat(1_001), LINES)
                        .detail())
                .isEqualTo("the body has more than 1000 requests");
        for (String field : List.of("timestamp", "partition", "offset")) {
            String set = good.replaceFirst("[{]", "{\"" + field + "\":1,");
            assertThat(caller.post(DECIDE, set).detail())
                    .isEqualTo("the body: " + field + " cannot be set: it is that of the record");
            assertThat(caller.post(DECIDE, "[" + set + "]").status()).isEqualTo(400);
            assertThat(caller.send("POST", DECIDE, set, LINES).status()).isEqualTo(400);
        }
        assertThat(caller.post(DECIDE, good + good).status()).isEqualTo(400);
        assertThat(caller.post(DECIDE, "{\"client\":\"a\",\"client\":\"b\"}").detail())
                .contains("client appears twice");
        for (String body : List.of(good, "[" + good + "]")) {
            assertThat(caller.send("POST", DECIDE, body, "Content-Type: application/x-www-form-urlencoded")
                            .status())
                    .isEqualTo(415);
        }
        assertThat(caller.post("/v1/peek", good).json().get("remaining").asInt())
                .isEqualTo(2);
    }

    @Test
    void parameters_out_of_range_are_rejected() throws Exception {
        for (String bad :
                List.of("timeout=0ms", "timeout=11s", "timeout=x", "fallback=maybe", "enforce=1", "wait=1s")) {
            assertThat(caller.post("/v1/decide?" + bad, request("a", "/three")).status())
                    .as(bad)
                    .isEqualTo(400);
        }
    }

    @Test
    void all_kinds_of_requests_are_decided() throws Exception {
        String first = "{\"client\":\"fay\",\"requestId\":\"r1\",\"cost\":3,\"attributes\":{\"endpoint\":\"/three\"}";
        assertThat(caller.post(DECIDE, first + ",\"kind\":\"PEEK\"}")
                        .json()
                        .get("remaining")
                        .asInt())
                .isEqualTo(3);
        assertThat(caller.post(DECIDE, first + "}").json().get("remaining").asInt())
                .isZero();
        JsonNode settled = caller.post(
                        DECIDE,
                        "{\"client\":\"fay\",\"kind\":\"SETTLE\",\"cost\":-2,\"attributes\":{\"endpoint\":\"/three\"}}")
                .json();
        assertThat(settled.get("reason").asText()).isEqualTo("SETTLED");
        assertThat(settled.get("remaining").asInt()).isEqualTo(2);
        caller.post(DECIDE, request("gus", "/sms"));
        String waits = "{\"client\":\"gus\",\"requestId\":\"w1\",\"attributes\":{\"endpoint\":\"/sms\"}}";
        assertThat(caller.post(DECIDE, waits).json().get("outcome").asText()).isEqualTo("QUEUED");
        assertThat(caller.post(
                                DECIDE,
                                "{\"client\":\"gus\",\"requestId\":\"w1\",\"kind\":\"CANCEL\",\"queue\":\"sms\"}")
                        .json()
                        .get("reason")
                        .asText())
                .isEqualTo("CANCELLED");
    }

    @Test
    void a_shared_limit_for_leases_is_decided_with_leases() throws Exception {
        await(
                "an answer with a lease",
                PATIENCE,
                () -> caller.post(DECIDE, request("hal", "/shared"))
                                .json()
                                .get("sourcePartition")
                                .asInt()
                        == -1);
    }

    @Test
    void without_an_enforcer_the_fallback_answers() throws Exception {
        WeirConfig down = config("down");
        try (WeirService alone = WeirService.open(down, Map.of())) {
            Caller call = Caller.of(alone.port(), null);
            Reply none = call.post("/v1/decide?timeout=300ms", request("ivy", "/three"));
            assertThat(none.status()).isEqualTo(503);
            assertThat(none.header("Retry-After")).isEqualTo("1");
            Reply allowed = call.post("/v1/decide?timeout=300ms&fallback=allow", request("ivy", "/three"));
            assertThat(allowed.status()).isEqualTo(200);
            assertThat(allowed.header("X-Weir-Fallback")).isNotNull();
            assertThat(allowed.json().get("outcome").asText()).isEqualTo("ALLOWED");
            Reply denied = call.post("/v1/decide?timeout=300ms&fallback=deny&enforce=true", request("ivy", "/three"));
            assertThat(denied.status()).isEqualTo(503);
            assertThat(denied.json().get("outcome").asText()).isEqualTo("DENIED");
            await("the client has connected, and requests are written", PATIENCE, () -> {
                JsonNode batch = call.post("/v1/decide?timeout=300ms", "[" + request("ivy", "/three") + "]")
                        .json();
                assertThat(batch.get(0).get("outcome").isNull()).isTrue();
                return Set.of("TIMED_OUT", "NOT_WRITTEN")
                        .contains(batch.get(0).get("noDecision").asText());
            });
        }
    }

    @Test
    void many_callers_get_exactly_the_limit() {
        List<CompletableFuture<String>> pending = IntStream.range(0, 12)
                .mapToObj(i -> CompletableFuture.supplyAsync(() -> {
                    try {
                        return caller.post(DECIDE, request("joe", "/three"))
                                .json()
                                .get("outcome")
                                .asText();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }))
                .toList();
        assertThat(pending.stream().map(CompletableFuture::join).filter("ALLOWED"::equals))
                .hasSize(3);
    }

    @Test
    void requests_are_counted_by_result_and_refused_calls_by_reason() throws Exception {
        try (WeirService counting = WeirService.open(config, Map.of());
                WeirService alone = WeirService.open(config("alone"), Map.of())) {
            counting.setMetrics(() -> "");
            alone.setMetrics(() -> "");
            Caller call = Caller.of(counting.port(), null);
            String good = request("kim", "/three");
            assertThat(outcomes(call.post(DECIDE, "[" + good + "," + good + "]").json()))
                    .containsExactly("ALLOWED", "ALLOWED");
            assertThat(call.send("POST", DECIDE, good, LINES).status()).isEqualTo(200);
            assertThat(call.post(DECIDE, "[" + good + ",7]").status()).isEqualTo(400);
            assertThat(call.post(DECIDE + "&wait=1s", good).status()).isEqualTo(400);
            Scrape scrape = scrape(call);
            assertThat(scrape.lines("weir_decide_requests_total"))
                    .contains("{result=\"ANSWERED\"} 3.0", "{result=\"TIMED_OUT\"} 0.0");
            assertThat(scrape.sum("weir_decide_requests_total")).isEqualTo(3);
            assertThat(scrape.lines("weir_decide_refused_total"))
                    .containsExactly("{reason=\"INVALID\"} 2.0", "{reason=\"OVERLOADED\"} 0.0");
            assertThat(scrape.sum("weir_decide_duration_seconds_count")).isEqualTo(2);
            assertThat(scrape.sum("weir_decide_fallback_total")).isZero();

            Caller down = Caller.of(alone.port(), null);
            String soon = "/v1/decide?timeout=300ms&fallback=";
            assertThat(down.post(soon + "none", good).status()).isEqualTo(503);
            assertThat(down.post(soon + "allow", good).status()).isEqualTo(200);
            assertThat(down.post(soon + "deny", "[" + good + "," + good + "]").status())
                    .isEqualTo(200);
            assertThat(scrape(down).sum("weir_decide_in_flight")).isZero();
            assertThat(scrape(down).sum("weir_decide_requests_total")).isEqualTo(4);
            assertThat(scrape(down).lines("weir_decide_requests_total")).contains("{result=\"ANSWERED\"} 0.0");
            assertThat(scrape(down).lines("weir_decide_fallback_total"))
                    .containsExactly("{as=\"FAIL_CLOSED\"} 2.0", "{as=\"FAIL_OPEN\"} 1.0");
        }
    }

    private static Scrape scrape(Caller from) throws Exception {
        return Scrape.of(from.get("/metrics").text());
    }
}
