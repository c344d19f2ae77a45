package dev.weir.gateway.envoy;

import static java.util.concurrent.CompletableFuture.completedFuture;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.testing.SampleDecisions;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Attacks from an address that may call, and prints how long the calls of a good caller take meanwhile. */
@Tag("full")
class GoodCallerUnderAttackTest {

    private static final String RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    private static final int ATTACKERS = 4;
    private static final int STREAMS = 3_000;
    private static final int CALLS = 100;
    private static final int MAX_OPEN = 50;
    private static final long PATIENCE_SECONDS = 20;

    /** Between the connections of an attacker, which shares the processors with the server. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** What each attacker repeats until it is stopped. */
    enum Attack {
        NONE,
        SILENT_CONNECTIONS,
        CALLS_WITHOUT_MESSAGE,
        RAPID_RESET,
        REFUSED_STREAMS
    }

    private volatile boolean isOver;

    @ParameterizedTest
    @EnumSource(Attack.class)
    void no_call_of_a_good_caller_fails(Attack attack) throws Exception {
        EnvoyConfig config = SectionText.read("{timeout: 300ms, max-connections: 200}");
        FakeDecider decider = new FakeDecider(request ->
                completedFuture(SampleDecisions.of(SampleDecisions.allowed("p", SampleDecisions.tenAMinute(7)))));
        List<Thread> attackers = new ArrayList<>();
        try (EnvoyServer server = EnvoyServer.start(
                config,
                LoopbackEndpoint.of(config, InetAddress::isLoopbackAddress, LoopbackEndpoint.TIMEOUT, nanos -> {}),
                decider)) {
            for (int i = 0; i < ATTACKERS; i++) {
                Thread attacker = new Thread(() -> repeat(attack, server.port()), "attacker");
                attackers.add(attacker);
                attacker.start();
            }
            long[] micros = callOverOneAndOverNewConnections(server.port());
            isOver = true;
            for (Thread attacker : attackers) {
                attacker.join();
            }
            Arrays.sort(micros);
            System.out.printf(
                    "%s: %d calls, p50 %.1f ms, p99 %.1f ms; %s; %s%n",
                    attack,
                    micros.length,
                    micros[micros.length / 2] / 1e3,
                    micros[micros.length * 99 / 100] / 1e3,
                    server.stats(),
                    server.connections());
        }
    }

    /** Returns the times of the calls, which must succeed. */
    private static long[] callOverOneAndOverNewConnections(int port) {
        long[] micros = new long[CALLS];
        ManagedChannel kept = EnvoyCalls.channel(port);
        try {
            for (int i = 0; i < CALLS; i++) {
                ManagedChannel channel = i % 10 == 0 ? EnvoyCalls.channel(port) : kept;
                long startNanos = System.nanoTime();
                assertThat(call(channel)).isEqualTo(Code.OK);
                micros[i] = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - startNanos);
                if (channel != kept) {
                    channel.shutdownNow();
                }
            }
        } finally {
            kept.shutdownNow();
        }
        return micros;
    }

    private static Code call(ManagedChannel channel) throws StatusRuntimeException {
        return RateLimitServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .shouldRateLimit(EnvoyCalls.request(EnvoyCalls.descriptor("a", "1")))
                .getOverallCode();
    }

    private void repeat(Attack attack, int port) {
        List<RawHttp2> open = new ArrayList<>();
        while (!isOver && attack != Attack.NONE) {
            try {
                RawHttp2 connection = attack == Attack.SILENT_CONNECTIONS ? RawHttp2.silent(port) : RawHttp2.open(port);
                open.add(connection);
                once(attack, connection);
            } catch (IOException e) {
                // the connection was closed: the next one
            }
            if (open.size() == MAX_OPEN) {
                close(open);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        close(open);
    }

    private static void once(Attack attack, RawHttp2 connection) throws IOException {
        if (attack == Attack.SILENT_CONNECTIONS) {
            return;
        }
        for (int i = 0; i < STREAMS; i++) {
            connection.headers(RATE_LIMIT);
            if (attack == Attack.RAPID_RESET) {
                connection.reset();
            }
        }
        connection.flush();
        if (attack == Attack.REFUSED_STREAMS) {
            connection.next(RawHttp2.GOAWAY);
        }
    }

    private static void close(List<RawHttp2> open) {
        for (RawHttp2 connection : open) {
            try {
                connection.close();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
        open.clear();
    }
}
