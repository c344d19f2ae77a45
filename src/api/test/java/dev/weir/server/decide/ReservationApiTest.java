package dev.weir.server.decide;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Caller;
import dev.weir.api.DecidingInstance;
import dev.weir.api.Reply;
import dev.weir.config.WeirConfig;
import dev.weir.testing.TestBroker;
import dev.weir.wire.json.Json;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reservations and limits of concurrency over HTTP, with a real broker. */
@Tag("full")
class ReservationApiTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String DECIDE = "/v1/decide?timeout=10s";
    private static final String ENFORCE = DECIDE + "&enforce=true";

    private static final String POLICIES = """
            policies:
              - {id: calls, match: {endpoint: /call}, limits: [{algorithm: concurrency, limit: 2, ttl: 1h}]}
              - {id: tokens, layer: tokens, key: [client, model], limits: [
                  {algorithm: sliding-window-log, limit: 1000, per: 1h}]}
            """;

    @TempDir
    static Path directory;

    private static DecidingInstance instance;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        instance = new DecidingInstance(config("reserving"), POLICIES);
        caller = instance.caller();
    }

    @AfterAll
    static void stop() {
        instance.close();
    }

    private static WeirConfig config(String prefix) {
        return DecidingInstance.config(WeirConfig.builder()
                .named(prefix)
                .topics(prefix + ".", 2)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory.resolve(prefix)));
    }

    private static WeirConfig withReservations(WeirConfig config, int most) {
        WeirConfig.State state = config.state();
        return config.toBuilder()
                .state(new WeirConfig.State(
                        state.directory(),
                        state.memoryBytes(),
                        state.hotMemoryBytes(),
                        state.cleanupInterval(),
                        state.cleanupKeys(),
                        state.retention(),
                        new WeirConfig.PartitionBounds(state.most().idempotencyKeys(), most)))
                .build();
    }

    /** Returns a request with the further fields, such as {@code "cost":3}. */
    private static String request(String client, String id, String fields) {
        return "{\"client\":\"" + client + "\",\"requestId\":\"" + id + "\"" + (fields.isEmpty() ? "" : ",") + fields
                + "}";
    }

    private static String call(String client, String id) {
        return request(client, id, "\"attributes\":{\"endpoint\":\"/call\",\"model\":\"m\"}");
    }

    private static JsonNode decide(String request) throws Exception {
        return caller.post(DECIDE, request).json();
    }

    private static String reason(String request) throws Exception {
        return decide(request).get("reason").asText();
    }

    private static JsonNode reservations(String clientAndQuery) throws Exception {
        return caller.get("/v1/reservations/" + clientAndQuery).json();
    }

    private static void awaitReservations(String client, String... ids) throws Exception {
        await("the reservations are committed", PATIENCE, () -> reservations(client)
                .get("reservations")
                .findValuesAsText("requestId")
                .equals(List.of(ids)));
    }

    @Test
    void slots_are_taken_until_they_are_freed_and_the_headers_say_so() throws Exception {
        Reply first = caller.post(ENFORCE, call("alice", "r1"));
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.header("RateLimit-Policy")).isEqualTo("\"calls\";q=2, \"tokens\";q=1000;w=3600");
        assertThat(first.header("RateLimit").replaceAll(";t=[0-9]+", "")).isEqualTo("\"calls\";r=1, \"tokens\";r=999");
        assertThat(first.header("Retry-After")).isNull();
        assertThat(first.json().get("limitedBy").asText()).isEqualTo("concurrency 2 ttl 1h");
        assertThat(first.json().get("windowMs").isNull()).isTrue();
        assertThat(first.json().get("remaining").asInt()).isOne();
        long endMs = first.json().get("reservedUntil").asLong();
        assertThat(endMs).isEqualTo(first.json().get("decidedAt").asLong() + 3_600_000);
        assertThat(reason(call("alice", "r2"))).isEqualTo("WITHIN_LIMITS");

        Reply denied = caller.post(ENFORCE, call("alice", "r3"));
        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.json().get("reason").asText()).isEqualTo("LIMIT_EXCEEDED");
        assertThat(denied.json().get("remaining").asInt()).isZero();
        assertThat(denied.json().get("retryAfterMs").asLong()).isBetween(1L, 3_600_000L);
        assertThat(denied.json().get("resetAfterMs").asLong())
                .isBetween(denied.json().get("retryAfterMs").asLong(), 3_600_000L);
        assertThat(Long.parseLong(denied.header("Retry-After"))).isBetween(1L, 3_600L);
        assertThat(denied.header("RateLimit").replaceAll(";t=[0-9]+", "")).isEqualTo("\"calls\";r=0, \"tokens\";r=998");

        JsonNode renewed = decide(request("alice", "r1", "\"kind\":\"RENEW\""));
        assertThat(renewed.get("reservedUntil").asLong())
                .isEqualTo(renewed.get("decidedAt").asLong() + 3_600_000)
                .isGreaterThanOrEqualTo(endMs);
        JsonNode repeated = caller.post(ENFORCE, call("alice", "r1")).json();
        assertThat(repeated.get("repeated").asBoolean()).isTrue();
        assertThat(repeated.get("reservedUntil").asLong())
                .isEqualTo(renewed.get("reservedUntil").asLong());
        assertThat(denied.json().get("reservedUntil").isNull()).isTrue();
        assertThat(reason(request("alice", "r1", "\"kind\":\"RELEASE\""))).isEqualTo("RELEASED");
        assertThat(reason(call("alice", "r4"))).isEqualTo("WITHIN_LIMITS");
        await("the usage is committed", PATIENCE, () -> {
            JsonNode slots = caller.get("/v1/usage/alice?attribute.endpoint=/call")
                    .json()
                    .at("/usage/0/limits/0");
            return slots.path("label").asText().equals("concurrency 2 ttl 1h")
                    && slots.path("used").asInt() == 2
                    && slots.path("remaining").asInt(-1) == 0
                    && slots.path("windowMs").isNull()
                    && slots.path("resetAfterMs").asLong() > 0
                    && caller.get("/v1/usage/alice?attribute.endpoint=/call")
                                    .json()
                                    .at("/usage/0/reserved")
                                    .asInt()
                            == 2;
        });
    }

    @Test
    void a_reservation_is_settled_with_the_real_cost() throws Exception {
        String reserved = request("bob", "r1", "\"cost\":900,\"reserve\":\"10m\"");
        assertThat(decide(reserved).get("remaining").asInt()).isEqualTo(100);
        assertThat(reason(request("bob", "r2", "\"cost\":101"))).isEqualTo("LIMIT_EXCEEDED");
        assertThat(caller.post(ENFORCE, request("bob", "r1", "\"cost\":901,\"reserve\":\"10m\""))
                        .status())
                .as("the id is reserved with other content")
                .isEqualTo(422);
        assertThat(reason(request("eve", "s", "\"kind\":\"SETTLE\",\"settles\":\"r1\",\"cost\":0")))
                .as("of another client")
                .isEqualTo("NOTHING_RESERVED");
        String settle = request("bob", "s1", "\"kind\":\"SETTLE\",\"settles\":\"r1\",\"cost\":50");
        JsonNode settled = decide(settle);
        assertThat(settled.get("reason").asText()).isEqualTo("SETTLED");
        assertThat(settled.get("repeated").asBoolean()).isFalse();
        assertThat(decide(settle).get("repeated").asBoolean()).isTrue();
        assertThat(reason(request("bob", "s2", "\"kind\":\"SETTLE\",\"settles\":\"r1\",\"cost\":51")))
                .isEqualTo("ALREADY_ENDED");
        assertThat(decide(request("bob", "p", "\"kind\":\"PEEK\",\"reserve\":1"))
                        .get("remaining")
                        .asInt())
                .isEqualTo(950);
        assertThat(decide(request("bob", "r3", "\"cost\":900,\"reserve\":600000"))
                        .get("remaining")
                        .asInt())
                .isEqualTo(50);
        assertThat(reason(request("bob", "r3", "\"kind\":\"CANCEL\""))).isEqualTo("CANCELLED");
        assertThat(decide(request("bob", "p", "\"kind\":\"PEEK\""))
                        .get("remaining")
                        .asInt())
                .isEqualTo(950);
    }

    @Test
    void a_worker_learns_that_its_reservation_has_ended() throws Exception {
        String renew = request("carl", "r1", "\"kind\":\"RENEW\"");
        Reply unknown = caller.post(ENFORCE, renew);
        assertThat(unknown.status()).isEqualTo(410);
        assertThat(unknown.json().get("reason").asText()).isEqualTo("RESERVATION_ENDED");
        assertThat(unknown.header("Retry-After")).isNull();
        assertThat(reason(request("carl", "r1", "\"reserve\":\"10m\""))).isEqualTo("WITHIN_LIMITS");
        assertThat(caller.post(ENFORCE, renew).status()).isEqualTo(200);
        assertThat(decide("[" + renew + "," + renew.replace("RENEW", "RELEASE") + "," + renew + "]")
                        .findValuesAsText("reason"))
                .containsExactly("RENEWED", "RELEASED", "RESERVATION_ENDED");
        await("the end is committed", PATIENCE, () -> caller.post("/v1/peek", renew)
                .json()
                .get("reason")
                .asText()
                .equals("RESERVATION_ENDED"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"reserve\":0                    | reserve must be 1 to 2592000000 ms, is 0",
                "\"reserve\":\"31d\"              | reserve must be 1 to 2592000000 ms, is 2678400000",
                "\"reserve\":\"soon\"             | reserve must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'soon'",
                "\"reserve\":1,\"kind\":\"RENEW\" | reserve is for requests of the kind CONSUME, this is a RENEW, which"
                        + " prolongs a reservation by its first duration",
                "\"settles\":\"r1\"               | settles is for requests of the kind SETTLE, this is a CONSUME",
                "\"kind\":\"RELEASE\",\"queue\":\"q\" | queue is for requests of the kind CANCEL, this is a RELEASE of a"
                        + " reservation",
            })
    void an_invalid_request_is_rejected_with_its_field(String fields, String detail) throws Exception {
        String request = request("dora", "r1", fields);
        for (String path : List.of(DECIDE, "/v1/peek")) {
            Reply rejected = caller.post(path, request);
            assertThat(rejected.status()).isEqualTo(400);
            assertThat(rejected.detail()).endsWith(detail);
        }
        assertThat(caller.post(DECIDE, "[" + request("dora", "r0", "") + "," + request + "]")
                        .detail())
                .contains("[1]: ")
                .endsWith(detail);
    }

    @Test
    void open_reservations_are_listed_in_pages() throws Exception {
        for (String id : List.of("r/1", "r2", "r3")) {
            decide(request("finn", id, "\"cost\":7,\"reserve\":\"10m\",\"attributes\":{\"model\":\"m\"}"));
        }
        decide(call("finn", "r4"));
        awaitReservations("finn", "r/1", "r2", "r3", "r4");
        JsonNode page = reservations("finn?limit=1");
        JsonNode first = page.at("/reservations/0");
        assertThat(page.get("next").asText()).isEqualTo("r/1");
        assertThat(first.get("cost").asInt()).isEqualTo(7);
        assertThat(first.get("ends").asLong() - first.get("since").asLong()).isEqualTo(600_000);
        assertThat(first.get("policies"))
                .isEqualTo(Json.read("[{\"policyId\":\"tokens\",\"key\":{\"client\":\"finn\",\"model\":\"m\"},"
                        + "\"observes\":false,\"slotsUntil\":null}]"));
        JsonNode last = reservations("finn?limit=1&after=r3");
        assertThat(last.get("next").isNull()).isTrue();
        assertThat(last.at("/reservations/0/policies/0/policyId").asText()).isEqualTo("calls");
        assertThat(last.at("/reservations/0/policies/0/slotsUntil")).isEqualTo(last.at("/reservations/0/ends"));
        decide("[" + request("finn", "r2", "\"kind\":\"CANCEL\"") + "," + request("finn", "r4", "\"kind\":\"RELEASE\"")
                + "]");
        awaitReservations("finn", "r/1", "r3");
        assertThat(reservations("finns").get("reservations")).isEmpty();
        for (String query : List.of("limit=0", "limit=1001", "most=5", "after=" + "x".repeat(257))) {
            assertThat(caller.get("/v1/reservations/finn?" + query).status())
                    .as(query)
                    .isEqualTo(400);
        }
    }

    @Test
    void a_peek_at_an_end_says_what_it_would_do() throws Exception {
        decide(request("gil", "r1", "\"reserve\":\"10m\""));
        awaitReservations("gil", "r1");
        for (String kind : List.of("RELEASE", "CANCEL", "RENEW")) {
            Reply peek = caller.post("/v1/peek", request("gil", "r1", "\"kind\":\"" + kind + "\""));
            assertThat(peek.json().get("reason").asText())
                    .isEqualTo(kind.equals("CANCEL") ? "CANCELLED" : kind.equals("RENEW") ? "RENEWED" : "RELEASED");
        }
        awaitReservations("gil", "r1");
    }

    @Test
    void beyond_the_most_reservations_of_a_partition_requests_are_denied() throws Exception {
        WeirConfig config = config("reserving-few");
        try (DecidingInstance few = new DecidingInstance(withReservations(config, 1), POLICIES)) {
            assertThat(few.caller()
                            .post(ENFORCE, request("hal", "r1", "\"reserve\":\"10m\""))
                            .status())
                    .isEqualTo(200);
            Reply denied = few.caller().post(ENFORCE, request("hal", "r2", "\"reserve\":\"10m\""));
            assertThat(denied.status()).isEqualTo(503);
            assertThat(denied.json().get("reason").asText()).isEqualTo("TOO_MANY_RESERVATIONS");
            assertThat(few.caller().post(ENFORCE, request("hal", "r3", "")).status())
                    .isEqualTo(200);
        }
    }
}
