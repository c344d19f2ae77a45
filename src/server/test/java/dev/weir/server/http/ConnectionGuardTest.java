package dev.weir.server.http;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.server.http.ConnectionGuard.Bounds;
import dev.weir.server.http.ConnectionGuard.GuardedConnection;
import dev.weir.server.http.ConnectionGuard.Refusal;
import dev.weir.server.http.ConnectionGuard.Share;
import dev.weir.testing.CapturedLog;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which connection is closed if there are too many. */
class ConnectionGuardTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration LONG = Duration.ofMinutes(5);

    private ConnectionGuard guard;

    @AfterEach
    void close() {
        guard.close();
    }

    private void start(Duration timeout, int max, Share share) {
        guard = new ConnectionGuard(new Bounds(timeout, max, 64, address -> share));
    }

    private static final class Connection implements GuardedConnection {

        private final InetAddress caller;
        private final boolean isIncomplete;
        private final boolean isIdle;
        private final long sinceNanos = System.nanoTime();
        private volatile Refusal closed;

        Connection(String address, boolean isIncomplete, boolean isIdle) {
            try {
                caller = InetAddress.getByName(address);
            } catch (UnknownHostException e) {
                throw new IllegalArgumentException(e);
            }
            this.isIncomplete = isIncomplete;
            this.isIdle = isIdle;
        }

        @Override
        public boolean isIncomplete() {
            return isIncomplete;
        }

        @Override
        public boolean isIdle() {
            return isIdle;
        }

        @Override
        public boolean isSending() {
            return false;
        }

        @Override
        public long stateSinceNanos() {
            return sinceNanos;
        }

        @Override
        public long receivedBytes() {
            return 0;
        }

        @Override
        public InetAddress caller() {
            return caller;
        }

        @Override
        public void close(Refusal reason) {
            closed = reason;
        }
    }

    private static Connection incomplete(String address) {
        return new Connection(address, true, false);
    }

    private static Connection idle(String address) {
        return new Connection(address, false, true);
    }

    private static Connection busy(String address) {
        return new Connection(address, false, false);
    }

    private List<Connection> open(Connection... connections) {
        List<Connection> opened = new ArrayList<>(List.of(connections));
        opened.removeIf(one -> !guard.opened(one));
        return opened;
    }

    @Test
    void an_address_beyond_its_share_loses_its_oldest_incomplete_connection() {
        start(LONG, 100, new Share(2, 10));
        List<Connection> others = open(incomplete("192.0.2.2"), incomplete("192.0.2.2"));
        List<Connection> opened =
                open(idle("192.0.2.1"), incomplete("192.0.2.1"), incomplete("192.0.2.1"), incomplete("192.0.2.1"));
        assertThat(opened).extracting(one -> one.closed).containsExactly(null, Refusal.TOO_MANY, null, null);
        assertThat(others).extracting(one -> one.closed).containsOnlyNulls();
        assertThat(guard.size()).isEqualTo(5);
        assertThat(guard.refused(Refusal.TOO_MANY)).isOne();
    }

    @Test
    void all_addresses_of_a_range_of_ipv6_are_one_caller() {
        start(LONG, 100, new Share(2, 10));
        List<Connection> opened =
                open(incomplete("2001:db8::1"), incomplete("2001:db8::2"), incomplete("2001:db8::3:4"));
        assertThat(opened.get(0).closed).isEqualTo(Refusal.TOO_MANY);
    }

    @Test
    void complete_connections_of_an_address_are_bounded_too() {
        start(LONG, 100, new Share(2, 3));
        List<Connection> opened = open(busy("192.0.2.1"), idle("192.0.2.1"), busy("192.0.2.1"), busy("192.0.2.1"));
        assertThat(opened).extracting(one -> one.closed).containsExactly(null, Refusal.TOO_MANY, null, null);
        assertThat(guard.opened(busy("192.0.2.1")))
                .as("none can be closed for it")
                .isFalse();
        assertThat(guard.opened(busy("192.0.2.2"))).isTrue();
        assertThat(guard.size()).isEqualTo(4);
    }

    @Test
    void incomplete_connections_are_closed_before_idle_ones_if_there_are_too_many_in_all() {
        start(LONG, 2, new Share(2, 2));
        List<Connection> opened =
                open(idle("192.0.2.1"), incomplete("192.0.2.2"), busy("192.0.2.3"), busy("192.0.2.4"));
        assertThat(opened)
                .extracting(one -> one.closed)
                .containsExactly(Refusal.TOO_MANY, Refusal.TOO_MANY, null, null);
        assertThat(guard.opened(busy("192.0.2.5"))).isFalse();
        guard.closed(opened.get(2));
        assertThat(guard.opened(busy("192.0.2.5"))).isTrue();
    }

    @Test
    void an_incomplete_connection_is_closed_at_the_timeout() {
        start(Duration.ofMillis(1), 10, new Share(10, 10));
        List<Connection> opened = open(idle("192.0.2.1"), incomplete("192.0.2.2"));
        await("it is closed", PATIENCE, () -> opened.get(1).closed == Refusal.TOO_SLOW);
        assertThat(opened.get(0).closed).isNull();
        assertThat(guard.size()).isOne();
        assertThat(guard.refused(Refusal.TOO_SLOW)).isOne();
    }

    @Test
    void failures_to_accept_are_logged_once_a_minute() {
        start(LONG, 10, new Share(10, 10));
        try (CapturedLog log = new CapturedLog(ConnectionGuard.class)) {
            for (int i = 0; i < 5; i++) {
                guard.acceptFailed("service.port", new IOException("Too many open files"));
            }
            assertThat(log.lines()).singleElement().satisfies(line -> assertThat(line.text())
                    .startsWith("service.port cannot accept connections: java.io.IOException: Too many open files;"));
        }
        assertThat(guard.refused(Refusal.NO_DESCRIPTORS)).isEqualTo(5);
    }
}
