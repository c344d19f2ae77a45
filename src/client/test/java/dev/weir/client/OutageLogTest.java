package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.CircuitSettings.State;
import dev.weir.client.decision.NoDecisionReason;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;

class OutageLogTest {

    private final RecordingLogger lines = new RecordingLogger();
    private final OutageLog log = new OutageLog(lines, 0);

    /** Keeps lines. */
    private static final class RecordingLogger extends LegacyAbstractLogger {

        private static final long serialVersionUID = 1L;

        private final List<String> all = new ArrayList<>();

        List<String> take() {
            List<String> taken = List.copyOf(all);
            all.clear();
            return taken;
        }

        @Override
        protected void handleNormalizedLoggingCall(
                Level level, Marker marker, String text, Object[] arguments, Throwable failure) {
            all.add(level + " " + MessageFormatter.basicArrayFormat(text, arguments));
        }

        @Override
        protected String getFullyQualifiedCallerName() {
            return null;
        }

        @Override
        public boolean isTraceEnabled() {
            return false;
        }

        @Override
        public boolean isDebugEnabled() {
            return false;
        }

        @Override
        public boolean isInfoEnabled() {
            return true;
        }

        @Override
        public boolean isWarnEnabled() {
            return true;
        }

        @Override
        public boolean isErrorEnabled() {
            return true;
        }
    }

    private void update(long seconds, State leaseCircuit, long overloaded) {
        log.update(
                new OutageLog.Snapshot(
                        true,
                        State.CLOSED,
                        leaseCircuit,
                        Map.of(NoDecisionReason.OVERLOADED, overloaded, NoDecisionReason.TOO_MANY_WAITING, 1L),
                        Optional.empty()),
                TimeUnit.SECONDS.toNanos(seconds));
    }

    @Test
    void silent_ledgers_are_two_warnings() {
        update(1, true, State.CLOSED, 0, 0, null);
        lines.take();
        for (int second = 2; second < 20; second++) {
            update(second, second < 5 || second > 14 ? State.CLOSED : State.OPEN, -1);
        }
        assertThat(lines.take())
                .containsExactly(
                        "WARN Lease requests get no answer, so the fallback decides without a wait for keys without a"
                                + " lease; check the brokers and the enforcers",
                        "WARN Lease requests are answered again, after 10s");
    }

    @Test
    void shed_requests_are_a_warning_a_minute() {
        update(1, true, State.CLOSED, 0, 0, null);
        lines.take();
        for (int second = 2; second <= 80; second++) {
            update(second, State.CLOSED, 10 * (second - 1) - 1);
        }
        assertThat(lines.take())
                .containsExactly(
                        "WARN Requests arrive faster than they are decided: 10 were shed",
                        "WARN Requests arrive faster than they are decided: 600 were shed since the last such line");
    }

    private void update(long seconds, boolean isReady, State circuit, long notReady, long timedOut, String failure) {
        Map<NoDecisionReason, Long> unanswered = new EnumMap<>(NoDecisionReason.class);
        unanswered.put(NoDecisionReason.NOT_READY, notReady);
        unanswered.put(NoDecisionReason.TIMED_OUT, timedOut);
        unanswered.put(NoDecisionReason.NOT_WRITTEN, 0L);
        log.update(
                new OutageLog.Snapshot(isReady, circuit, State.CLOSED, unanswered, Optional.ofNullable(failure)),
                TimeUnit.SECONDS.toNanos(seconds));
    }

    @Test
    void the_connection_is_logged_once() {
        update(1, false, State.CLOSED, 0, 0, null);
        update(2, true, State.CLOSED, 0, 0, null);
        update(3, true, State.CLOSED, 0, 0, null);
        assertThat(lines.take()).containsExactly("INFO The client has connected to the brokers after 2s");
    }

    @Test
    void an_outage_is_two_warnings_with_its_reason_and_duration() {
        update(1, true, State.CLOSED, 0, 7, null);
        lines.take();
        update(2, true, State.OPEN, 0, 64, null);
        for (int second = 3; second < 60; second++) {
            update(second, true, second % 6 == 0 ? State.HALF_OPEN : State.OPEN, 0, 64 + second, null);
        }
        update(62, true, State.CLOSED, 0, 200, null);
        update(63, true, State.CLOSED, 0, 200, null);
        assertThat(lines.take())
                .containsExactly(
                        "WARN Too many requests over the topics got no decision (TIMED_OUT), so the fallback decides"
                                + " without a wait; check the brokers and the enforcers",
                        "WARN Requests over the topics are decided again; the fallback decided for 1m");
    }

    @Test
    void an_outage_has_the_reason_of_requests_that_ended_just_before_the_circuit_opened() {
        update(1, true, State.CLOSED, 0, 7, null);
        update(2, true, State.CLOSED, 0, 64, null);
        update(3, true, State.OPEN, 0, 64, null);
        assertThat(lines.take())
                .last()
                .asString()
                .startsWith("WARN Too many requests over the topics got no decision (TIMED_OUT), so");
    }

    @Test
    void requests_before_the_connection_are_a_warning_a_minute() {
        for (int second = 1; second <= 130; second++) {
            update(second, false, State.CLOSED, second / 10, 0, second < 60 ? null : "no broker has answered for 60 s");
        }
        update(131, true, State.CLOSED, 13, 0, null);
        assertThat(lines.take())
                .containsExactly(
                        "WARN Requests cannot be decided: no broker has responded yet",
                        "WARN Requests cannot be decided: no broker has answered for 60 s",
                        "WARN Requests cannot be decided: no broker has answered for 60 s",
                        "WARN The client has connected to the brokers after 2m 11s");
    }

    @Test
    void the_connection_ends_an_outage() {
        update(10, false, State.OPEN, 100, 0, "Topic weir.requests does not exist");
        update(20, true, State.CLOSED, 120, 0, null);
        update(21, true, State.CLOSED, 120, 0, null);
        assertThat(lines.take())
                .containsExactly(
                        "WARN Requests cannot be decided: Topic weir.requests does not exist",
                        "WARN Too many requests over the topics got no decision (NOT_READY), so the fallback decides"
                                + " without a wait: Topic weir.requests does not exist",
                        "WARN The client has connected to the brokers after 20s");
    }
}
