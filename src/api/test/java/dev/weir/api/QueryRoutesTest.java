package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.decision.Decider;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.decision.usage.OpenReservation;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.query.InstanceQueries;
import dev.weir.query.InstanceQueries.LedgerQuestion;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The endpoints that query the states of instances, with fixed results of two instances. */
@Tag("slow")
class QueryRoutesTest extends ServiceFixture {

    @Test
    void a_used_queue_is_not_deleted_and_its_state_is_returned() throws IOException {
        assertThat(trusted.put("/v1/queues/sms", "{\"limit\":100,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        assertThat(trusted.put("/v1/policies/all-sms", "{\"queue\":\"sms\"}").status())
                .isEqualTo(201);
        Reply refused = trusted.delete("/v1/queues/sms", ANY);
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.detail()).contains("policy all-sms sends to queue sms");

        assertThat(caller.get("/v1/queues/sms").status()).isEqualTo(503);
        QueueRules rules = QueueRules.builder("sms", 100, 1_000).build();
        List<QueueView.TierView> tiers = List.of(
                new QueueView.TierView("gold", new TierShare(1, 4), 2),
                new QueueView.TierView(null, TierShare.DEFAULT, 1));
        long releaseAtMs = System.currentTimeMillis();
        here.queue = new Result.Local<>(new QueueView(
                rules,
                false,
                new QueueView.BacklogView(3, 7, tiers, 5_000L, 0),
                new QueueView.OneBucket(42, releaseAtMs * 1_000_000 + 20_000)));
        Reply live = caller.get("/v1/queues/sms");
        assertThat(live.header("ETag")).isEqualTo("\"1\"");
        assertThat(live.json().at("/definition/per").asText()).isEqualTo("1s");
        JsonNode state = live.json().get("state");
        assertThat(state.get("waiting").asInt()).isEqualTo(3);
        assertThat(state.get("oldestWaitMs").asLong()).isEqualTo(5_000L);
        assertThat(live.text()).contains("\"nextReleaseAt\":" + releaseAtMs + ".02,");
        assertThat(state.at("/tiers/0/tier").asText()).isEqualTo("gold");
        assertThat(state.at("/tiers/1/tier").isNull()).isTrue();
        assertThat(caller.get("/v1/queues").json().at("/queues/0/id").asText()).isEqualTo("sms");

        here.queue = new Result.Local<>(new QueueView(
                rules, false, new QueueView.BacklogView(0, 0, List.of(), null, 0), new QueueView.OneBucket(42, null)));
        assertThat(caller.get("/v1/queues/sms").json().at("/state/oldestWaitMs").isNull())
                .isTrue();
        Reply unkeyed = caller.get("/v1/queues/sms/keys/tenant=acme");
        assertThat(unkeyed.status()).isEqualTo(400);
        assertThat(unkeyed.detail()).isEqualTo("queue 'sms' has no key fields: use /v1/queues/sms");
        assertThat(caller.get("/v1/queues/sms?key.tenant=acme").detail()).isEqualTo("unknown parameter 'key.tenant'");
        here.queue = new Result.Local<>(null); // the instance that has the queue does not have its definition yet
        assertThat(caller.get("/v1/queues/sms").json().get("state").isNull()).isTrue();

        trusted.delete("/v1/policies/all-sms", ANY);
        assertThat(trusted.delete("/v1/queues/sms", ANY).status()).isEqualTo(204);
        assertThat(caller.get("/v1/queues/sms").detail()).isEqualTo("there is no queue 'sms'");
        here.queue = new Result.Local<>(new QueueView(
                rules, true, new QueueView.BacklogView(3, 7, tiers, 5_000L, 0), new QueueView.OneBucket(42, 0L)));
        Reply draining = caller.get("/v1/queues/sms");
        assertThat(draining.json().get("definition").isNull()).isTrue();
        assertThat(draining.json().at("/state/deleted").asBoolean()).isTrue();
        assertThat(caller.get("/v1/queues/sms/history").json().get("versions")).hasSize(2);
    }

