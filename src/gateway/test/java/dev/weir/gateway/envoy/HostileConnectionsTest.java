package dev.weir.gateway.envoy;

import static dev.weir.testing.Await.await;
import static java.util.concurrent.CompletableFuture.completedFuture;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.testing.SampleDecisions;
import dev.weir.testing.TestCertificate;
import io.grpc.ManagedChannel;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections that send nothing, calls without a message, and calls that are reset. A good caller is always served. */
class HostileConnectionsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final String RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    private static final String HEALTH = "/grpc.health.v1.Health/Check";

    private final List<AutoCloseable> opened = new ArrayList<>();
    private EnvoyServer server;

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    private void start(String section, Duration timeout) throws Exception {
        start(section, timeout, InetAddress::isLoopbackAddress);
    }

    private void start(String section, Duration timeout, Predicate<InetAddress> callers) throws Exception {
        EnvoyConfig config = SectionText.read(section);
        FakeDecider decider = new FakeDecider(request ->
                completedFuture(SampleDecisions.of(SampleDecisions.allowed("p", SampleDecisions.tenAMinute(7)))));
        server = EnvoyServer.start(config, LoopbackEndpoint.of(config, callers, timeout, nanos -> {}), decider);
        opened.add(server);
    }

    private RawHttp2 opened(RawHttp2 connection) {
        opened.add(0, connection);
        return connection;
    }

    private RawHttp2 callWithoutMessage(String path, int times) throws Exception {
        RawHttp2 connection = opened(RawHttp2.open(server.port()));
        for (int i = 0; i < times; i++) {
            connection.headers(path);
        }
        connection.flush();
        return connection;
    }

    /** Calls over a new connection. */
    private Code goodCall() {
        ManagedChannel channel = EnvoyCalls.channel(server.port());
        try {
            return RateLimitServiceGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                    .shouldRateLimit(EnvoyCalls.request(EnvoyCalls.descriptor("a", "1")))
                    .getOverallCode();
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void silent_connections_of_an_address_that_may_not_call_are_closed_at_once() throws Exception {
        start("{}", LONG, address -> false);
        for (int i = 0; i < 100; i++) {
            assertThat(opened(RawHttp2.silent(server.port())).isClosed()).isTrue();
        }
        assertThat(server.connections().untrusted()).isEqualTo(100);
        assertThat(server.connections().open()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"{max-connections: 20}", "{max-connections-per-address: 20}"})
    void silent_connections_beyond_the_maximum_are_closed_for_new_ones(String section) throws Exception {
        start(section, LONG);
        List<RawHttp2> silent = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            silent.add(opened(RawHttp2.silent(server.port())));
        }
        assertThat(silent.get(0).isClosed()).isTrue();
        await("30 are closed", PATIENCE, () -> server.connections().tooMany() == 30);
        assertThat(server.connections().open()).isEqualTo(20);
        assertThat(goodCall()).isEqualTo(Code.OK);
    }

    @Test
    void a_connection_must_complete_its_handshake_in_time() throws Exception {
        start("{}", SHORT);
        assertThat(opened(RawHttp2.silent(server.port())).isClosed()).isTrue();
        assertThat(server.connections().tooSlow()).isOne();
        RawHttp2 ready = opened(RawHttp2.open(server.port()));
        assertThat(ready.next(RawHttp2.SETTINGS)).isPresent();
        assertThat(opened(RawHttp2.silent(server.port())).isClosed()).isTrue();
        assertThat(server.connections().open()).isOne();
    }

    @Test
    void a_connection_must_begin_its_tls_handshake_in_time(@TempDir Path directory) throws Exception {
        TestCertificate files = TestCertificate.make(directory, "server", "EC");
        start("tls: {certificate: " + files.certificate() + ", key: " + files.key() + "}", SHORT);
        assertThat(opened(RawHttp2.silent(server.port())).isClosed()).isTrue();
        assertThat(server.connections().tooSlow()).isOne();
        assertThat(server.connections().open()).isZero();
    }

    @Test
    void calls_without_a_message_use_no_more_than_the_share_of_their_connection() throws Exception {
        start("{max-calls: 50, max-calls-per-connection: 20, max-resets: 1000}", LONG);
        RawHttp2 connection = callWithoutMessage(RATE_LIMIT, 100);
        for (int i = 20; i < 100; i++) {
            assertThat(connection.next(RawHttp2.RST_STREAM).orElseThrow().stream())
                    .isEqualTo(2 * i + 1);
        }
        assertThat(server.stats().inProgress()).isEqualTo(20);
        assertThat(goodCall()).isEqualTo(Code.OK);
        assertThat(server.stats().errors().incomplete()).isZero();
    }

    @Test
    void calls_without_a_message_make_way_for_others() throws Exception {
        start("{max-calls: 10, max-calls-per-connection: 6}", LONG);
        callWithoutMessage(RATE_LIMIT, 6);
        callWithoutMessage(RATE_LIMIT, 6);
        await("all places are taken", PATIENCE, () -> server.stats().errors().incomplete() == 2);
        assertThat(server.stats().inProgress()).isEqualTo(10);
        assertThat(goodCall()).isEqualTo(Code.OK);
        assertThat(server.stats().errors().incomplete()).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {RATE_LIMIT, HEALTH})
    void a_message_must_arrive_in_time(String path) throws Exception {
        start("{}", SHORT);
        RawHttp2 connection = callWithoutMessage(path, 1);
        assertThat(connection.next(RawHttp2.HEADERS).orElseThrow().stream()).isOne();
        await("it has no place", PATIENCE, () -> server.stats().inProgress() == 0);
        assertThat(server.stats().errors().incomplete()).isEqualTo(path.equals(RATE_LIMIT) ? 1 : 0);
        assertThat(goodCall()).isEqualTo(Code.OK);
    }

    @Test
    void calls_of_other_services_are_bounded_too() throws Exception {
        start("{}", LONG);
        RawHttp2 connection = callWithoutMessage(HEALTH, CallGate.MAX_OTHER_CALLS + 1);
        assertThat(connection.next(RawHttp2.HEADERS).orElseThrow().stream())
                .as("the one after the maximum is rejected")
                .isEqualTo(2 * CallGate.MAX_OTHER_CALLS + 1);
        assertThat(server.connections().open()).isOne();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_connection_with_too_many_resets_is_closed(boolean isReset) throws Exception {
        start("{max-resets: 20, max-calls-per-connection: 5}", LONG);
        RawHttp2 connection = opened(RawHttp2.open(server.port()));
        for (int i = 0; i < 100; i++) { // without resets, they exceed the share of the connection
            connection.headers(RATE_LIMIT);
            if (isReset) {
                connection.reset();
            }
        }
        connection.flush();
        connection.next(RawHttp2.GOAWAY).ifPresent(last -> assertThat(last.errorOfGoAway())
                .isEqualTo(RawHttp2.ENHANCE_YOUR_CALM));
        await("it is closed", PATIENCE, () -> server.connections().open() == 0);
        assertThat(server.connections().resets()).isOne();
        await("its calls have ended", PATIENCE, () -> server.stats().inProgress() == 0);
        assertThat(goodCall()).isEqualTo(Code.OK);
    }
}
