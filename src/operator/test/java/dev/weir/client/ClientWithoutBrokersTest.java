package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients of a broker, a process, that is not started yet, or paused. */
@Tag("full")
class ClientWithoutBrokersTest {

    private static final Duration SHORT = Duration.ofMillis(200);

    /** The application id of {@link LiveWeir} with the default prefix. */
    private static final String APPLICATION = "weir-weir.test";

    private static final String POLICIES = """
            policies:
              - {id: own, match: {endpoint: /own}, limits: [{algorithm: fixed-window, limit: 100000, per: 1d}]}
              - {id: lent, match: {endpoint: /lent}, key: [], lease: client, max-wait: 1m, limits: [{algorithm: fixed-window, limit: 100000, per: 1d}]}
            """;

    private static final Request OWN =
            RequestBuilder.of("alice").attribute("endpoint", "/own").build();
    private static final Request LENT =
            RequestBuilder.of("alice").attribute("endpoint", "/lent").build();

    @TempDir
    static Path directory;

    private static BrokerCluster brokers;
    private static ChildProcess broker;

    @BeforeAll
    static void start() throws Exception {
        brokers = BrokerCluster.prepare(directory, 1);
        broker = brokers.brokers().get(0);
    }

    @AfterAll
    static void stop() {
        brokers.close();
    }

    /** Returns a builder for a client of the default topics. */
    private static ClientBuilder client() {
        return WeirClient.builder(TestBroker.clientSettings(brokers.bootstrapServers()))
                .timeout(LiveWeir.PATIENCE);
    }

    private static Outcome outcome(CompletableFuture<ClientDecision> answer) throws Exception {
        return answer.get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .decision()
                .orElseThrow()
                .outcome();
    }

    private static boolean isDecided(WeirClient client) {
        return client.decide(OWN, Duration.ofSeconds(1), Fallback.FAIL_OPEN)
                .join()
                .decision()
                .isPresent();
    }

    @Test
    void a_client_recovers_from_brokers_that_are_down_or_paused_at_its_start_or_later() throws Exception {
        try (WeirClient topic = client().start();
                WeirClient leased =
                        client().leased(true).applicationId(APPLICATION).start();
                WeirClient guarded = client().timeout(SHORT)
                        .fallback(Fallback.FAIL_OPEN)
                        .circuit(new CircuitSettings(4, 100, Duration.ofSeconds(1), 1))
                        .start()) {
            assertThat(topic.decide(OWN, SHORT, Fallback.FAIL_CLOSED).join())
                    .isEqualTo(ClientDecision.fallback(false, NoDecisionReason.NOT_READY));
            List<CompletableFuture<ClientDecision>> early =
                    List.of(topic.decide(OWN), leased.decide(OWN), leased.decide(LENT));
            assertThat(early).noneMatch(CompletableFuture::isDone);

            broker.start();
            brokers.awaitReady();
            LiveWeir weir = LiveWeir.create(brokers.bootstrapServers(), directory, "weir.", POLICIES);
            for (WeirClient client : List.of(topic, leased, guarded)) {
                assertThat(client.awaitReady(LiveWeir.PATIENCE)).isTrue();
            }
            try (Enforcer enforcer = weir.enforce()) {
                assertThat(enforcer).isNotNull();
                for (CompletableFuture<ClientDecision> answer : early) {
                    assertThat(outcome(answer)).isEqualTo(Outcome.ALLOWED);
                }
                await("the leased client decides", LiveWeir.PATIENCE, () -> {
                    assertThat(outcome(leased.decide(LENT))).isEqualTo(Outcome.ALLOWED);
                    return leased.stats().decided().here() > 0;
                });
                await("the guarded client is answered", LiveWeir.PATIENCE, () -> isDecided(guarded));
                CompletableFuture<ClientDecision> during;
                broker.pause();
                try {
                    await("the circuit opens", LiveWeir.PATIENCE, () -> {
                        assertThat(guarded.decide(OWN).join().allowed()).isTrue();
                        return guarded.stats().now().circuit() == CircuitSettings.State.OPEN;
                    });
                    // returns before the broker resumes, although its time-out is long
                    during = topic.decide(OWN, LiveWeir.PATIENCE, Fallback.FAIL_OPEN);
                    startWhilePaused();
                } finally {
                    broker.resume();
                }
                assertThat(during.get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                                .allowed())
                        .isTrue();
                await("the circuit closes", LiveWeir.PATIENCE, () -> isDecided(guarded));
                await("the client is answered", LiveWeir.PATIENCE, () -> isDecided(topic));
                assertThat(topic.isReady()).isTrue();
            }
        }
    }

    private static void startWhilePaused() throws Exception {
        try (WeirClient closed = client().leased(true).start();
                WeirClient topic = client().start()) {
            CompletableFuture<ClientDecision> waiting = closed.decide(LENT, LiveWeir.PATIENCE, Fallback.FAIL_OPEN);
            closed.close();
            assertThat(waiting).isCompletedWithValue(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
            assertThat(topic.decide(OWN, SHORT, Fallback.FAIL_CLOSED).join())
                    .isEqualTo(ClientDecision.fallback(false, NoDecisionReason.NOT_READY));
            assertThat(topic.isReady()).isFalse();
            broker.resume();
            assertThat(topic.awaitReady(LiveWeir.PATIENCE)).isTrue();
        }
    }
}
