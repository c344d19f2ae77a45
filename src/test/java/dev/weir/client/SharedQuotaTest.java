package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.app.Enforcer;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Request;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One quota for all clients of all partitions, on a real broker. */
class SharedQuotaTest {

    private static EmbeddedBroker broker;

    @TempDir
    private Path directory;

    @BeforeAll
    static void start() {
        broker = EmbeddedBroker.start();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    private static List<Decision> decide(WeirClient client, int requests, String client0) {
        List<CompletableFuture<Decision>> answers = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            Request request = RequestBuilder.of(client0 + i).build();
            answers.add(client.decide(request));
        }
        return answers.stream().map(CompletableFuture::join).toList();
    }

    private static long allowed(List<Decision> decisions) {
        return decisions.stream()
                .filter(decision -> decision.outcome() == Outcome.ALLOWED)
                .count();
    }

    @Test
    void all_partitions_together_get_the_limit_and_no_more_and_go_on_with_it_after_a_restart() throws Exception {
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
            long startNanos = System.nanoTime();
            while (allowed < 500 && System.nanoTime() - startNanos < TimeUnit.SECONDS.toNanos(60)) {
                allowed += allowed(decide(client, 20, "b"));
            }
            assertThat(allowed).isEqualTo(500);
            assertThat(allowed(decide(client, 100, "c"))).isZero();
            assertThat(enforcer).isNotNull();
        }
    }
}