    @Test
    void a_queue_with_a_key_is_returned_in_total_and_by_key() throws IOException {
        String definition =
                "{\"key\":[\"tenant\",\"model\"],\"limit\":5,\"per\":\"1s\",\"total\":{\"max-in-flight\":9}}";
        assertThat(trusted.put("/v1/queues/hooks", definition).status()).isEqualTo(201);
        QueueRules rules = QueueRules.builder("hooks", 5, 1_000)
                .key(List.of("tenant", "model"))
                .build();
        List<QueueView.KeyView> longest =
                List.of(new QueueView.KeyView(Map.of("tenant", "acme", "model", "large"), 2, 6, 5_000, 1_000, 4));
        here.queue = new Result.Partial<>(
                new QueueView(
                        rules,
                        false,
                        new QueueView.BacklogView(3, 7, List.of(), 5_000L, 1_000),
                        new QueueView.SeveralBuckets(2, 1, longest)),
                Set.of());
        Reply whole = caller.get("/v1/queues/hooks");
        assertThat(whole.json().get("missing")).isEmpty();
        assertThat(whole.json().at("/definition/total/max-in-flight").asInt()).isEqualTo(9);
        JsonNode all = whole.json().get("state");
        assertThat(all.get("drainMs").asInt()).isEqualTo(1_000);
        assertThat(all.get("longest")).hasSize(1);
        assertThat(all.at("/longest/0").toString())
                .isEqualTo("{\"key\":{\"model\":\"large\",\"tenant\":\"acme\"},\"waiting\":2,"
                        + "\"waitingTokens\":6,\"oldestWaitMs\":5000,\"drainMs\":1000,\"slots\":4}");
        assertThat(all.get("keys").asInt()).isEqualTo(2);
        assertThat(all.get("released").isNull()).isTrue();
        here.queue = new Result.Local<>(new QueueView(
                rules, false, new QueueView.BacklogView(1, 1, List.of(), 5_000L, 0), new QueueView.OneBucket(9, null)));
        Reply one = caller.get("/v1/queues/hooks/keys/tenant=a%26b%2F%3D+%C3%A9&mod%65l=");
        assertThat(here.requestedKey.get()).isEqualTo(Map.of("tenant", "a&b/= é", "model", ""));
        assertThat(one.json().get("key").toString()).isEqualTo("{\"model\":\"\",\"tenant\":\"a&b/= é\"}");
        assertThat(one.json().get("id").asText()).isEqualTo("hooks");
        assertThat(one.json().at("/state/released").asInt()).isEqualTo(9);
        assertThat(one.json().at("/state/keys").isNull()).isTrue();
        for (String key : List.of("tenant=acme", "tenant=acme&model=large&x=", "tenant=acme&Model=large")) {
            Reply wrong = caller.get("/v1/queues/hooks/keys/" + key);
            assertThat(wrong.status()).as(key).isEqualTo(400);
            assertThat(wrong.detail())
                    .isEqualTo("the key fields of queue 'hooks' are tenant, model: use"
                            + " /v1/queues/hooks/keys/tenant=VALUE&model=VALUE");
        }
        for (String key : List.of("acme", "tenant=acme&", "=acme", "tenant=a&model=b&tenant=c")) {
            Reply wrong = caller.get("/v1/queues/hooks/keys/" + key);
            assertThat(wrong.status()).as(key).isEqualTo(400);
        }
        assertThat(caller.get("/v1/queues/hooks/keys/acme").detail()).contains("NAME=VALUE pairs joined by &");
        assertThat(caller.get("/v1/queues/hooks/keys/a=1&a=2").detail()).isEqualTo("the key has 'a' twice");
        here.queue = new Result.Local<>(null);
        assertThat(caller.get("/v1/queues/hooks/keys/a=1").detail()).isEqualTo("there is no queue 'hooks'");
        Reply refused = trusted.put("/v1/queues/hooks", definition.replace("\"model\"", "\"region\""), ANY);
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.detail())
                .contains("the key of queue hooks is [tenant, model] and would be [tenant, region]");
        assertThat(trusted.delete("/v1/queues/hooks", ANY).status()).isEqualTo(204);
    }

    @Test
    void usage_is_queried_with_tier_and_attributes() throws Exception {
        assertThat(caller.get("/v1/usage/alice").header("Retry-After")).isEqualTo("1");
        Policy policy = PolicyFile.parse(
                "test", "{\"id\":\"p\",\"key\":[\"client\",\"endpoint\"]," + LIMITS.formatted(5) + "}", 3);
        here.usage = new Result.Local<>(List.of(
                new PolicyUsage(
                        policy,
                        List.of("endpoint", "/a"),
                        1_000L,
                        List.of(new PolicyUsage.LimitUsage("gcra 5/1m", 5L, 60_000L, 2L, 3L, 24_000)),
                        2L,
                        null),
                new PolicyUsage(
                        policy,
                        List.of(),
                        null,
                        List.of(new PolicyUsage.LimitUsage("unlimited", null, null, null, null, 0)),
                        null,
                        null)));
        Reply usage = caller.get("/v1/usage/a%2Fb%20%C3%A9?tier=free&attribute.endpoint=/a%26b&attribute.x=");
        assertThat(usage.json().get("client").asText()).isEqualTo("a/b é");
        assertThat(usage.json().at("/usage/0/key").toString()).isEqualTo("{\"client\":\"a/b é\",\"endpoint\":\"/a\"}");
        assertThat(usage.json().at("/usage/0/limits/0/used").asInt()).isEqualTo(2);
        assertThat(usage.json().at("/usage/0/reserved").asInt()).isEqualTo(2);
        Request request = here.request.get();
        assertThat(request.client()).isEqualTo("a/b é");
        assertThat(request.tier()).isEqualTo("free");
        assertThat(request.attributes()).isEqualTo(Map.of("endpoint", "/a&b", "x", ""));
        assertThat(request.timestampMs()).isEqualTo(usage.json().get("at").asLong());
        assertThat(caller.get("/v1/usage/%2E%2E").json().get("client").asText()).isEqualTo("..");
        for (String path :
                List.of("alice?teir=free", "alice?tier=a&tier=b", "x".repeat(257), "alice?tier=" + "x".repeat(257))) {
            assertThat(caller.get("/v1/usage/" + path).status()).as(path).isEqualTo(400);
        }
    }

    @Test
    void reservations_are_queried_by_client_and_page() throws Exception {
        assertThat(caller.get("/v1/reservations/alice").status()).isEqualTo(503);
        here.reservations = new Result.Local<>(new InstanceQueries.ReservationPage(
                List.of(new OpenReservation(
                        "r/1",
                        7,
                        1_000,
                        61_000,
                        List.of(new OpenReservation.Holding(
                                "p", List.of("endpoint", "/a"), true, Optional.of(31_000L))))),
                Optional.of("r/2")));
        JsonNode page = caller.get("/v1/reservations/a%2Fb?after=r%2F0&limit=7").json();
        assertThat(here.request.get().client()).isEqualTo("a/b");
        assertThat(here.request.get().requestId()).isEqualTo("r/0");
        assertThat(here.request.get().cost()).isEqualTo(7);
        assertThat(page.get("reservations")).isEqualTo(Json.read("""
                        [{"requestId":"r/1","cost":7,"since":1000,"ends":61000,"policies":[
                        {"policyId":"p","key":{"client":"a/b","endpoint":"/a"},"observes":true,"slotsUntil":31000}]}]"""));
        assertThat(page.get("next").asText()).isEqualTo("r/2");
        caller.get("/v1/reservations/alice");
        assertThat(here.request.get().cost()).as("the size of a page").isEqualTo(100);
    }

    @Test
    void usage_of_a_shared_limit_is_returned_with_its_holders() throws Exception {
        assertThat(caller.get("/v1/shared/all").status()).isEqualTo(503);
        Policy policy =
                PolicyFile.parse("test", "{\"id\":\"p\",\"key\":[\"endpoint\"]," + LIMITS.formatted(5) + "}", 3);
        List<PolicyUsage.LimitUsage> limits =
                List.of(new PolicyUsage.LimitUsage("gcra 5/1m", 5L, 60_000L, 1L, 4L, 24_000));
        List<OutstandingLease> leases = List.of(
                new OutstandingLease(7, "p1", 1, 0, 1, 5_000, 5_000),
                new OutstandingLease(8, "weir/0", 1, 0, 1, 6_000, 6_000),
                new OutstandingLease(9, "p1", 2, 0, 2, 7_000, 7_000));
        LeaseResponse.Checked check = new LeaseResponse.Checked(0, 5_000, 0, 12_000, true);
        here.shared = key -> new Result.Local<>(
                key.equals(Map.of("endpoint", "/a&b"))
                        ? new SharedPolicyUsage(policy, List.of("endpoint", "/a&b"), limits, 0, leases, check)
                        : null);
        Reply shared = caller.get("/v1/shared/p?key.endpoint=/a%26b");
        assertThat(shared.json().get("key").toString()).isEqualTo("{\"endpoint\":\"/a&b\"}");
        assertThat(shared.json().at("/limits/0/used").asInt()).isEqualTo(1);
        assertThat(shared.json().get("free").asInt()).isZero();
        assertThat(shared.json().get("lendable").asInt()).isZero();
        assertThat(shared.json().get("retryAfterMs").asInt()).isEqualTo(12_000);
        assertThat(shared.json().get("heldUnused").asBoolean()).isTrue();
        assertThat(shared.json().get("holders").toString())
                .isEqualTo(
                        "[{\"holder\":\"p1\",\"lent\":3,\"until\":7000},{\"holder\":\"weir/0\",\"lent\":1,\"until\":6000}]");
        assertThat(caller.get("/v1/shared/p").status()).isEqualTo(404);
        assertThat(caller.get("/v1/shared/p?endpoint=/a").status()).isEqualTo(400);
        assertThat(caller.get("/v1/shared/p?cost=0").status()).isEqualTo(400);
        here.usage = new Result.Local<>(
                List.of(new PolicyUsage(policy, List.of("endpoint", "/a"), null, List.of(), 0L, 17L)));
        Reply usage = caller.get("/v1/usage/alice?attribute.endpoint=/a");
        assertThat(usage.json().at("/usage/0/held").asInt()).isEqualTo(17);
        assertThat(usage.json().at("/usage/0/key").toString()).isEqualTo("{\"endpoint\":\"/a\"}");
    }

    @Test
    void a_peek_returns_the_decision_on_a_request() throws IOException {
        here.check = request -> new Result.Local<>(decision(request));
        Reply checked = caller.post(
                "/v1/peek", "{\"client\":\"alice\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/a\"}}");
        assertThat(checked.status()).isEqualTo(200);
        assertThat(checked.json().get("requestId").asText()).isEqualTo("peek");
        assertThat(checked.json().get("outcome").asText()).isEqualTo("ALLOWED");
        assertThat(here.request.get().attributes()).isEqualTo(Map.of("endpoint", "/a"));
        assertThat(here.request.get().timestampMs()).isPositive();
        Reply yaml =
                caller.send("POST", "/v1/peek", "client: bob\nrequestId: r7\ncost: 3\n", YAML, "Accept: text/yaml");
        assertThat(yaml.text()).contains("requestId: \"r7\"");
        assertThat(here.request.get().cost()).isEqualTo(3);
        for (String body : List.of(
                "",
                "{",
                "[]",
                "null",
                "{}",
                "{\"client\":\"\"}",
                "{\"client\":1}",
                "{\"client\":\"a\",\"colour\":1}",
                "{\"client\":\"a\",\"cost\":-1}",
                "{\"client\":\"a\",\"cost\":1.5}",
                "{\"client\":\"a\"} {}",
                "{\"client\":\"a\",\"cost\":" + "1".repeat(2_000) + "}",
                "{\"client\":\"a\",\"" + "n".repeat(60_000) + "\":1}",
                "{\"client\":\"a\",\"attributes\":" + "[".repeat(2_000) + "]".repeat(2_000) + "}")) {
            assertThat(caller.post("/v1/peek", body).status()).as(body).isEqualTo(400);
        }
    }

    @Test
    void a_peek_of_shared_limits_asks_their_ledgers_wherever_they_are() throws IOException {
        LedgerQuestion own = new LedgerQuestion("p", Map.of("endpoint", "/a&b"), 3, "weir/0");
        LedgerQuestion remote = new LedgerQuestion("p", Map.of("endpoint", "/c d"), 1, "weir/0");
        here.check = request -> here.answered.get().isEmpty()
                ? new Result.Dependent<>(Set.of(own, remote))
                : new Result.Local<>(decision(request));
        here.shared = key -> key.equals(own.key())
                ? new Result.Local<>(shared(new LeaseResponse.Checked(0, 5_000, 2, 9_000, true)))
                : new Result.Remote<>(other.address());
        there.shared = key -> new Result.Local<>(
                key.equals(remote.key())
                        ? shared(new LeaseResponse.Checked(0, 6_000, 7, Long.MAX_VALUE, false))
                        : null);
        Reply peeked = caller.post("/v1/peek", "{\"client\":\"alice\"}");
        assertThat(peeked.json().get("outcome").asText()).isEqualTo("ALLOWED");
        assertThat(here.answered.get().get(own)).isEqualTo(new LeaseResponse.Checked(0, 5_000, 2, 9_000, true));
        LeaseResponse.Checked answer = here.answered.get().get(remote);
        assertThat(answer.free()).isEqualTo(7);
        assertThat(answer.retryAfterMs()).isEqualTo(Long.MAX_VALUE);
        here.shared = key -> new Result.NotReady<>("the partitions are not assigned yet");
        Reply moving = caller.post("/v1/peek", "{\"client\":\"alice\"}");
        assertThat(moving.status()).isEqualTo(503);
        assertThat(moving.json().get("detail").asText()).contains("the partitions are not assigned yet");
    }

    private static SharedPolicyUsage shared(LeaseResponse.Checked check) throws IllegalStateException {
        try {
            Policy policy =
                    PolicyFile.parse("test", "{\"id\":\"p\",\"key\":[\"endpoint\"]," + LIMITS.formatted(5) + "}", 3);
            return new SharedPolicyUsage(policy, List.of(), List.of(), 0, List.of(), check);
        } catch (FaultsException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void a_query_is_forwarded_to_the_instance_that_has_the_state() throws IOException {
        here.check = request -> new Result.Remote<>(other.address());
        here.usage = new Result.Remote<>(other.address());
        here.queue = new Result.Remote<>(other.address());
        there.check = request -> new Result.Local<>(decision(request));
        there.usage = new Result.Local<>(List.of());
        there.queue = new Result.Local<>(null);
        Reply checked = caller.post("/v1/peek", "{\"client\":\"alice\",\"requestId\":\"r1\"}");
        assertThat(checked.json().get("requestId").asText()).isEqualTo("r1");
        assertThat(checked.contentType()).isEqualTo("application/json");
        assertThat(caller.get("/v1/usage/a%2Fb?attribute.x=%26", "Accept: text/yaml")
                        .contentType())
                .isEqualTo("application/yaml");
        assertThat(there.request.get().client()).isEqualTo("a/b");
        assertThat(there.request.get().attributes()).isEqualTo(Map.of("x", "&"));
        assertThat(caller.get("/v1/usage/a'(b)?attribute.x={|}\"").status()).isEqualTo(200);
        assertThat(there.request.get().client()).isEqualTo("a'(b)");
        assertThat(there.request.get().attributes()).isEqualTo(Map.of("x", "{|}\""));
        Reply missing = caller.get("/v1/queues/nowhere");
        assertThat(missing.status()).isEqualTo(404);
        assertThat(missing.detail()).isEqualTo("there is no queue 'nowhere'");
    }

    @Test
    void a_query_is_forwarded_only_once() throws IOException {
        here.usage = new Result.Remote<>(other.address());
        there.usage = new Result.Remote<>(service.address());
        Reply circle = caller.get("/v1/usage/alice");
        assertThat(circle.status()).isEqualTo(503);
        assertThat(circle.detail())
                .isEqualTo("the instance that has the state, " + other.address() + ", cannot respond now");
        there.usage = new Result.NotReady<>("the state is being restored");
        assertThat(caller.get("/v1/usage/alice").status()).isEqualTo(503);
        here.usage = new Result.Remote<>("127.0.0.1:1");
        assertThat(caller.get("/v1/usage/alice").detail())
                .isEqualTo("the instance that has the state, 127.0.0.1:1, does not respond");
    }

    @Test
    void an_endless_response_of_another_instance_is_aborted() throws Exception {
        try (ServerSocket endless = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            here.usage = new Result.Remote<>("127.0.0.1:" + endless.getLocalPort());
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try {
                Future<Reply> reply = thread.submit(() -> caller.get("/v1/usage/alice"));
                try (Socket socket = endless.accept()) {
                    socket.getOutputStream()
                            .write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{"
                                    .getBytes(StandardCharsets.US_ASCII));
                    assertThat(reply.get().status()).isEqualTo(503);
                    socket.setSoTimeout(5_000);
                    socket.getInputStream().readAllBytes(); // times out unless the service closes the connection
                }
            } finally {
                thread.shutdown();
            }
        }
    }

    private static Decision decision(Request request) {
        return (Decision)
                Decider.readOnly(PolicyStates.NONE, QuotaSource.local()).decide(request, PolicyTable.EMPTY);
    }
}
