package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.CircuitSettings.State;
import dev.weir.client.ClientStats;
import dev.weir.testing.CapturedLog;
import dev.weir.testing.CapturedLog.Line;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BrokerLogTest {

    private final CapturedLog captured = new CapturedLog(BrokerLog.class);
    private final BrokerLog log = new BrokerLog(0);

    @AfterEach
    void close() {
        captured.close();
    }

    private void update(long seconds, boolean isConnected, State circuit, int notReady, int timedOut, String failure) {
        ClientStats stats = new ClientStats(
                0,
                0,
                0,
                0,
                notReady,
                timedOut,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                circuit,
                Duration.ZERO,
                Duration.ZERO,
                Duration.ZERO);
        log.update(
                new BrokerLog.Look(isConnected, stats, Optional.ofNullable(failure)),
                TimeUnit.SECONDS.toNanos(seconds));
    }

    @Test
    void the_connection_is_logged_once() {
        update(1, false, State.CLOSED, 0, 0, null);
        update(2, true, State.CLOSED, 0, 0, null);
        update(3, true, State.CLOSED, 0, 0, null);
        assertThat(captured.lines())
                .containsExactly(new Line("INFO", "The gateway has connected to the brokers after 2 s"));
    }

    @Test
    void an_outage_is_two_warnings_with_its_reason_and_duration() {
        update(1, true, State.CLOSED, 0, 7, null);
        captured.take();
        update(2, true, State.OPEN, 0, 64, null);
        for (int second = 3; second < 60; second++) {
            update(second, true, second % 6 == 0 ? State.HALF_OPEN : State.OPEN, 0, 64 + second, null);
        }
        update(62, true, State.CLOSED, 0, 200, null);
        update(63, true, State.CLOSED, 0, 200, null);
        assertThat(captured.lines())
                .containsExactly(
                        new Line(
                                "WARN",
                                "Too many requests over the topics got no decision (TIMED_OUT: 57), so the fallbacks"
                                        + " decide without a wait; check the brokers and the enforcers"),
                        new Line("WARN", "Requests over the topics are decided again; the fallbacks decided for 60 s"));
    }

    @Test
    void a_connection_after_warnings_is_a_warning_and_ends_the_outage() {
        update(10, false, State.OPEN, 100, 0, "Topic weir.requests does not exist");
        update(20, true, State.CLOSED, 120, 0, null);
        update(21, true, State.CLOSED, 120, 0, null);
        assertThat(captured.lines())
                .containsExactly(
                        new Line(
                                "WARN",
                                "Too many requests over the topics got no decision (NOT_READY: 100), so the fallbacks"
                                        + " decide without a wait: Topic weir.requests does not exist"),
                        new Line("WARN", "The gateway has connected to the brokers after 20 s"));
    }
}
