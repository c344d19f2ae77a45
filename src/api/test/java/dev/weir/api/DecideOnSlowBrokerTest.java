package dev.weir.api;

import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Deciding over HTTP while the broker, a process, is slow or paused. */
@Tag("full")
class DecideOnSlowBrokerTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int LIMIT = 100;
    private static final long STEP_MS = 150;

    private static final String POLICIES = """
            policies:
              - {id: all, idempotency: 1h, limits: [{algorithm: sliding-window-log, limit: 100, per: 1h}]}
            """;

    @TempDir
    static Path directory;

    private static BrokerCluster brokers;
    private static ChildProcess broker;
    private static DecidingInstance instance;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        brokers = BrokerCluster.start(directory, 1);
        broker = brokers.brokers().get(0);
        WeirConfig config = DecidingInstance.config(WeirConfig.builder()
                .kafka(TestBroker.clientSettings(brokers.bootstrapServers()))
                .topics("weir.", 1)
                .stateDirectory(directory.resolve("weir-state"))
                .build());
        instance = new DecidingInstance(config, POLICIES);
        caller = instance.caller();
    }

    @AfterAll
    static void stop() throws Exception {
        broker.resume();
        instance.close();
        brokers.close();
    }

    private static Reply decide(String client, String requestId, String parameters) throws Exception {
        String body = "{\"client\":\"" + client + "\",\"requestId\":\"" + requestId + "\"}";
        return caller.post("/v1/decide?" + parameters, body);
    }

    /** Repeats a request until it is decided. */
    private static JsonNode decided(String client, String requestId) {
        return awaitValue(requestId + " is decided", PATIENCE, () -> {
            Reply reply = decide(client, requestId, "timeout=5s");
            return reply.status() == 200 ? reply.json() : null;
        });
    }

    @Test
    void a_paused_broker_lets_the_fallback_answer_and_a_retry_charges_once() throws Exception {
        assertThat(decided("alice", "r0").get("remaining").asInt()).isEqualTo(LIMIT - 1);
        broker.pause();
        Reply allowed;
        Reply denied;
        Reply failed;
        try {
            allowed = decide("alice", "r1", "timeout=300ms&fallback=allow");
            denied = decide("alice", "r1", "timeout=300ms&fallback=deny");
            failed = decide("alice", "r1", "timeout=300ms");
        } finally {
            broker.resume();
        }
        assertThat(allowed.header("X-Weir-Fallback")).isNotNull();
        assertThat(allowed.json().get("outcome").asText()).isEqualTo("ALLOWED");
        assertThat(denied.header("X-Weir-Fallback")).isNotNull();
        assertThat(denied.json().get("outcome").asText()).isEqualTo("DENIED");
        assertThat(failed.status()).isEqualTo(503);
        assertThat(decided("alice", "r1").get("outcome").asText()).isEqualTo("ALLOWED");
        assertThat(decided("alice", "r2").get("remaining").asInt()).isEqualTo(LIMIT - 3);
    }

    @Test
    void each_call_is_answered_by_a_slow_broker_or_the_fallback_and_retries_charge_once() throws Exception {
        decided("bob", "r0");
        int calls = 20;
        ScheduledExecutorService pauses = Executors.newSingleThreadScheduledExecutor();
        pauses.scheduleAtFixedRate(
                () -> {
                    unchecked(broker::pause);
                    pauses.schedule(() -> unchecked(broker::resume), STEP_MS, TimeUnit.MILLISECONDS);
                },
                0,
                2 * STEP_MS,
                TimeUnit.MILLISECONDS);
        try {
            for (int i = 1; i <= calls; i++) {
                Reply reply = decide("bob", "r" + i, "timeout=100ms&fallback=allow");
                assertThat(reply.status()).isEqualTo(200);
                assertThat(reply.json().get("outcome").asText()).isEqualTo("ALLOWED");
            }
        } finally {
            pauses.shutdownNow();
            pauses.awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            broker.resume();
        }
        for (int i = 1; i <= calls; i++) {
            decided("bob", "r" + i);
        }
        assertThat(decided("bob", "last").get("remaining").asInt()).isEqualTo(LIMIT - calls - 2);
    }

    private interface Signal {
        void send() throws Exception;
    }

    private static void unchecked(Signal signal) {
        try {
            signal.send();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
