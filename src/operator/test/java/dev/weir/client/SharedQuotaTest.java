package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.query.InstanceQueries;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a limit that all clients of all partitions share, with a real broker. */
@Tag("full")
class SharedQuotaTest {

    private static EmbeddedBroker broker;

    @TempDir
    private Path directory;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
    }

    private static List<Decision> decide(WeirClient client, int requests, String client0) {
        List<CompletableFuture<ClientDecision>> answers = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            Request request = RequestBuilder.of(client0 + i).build();
            answers.add(client.decide(request));
        }
        return answers.stream()
                .map(answer -> answer.join().decision().orElseThrow())
                .toList();
    }

    private static long allowed(List<Decision> decisions) {
        return decisions.stream()
                .filter(decision -> decision.outcome() == Outcome.ALLOWED)
                .count();
    }

    @Test
    void all_partitions_together_get_exactly_the_limit_also_after_a_restart() throws Exception {
        LiveWeir weir = LiveWeir.create(broker, directory, "sum.", """
                policies:
                  - {id: all, key: [], max-wait: 10s, limits: [{algorithm: fixed-window, limit: 500, per: 1d}]}
                """);
        long allowed;
        try (Enforcer enforcer = weir.enforce();
                WeirClient client = weir.client().start()) {
            allowed = allowed(decide(client, 300, "a"));
            assertThat(allowed).isEqualTo(300);
            assertThat(enforcer).isNotNull();
        }
        try (Enforcer enforcer = weir.enforce();
                WeirClient client = weir.client().start()) {
            // leased tokens that were unused at the stop are charged if the lease expired before the restart
            long more = allowed(decide(client, 400, "b"));
            assertThat(allowed + more).isBetween(301L, 500L);
            assertThat(allowed(decide(client, 100, "c")) + allowed + more).isLessThanOrEqualTo(500);
            assertThat(enforcer).isNotNull();
        }
    }

    @Test
    void an_instance_reports_usage_and_holders() throws Exception {
        LiveWeir weir = LiveWeir.create(broker, directory, "reported.", """
                policies:
                  - {id: each, layer: a, key: [endpoint], max-wait: 10s, limits: [{algorithm: sliding-window-log, limit: 50, per: 1d}]}
                  - {id: own, layer: b, limits: [{algorithm: fixed-window, limit: 500, per: 1d}]}
                """);
        try (Enforcer enforcer = weir.enforce();
                WeirClient client = weir.client().start()) {
            Request request =
                    RequestBuilder.of("alice").attribute("endpoint", "/a").build();
            for (int i = 0; i < 40; i++) {
                client.decide(request).join();
            }
            await(
                    "all requests are charged and reported",
                    LiveWeir.PATIENCE,
                    () -> shared(enforcer, "/a").limits().get(0).used() == 40);
            await("all leases are returned", LiveWeir.PATIENCE, () -> shared(enforcer, "/a")
                    .leases()
                    .isEmpty());
            assertThat(shared(enforcer, "/a").free()).isEqualTo(10);
            assertThat(shared(enforcer, "/b").free()).isEqualTo(50);
            assertThat(enforcer.queries().shared(new InstanceQueries.LedgerQuestion("own", Map.of(), 1, "")))
                    .isEqualTo(new InstanceQueries.Result.Local<>(null));
            List<PolicyUsage> usage = here(enforcer.queries().usage(request));
            assertThat(usage.get(0).held()).isZero();
            assertThat(usage.get(1).held()).isNull();
            assertThat(usage.get(1).limits().get(0).used()).isEqualTo(40);
            assertThat(enforcer.queries().check(request)).isInstanceOf(InstanceQueries.Result.Dependent.class);
        }
    }

    private static SharedPolicyUsage shared(Enforcer enforcer, String endpoint) {
        return here(enforcer.queries()
                .shared(new InstanceQueries.LedgerQuestion("each", Map.of("endpoint", endpoint), 1, "")));
    }

    private static <T> T here(InstanceQueries.Result<T> answer) {
        assertThat(answer).isInstanceOf(InstanceQueries.Result.Local.class);
        return ((InstanceQueries.Result.Local<T>) answer).value();
    }
}
