package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.SendWindow;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients with more requests than are decided in time, and clients whose ledgers do not answer. */
@Tag("full")
class LoadSheddingTest {

    private static final Duration SHORT = Duration.ofMillis(200);

    /** A circuit that would open for as long as the tests may take. */
    private static final CircuitSettings SENSITIVE = new CircuitSettings(8, 50, LiveWeir.PATIENCE, 1);

    private static final String POLICIES = """
            policies:
              - {id: own, match: {endpoint: /own}, limits: [{algorithm: sliding-window-log, limit: 100000, per: 1d}]}
              - {id: lent, match: {endpoint: /lent}, lease: client, limits: [{algorithm: fixed-window, limit: 1000, per: 1d}]}
            """;

    @TempDir
    static Path directory;

    private static EmbeddedBroker broker;

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
    }

    private static LiveWeir weir(String prefix) throws Exception {
        return LiveWeir.create(broker, directory, prefix, POLICIES);
    }

    private static Request request(String client, String endpoint) {
        return RequestBuilder.of(client).attribute("endpoint", endpoint).build();
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void requests_beyond_the_window_wait_in_the_client_and_are_decided_in_their_order() throws Exception {
        LiveWeir live = weir("window.");
        int beyond = 70;
        try (WeirClient weir = LiveWeir.ready(live.client())) {
            List<CompletableFuture<ClientDecision>> all = new ArrayList<>();
            for (int i = 0; i < SendWindow.INITIAL + beyond; i++) {
                all.add(weir.decide(request("alice", "/own")));
            }
            assertThat(weir.stats().sent()).isEqualTo(SendWindow.INITIAL);
            assertThat(weir.stats().now().queued()).isEqualTo(beyond);
            assertThat(weir.stats().now().inFlight()).isEqualTo(SendWindow.INITIAL + beyond);
            Enforcer started = live.enforce();
            try (started) {
                for (int i = 0; i < all.size(); i++) {
                    assertThat(get(all.get(i)).decision().orElseThrow().remaining())
                            .isEqualTo(100_000 - 1 - i);
                }
            }
            assertThat(weir.stats().now().queued()).isZero();
        }
    }

    @Test
    void without_decisions_requests_that_wait_to_be_sent_time_out_like_the_others() throws Exception {
        try (WeirClient weir = LiveWeir.ready(weir("shed-away.")
                .client()
                .timeout(SHORT)
                .fallback(Fallback.FAIL_OPEN)
                .noCircuit())) {
            List<CompletableFuture<ClientDecision>> all = new ArrayList<>();
            for (int i = 0; i < 2 * SendWindow.INITIAL; i++) {
                all.add(weir.decide(request("alice", "/own")));
            }
            for (CompletableFuture<ClientDecision> one : all) {
                assertThat(get(one)).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.TIMED_OUT));
            }
        }
    }

    @Test
    void requests_that_are_shed_are_refused_unless_the_fallback_is_to_decide() throws Exception {
        LiveWeir live = weir("shed.");
        for (boolean isFallback : new boolean[] {false, true}) {
            try (WeirClient weir = LiveWeir.ready(
                    live.client().maxInFlight(1).fallback(Fallback.FAIL_OPEN).fallbackOnOverload(isFallback))) {
                CompletableFuture<ClientDecision> waits = weir.decide(request("alice", "/own"));
                assertThat(weir.decide(request("alice", "/own")))
                        .isCompletedWithValue(ClientDecision.fallback(isFallback, NoDecisionReason.TOO_MANY_WAITING));
                assertThat(waits).isNotDone();
                assertThat(weir.stats().fallbacks().shed()).isEqualTo(isFallback ? 0 : 1);
                assertThat(weir.stats().fallbacks().open()).isEqualTo(isFallback ? 1 : 0);
            }
        }
    }

    /**
     * Requests that become dead letters are never decided. If others are decided meanwhile, that does not indicate an
     * outage, however many of them time out.
     */
    @Test
    void time_outs_do_not_open_the_circuit_while_others_are_decided() throws Exception {
        LiveWeir live = weir("flowing.");
        RequestRules lax = new RequestRules(1, 64, 1_024, Long.MAX_VALUE);
        Request lost = RequestBuilder.of("alice")
                .attribute("endpoint", "/own")
                .cost(Long.MAX_VALUE)
                .build();
        Enforcer started = live.enforce();
        try (started) {
            await("a round without a pause of the machine", LiveWeir.PATIENCE, () -> {
                try (WeirClient weir = LiveWeir.ready(
                        live.client().rules(lax).fallback(Fallback.FAIL_OPEN).circuit(SENSITIVE))) {
                    return isClosedAfterTimeouts(weir, lost);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
    }

    /** Returns whether decisions have arrived without a pause, and checks that the circuit is closed then. */
    private static boolean isClosedAfterTimeouts(WeirClient weir, Request lost) {
        long longestNanos = 0;
        weir.decide(request("alice", "/own")).join();
        List<CompletableFuture<ClientDecision>> all = new ArrayList<>();
        for (int i = 0; i < 5 * SENSITIVE.window(); i++) {
            all.add(weir.decide(lost, SHORT));
        }
        while (all.stream().anyMatch(one -> !one.isDone())) {
            long askedNanos = System.nanoTime();
            weir.decide(request("alice", "/own")).join();
            longestNanos = Math.max(longestNanos, System.nanoTime() - askedNanos);
        }
        if (longestNanos >= AnswerClock.SILENCE.toNanos()) {
            return false;
        }
        assertThat(all)
                .allSatisfy(one -> assertThat(one.join().noDecisionReason()).contains(NoDecisionReason.TIMED_OUT));
        assertThat(weir.stats().now().circuit()).isEqualTo(CircuitSettings.State.CLOSED);
        return true;
    }

    @Test
    void requests_do_not_wait_for_leases_while_no_ledger_answers() throws Exception {
        LiveWeir live = weir("ledgers.");
        try (WeirClient weir =
                LiveWeir.ready(live.client().leased(true).timeout(SHORT).fallback(Fallback.FAIL_OPEN))) {
            assertThat(get(weir.decide(request("first", "/lent"))))
                    .isEqualTo(ClientDecision.fallback(true, NoDecisionReason.NO_LEASE));
            int[] number = {0};
            await("a request does not wait", LiveWeir.PATIENCE, () -> {
                CompletableFuture<ClientDecision> answer = weir.decide(request("new" + number[0]++, "/lent"));
                boolean isAtOnce = answer.isDone();
                NoDecisionReason reason = answer.join().noDecisionReason().orElseThrow();
                assertThat(reason).isIn(NoDecisionReason.NO_LEASE, NoDecisionReason.NO_LEDGER);
                return isAtOnce && reason == NoDecisionReason.NO_LEDGER;
            });
            assertThat(weir.stats().now().leaseCircuit()).isEqualTo(CircuitSettings.State.OPEN);
            assertThat(weir.isReady()).isTrue();
            Enforcer started = live.enforce();
            try (started) {
                for (String client : List.of("first", "new0", "later")) {
                    await(client + " is decided", LiveWeir.PATIENCE, () -> get(weir, request(client, "/lent"))
                            .decision()
                            .isPresent());
                }
                await(
                        "ledgers answer",
                        LiveWeir.PATIENCE,
                        () -> weir.stats().now().leaseCircuit() == CircuitSettings.State.CLOSED);
            }
            assertThat(weir.stats().undecided(NoDecisionReason.NO_LEDGER)).isPositive();
        }
    }

    private static ClientDecision get(WeirClient weir, Request request) {
        return weir.decide(request).join();
    }

    @Test
    void without_a_circuit_each_request_waits_for_its_lease() throws Exception {
        try (WeirClient weir = LiveWeir.ready(weir("patient.")
                .client()
                .leased(true)
                .timeout(SHORT)
                .fallback(Fallback.FAIL_OPEN)
                .noCircuit())) {
            long startNanos = System.nanoTime();
            while (System.nanoTime() - startNanos < 2 * AnswerClock.SILENCE.toNanos()) {
                assertThat(get(weir.decide(request("any", "/lent"))).noDecisionReason())
                        .contains(NoDecisionReason.NO_LEASE);
            }
            assertThat(weir.stats().now().leaseCircuit()).isEqualTo(CircuitSettings.State.CLOSED);
        }
    }
}
