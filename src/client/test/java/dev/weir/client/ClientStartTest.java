package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.event.Request;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client and a worker that start without brokers. */
@Tag("slow")
class ClientStartTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Request REQUEST = RequestBuilder.of("alice").build();
    private static final String UNKNOWN_HOST = "no-such-host.invalid:9092";
    private static final AtomicInteger IDS = new AtomicInteger();

    private static ServerSocket silent;

    private final String id = "client-start-" + IDS.incrementAndGet();

    @BeforeAll
    static void start() throws IOException {
        silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress()); // connects, and is never read
    }

    @AfterAll
    static void stop() throws IOException {
        silent.close();
    }

    private static Stream<String> addresses() {
        return Stream.of("127.0.0.1:1", "127.0.0.1:" + silent.getLocalPort(), UNKNOWN_HOST);
    }

    private ClientBuilder client(String address) {
        return WeirClient.builder(Map.of("bootstrap.servers", address, "client.id", id));
    }

    /** Returns the names of the threads of clients that do not end. */
    private List<String> threadsLeft() throws InterruptedException {
        List<String> left = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().endsWith(id) || thread.getName().startsWith("weir-client-")) {
                thread.join(PATIENCE.toMillis()); // close() does not wait for the last steps of a thread
                if (thread.isAlive()) {
                    left.add(thread.getName());
                }
            }
        }
        return left;
    }

    @ParameterizedTest
    @MethodSource("addresses")
    void the_fallback_answers_until_the_brokers_come(String address) throws Exception {
        try (WeirClient weir = client(address).timeout(SHORT).start()) {
            assertThat(weir.isReady()).isFalse();
            assertThat(weir.awaitReady(SHORT)).isFalse();
            assertThat(weir.tryDecide(REQUEST)).isEmpty();
            for (Fallback fallback : List.of(Fallback.FAIL_OPEN, Fallback.FAIL_CLOSED)) {
                assertThat(weir.decide(REQUEST, SHORT, fallback).join())
                        .isEqualTo(ClientDecision.fallback(fallback == Fallback.FAIL_OPEN, NoDecisionReason.NOT_READY));
            }
            assertThatThrownBy(() -> weir.decide(REQUEST).join())
                    .cause()
                    .isInstanceOf(NoDecisionException.class)
                    .hasMessageStartingWith("the client is not ready: ");
            ClientStats stats = weir.stats();
            assertThat(stats.undecided(NoDecisionReason.NOT_READY)).isEqualTo(3);
            assertThat(stats.sent()).isZero();
            assertThat(stats.now().inFlight()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("addresses")
    void closing_ends_waiting_requests_and_all_threads(String address) throws Exception {
        for (boolean leased : List.of(false, true)) {
            WeirClient weir = client(address).timeout(PATIENCE).leased(leased).start();
            CompletableFuture<ClientDecision> waiting = weir.decide(REQUEST, PATIENCE, Fallback.FAIL_OPEN);
            assertThat(waiting).isNotDone();
            weir.close();
            assertThat(waiting).isCompletedWithValue(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
            assertThat(weir.decide(REQUEST, PATIENCE, Fallback.FAIL_OPEN))
                    .isCompletedWithValue(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
            assertThat(weir.awaitReady(PATIENCE)).isFalse();
            assertThat(threadsLeft()).isEmpty();
        }
    }

    @Test
    void an_unknown_host_is_named() {
        try (WeirClient weir = client(UNKNOWN_HOST).timeout(SHORT).start()) {
            assertThat(weir.failure()).hasValueSatisfying(failure -> assertThat(failure)
                    .hasRootCauseMessage("No resolvable bootstrap urls given in bootstrap.servers"));
            assertThatThrownBy(() -> weir.decide(REQUEST).join())
                    .cause()
                    .hasMessage("the client is not ready: No resolvable bootstrap urls given in bootstrap.servers");
        }
    }

    @Test
    void brokers_that_do_not_answer_are_reported_after_some_seconds() throws Exception {
        try (WeirClient weir =
                client("127.0.0.1:" + silent.getLocalPort()).timeout(SHORT).start()) {
            assertThat(weir.failure()).isEmpty();
            assertThat(weir.awaitReady(Duration.ofSeconds(4))).isFalse();
            assertThat(weir.failure()).hasValueSatisfying(failure -> assertThat(failure)
                    .hasMessageMatching("no broker has answered for [0-9.]+m?s"));
            assertThatThrownBy(() -> weir.decide(REQUEST).join())
                    .cause()
                    .hasMessageMatching("the client is not ready: no broker has answered for [0-9.]+m?s");
        }
    }

    @Test
    void waiting_requests_are_bounded_and_open_the_circuit() {
        try (WeirClient weir = client("127.0.0.1:1")
                .timeout(PATIENCE)
                .maxInFlight(3)
                .fallback(Fallback.FAIL_CLOSED)
                .circuit(new CircuitSettings(2, 100, PATIENCE, 1))
                .start()) {
            List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                waiting.add(weir.decide(REQUEST));
            }
            assertThat(weir.decide(REQUEST))
                    .isCompletedWithValue(ClientDecision.fallback(false, NoDecisionReason.TOO_MANY_WAITING));
            assertThat(waiting).noneMatch(CompletableFuture::isDone);
        }
        try (WeirClient weir = client("127.0.0.1:1")
                .timeout(SHORT)
                .fallback(Fallback.FAIL_CLOSED)
                .circuit(new CircuitSettings(2, 100, PATIENCE, 1))
                .start()) {
            for (int i = 0; i < 2; i++) {
                assertThat(weir.decide(REQUEST).join().noDecisionReason()).contains(NoDecisionReason.NOT_READY);
            }
            assertThat(weir.decide(REQUEST))
                    .isCompletedWithValue(ClientDecision.fallback(false, NoDecisionReason.CIRCUIT_OPEN));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void an_invalid_setting_is_rejected_and_leaves_no_thread(boolean leased) throws Exception {
        Map<String, String> invalid =
                Map.of("bootstrap.servers", "127.0.0.1:1", "client.id", id, "producer.acks", "some");
        assertThatThrownBy(() -> WeirClient.builder(invalid).leased(leased).start())
                .isInstanceOf(KafkaException.class)
                .hasMessageContaining("acks");
        assertThatThrownBy(() -> client("no port").leased(leased).start())
                .isInstanceOf(KafkaException.class)
                .hasRootCauseMessage("Invalid url in bootstrap.servers: no port");
        assertThat(threadsLeft()).isEmpty();
    }

    @Test
    void a_wait_longer_than_the_timeout_has_no_effect() {
        try (WeirClient weir = client("127.0.0.1:1").timeout(SHORT).start()) {
            for (Duration within : List.of(Duration.ofMillis(Long.MAX_VALUE), Duration.ofSeconds(Long.MAX_VALUE))) {
                assertThat(weir.decide(REQUEST, within, Fallback.FAIL_OPEN).join())
                        .isEqualTo(ClientDecision.fallback(true, NoDecisionReason.NOT_READY));
            }
            assertThatThrownBy(() -> weir.decide(REQUEST, Duration.ofNanos(999_999)))
                    .hasMessage("within must be at least 1 ms, is PT0.000999999S");
            assertThat(weir.stats().now().inFlight()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("addresses")
    void a_worker_starts_and_closes_without_brokers(String address) throws Exception {
        Map<String, Object> kafka = Map.of("bootstrap.servers", address, "client.id", id, "group.id", "g");
        ReleaseWorker worker = ReleaseWorker.builder(kafka, task -> {}).start();
        if (address.equals(UNKNOWN_HOST)) {
            assertThat(worker.failure()).isPresent();
        }
        worker.close();
        assertThat(threadsLeft()).isEmpty();
    }
}
