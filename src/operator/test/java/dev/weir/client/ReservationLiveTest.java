package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests reservations of a client with a real broker and an enforcer. */
@Tag("full")
class ReservationLiveTest {

    private static final Duration LONG = Duration.ofMinutes(10);
    private static final long SECONDS = LiveWeir.PATIENCE.toSeconds();

    private static final String POLICIES = """
            policies:
              - {id: tokens, layer: tokens, limits: [{algorithm: sliding-window-log, limit: 1000, per: 1 day}]}
              - {id: calls, layer: calls, limits: [{algorithm: concurrency, limit: 2, ttl: 10m}]}
            """;

    @TempDir
    static Path directory;

    private static LiveWeir live;
    private static Enforcer enforcer;

    private WeirClient weir;

    @BeforeAll
    static void start() throws Exception {
        EmbeddedBroker broker = TestBroker.shared();
        live = LiveWeir.create(broker, directory, "reservations.", POLICIES);
        enforcer = live.enforce();
    }

    @AfterAll
    static void stop() {
        enforcer.close();
    }

    @BeforeEach
    void open() throws Exception {
        weir = LiveWeir.ready(live.client());
    }

    @AfterEach
    void close() {
        weir.close();
    }

    private static Request request(String client, long cost) {
        return RequestBuilder.of(client).cost(cost).build();
    }

    private Reservation reserve(String client, long cost, Duration ttl) throws Exception {
        return get(weir.reserve(request(client, cost), ttl));
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(SECONDS, TimeUnit.SECONDS);
    }

    /** Returns what remains of a limit of a client, by its policy. */
    private long remaining(String client, String policy) throws Exception {
        Decision decision = get(weir.peek(request(client, 1))).decision().orElseThrow();
        return decision.limits().stream()
                .filter(limit -> limit.policyId().equals(policy))
                .findFirst()
                .orElseThrow()
                .remaining();
    }

    @Test
    void settling_charges_what_the_work_really_cost_and_frees_the_slot() throws Exception {
        Reservation reservation = reserve("settle", 2, LONG);
        assertThat(reservation.isAllowed()).isTrue();
        assertThat(remaining("settle", "tokens")).isEqualTo(998);
        assertThat(remaining("settle", "calls")).isZero();
        assertThat(get(reservation.settle(1))).isEqualTo(Reason.SETTLED);
        assertThat(remaining("settle", "tokens")).isEqualTo(999);
        assertThat(remaining("settle", "calls")).isEqualTo(2);
    }

    @Test
    void releasing_keeps_the_charge_and_frees_the_slots() throws Exception {
        Reservation reservation = reserve("release", 2, LONG);
        assertThat(get(reservation.release())).isEqualTo(Reason.RELEASED);
        assertThat(remaining("release", "tokens")).isEqualTo(998);
        assertThat(remaining("release", "calls")).isEqualTo(2);
    }

    @Test
    void cancelling_refunds_all_of_it() throws Exception {
        Reservation reservation = reserve("cancel", 2, LONG);
        assertThat(get(reservation.cancel())).isEqualTo(Reason.CANCELLED);
        assertThat(remaining("cancel", "tokens")).isEqualTo(1_000);
        assertThat(remaining("cancel", "calls")).isEqualTo(2);
    }

    @Test
    void closing_cancels_unless_something_was_said() throws Exception {
        try (Reservation reservation = reserve("close", 2, LONG)) {
            assertThat(reservation.isAllowed()).isTrue();
        }
        await("the reservation is cancelled", LiveWeir.PATIENCE, () -> remaining("close", "calls") == 2);
        assertThat(remaining("close", "tokens")).isEqualTo(1_000);
        try (Reservation reservation = reserve("close", 2, LONG)) {
            assertThat(get(reservation.settle(1))).isEqualTo(Reason.SETTLED);
        }
        assertThat(remaining("close", "tokens")).isEqualTo(999);
    }

    @Test
    void a_second_end_is_not_sent_and_one_of_another_sender_counts_once() throws Exception {
        Reservation reservation = reserve("twice", 2, LONG);
        long before = weir.stats().sent();
        assertThat(get(reservation.settle(1))).isEqualTo(Reason.SETTLED);
        assertThat(get(reservation.settle(1))).isEqualTo(Reason.SETTLED);
        assertThat(get(reservation.release())).isEqualTo(Reason.ALREADY_ENDED);
        reservation.close();
        assertThat(weir.stats().sent()).isEqualTo(before + 1);

        String id = "twice-" + System.nanoTime();
        Reservation other = get(
                weir.reserve(RequestBuilder.of("twice").requestId(id).cost(2).build(), LONG));
        Request release = RequestBuilder.of("twice")
                .requestId(id)
                .kind(RequestKind.RELEASE)
                .build();
        assertThat(get(weir.decide(release)).decision().orElseThrow().reason()).isEqualTo(Reason.RELEASED);
        assertThat(get(other.settle(1))).isEqualTo(Reason.ALREADY_ENDED);
        assertThat(remaining("twice", "tokens")).isEqualTo(997);
        assertThat(remaining("twice", "calls")).isEqualTo(2);
    }

    @Test
    void a_denied_request_reserves_nothing() throws Exception {
        Reservation first = reserve("denied", 2, LONG);
        Reservation denied = reserve("denied", 1, LONG);
        assertThat(denied.isAllowed()).isFalse();
        assertThat(denied.decision().decision().orElseThrow().policyId()).isEqualTo("calls");
        assertThat(get(denied.settle(0))).isEqualTo(Reason.NOTHING_RESERVED);
        denied.close();
        assertThat(remaining("denied", "tokens")).isEqualTo(998);
        assertThat(get(first.release())).isEqualTo(Reason.RELEASED);
        assertThat(reserve("denied", 1, LONG).isAllowed()).isTrue();
    }

    /** The second reservation has the time of the first one, but no client that renews it. */
    @Test
    void an_open_reservation_is_renewed_and_one_without_a_client_ends_by_its_time() throws Exception {
        Duration ttl = Duration.ofSeconds(15);
        AtomicInteger losses = new AtomicInteger();
        Reservation renewed = reserve("renew", 1, ttl);
        renewed.onLost(losses::incrementAndGet);
        Request left = RequestBuilder.of("renew").reserve(ttl).build();
        assertThat(get(weir.decide(left)).allowed()).isTrue();
        assertThat(remaining("renew", "calls")).isZero();
        Duration seldom = Duration.ofMillis(500);
        await("the other one has ended", LiveWeir.PATIENCE, seldom, () -> remaining("renew", "calls") == 1);
        if (losses.get() == 0) { // a machine that stops for 15 s loses it
            assertThat(get(renewed.release())).isEqualTo(Reason.RELEASED);
            assertThat(remaining("renew", "calls")).isEqualTo(2);
        }
    }

    @Test
    void a_reservation_that_somebody_else_has_ended_is_lost_once() throws Exception {
        Request request = request("lost", 1);
        Reservation reservation = get(weir.reserve(request, Duration.ofSeconds(6)));
        CountDownLatch lost = new CountDownLatch(1);
        AtomicInteger losses = new AtomicInteger();
        reservation.onLost(() -> {
            losses.incrementAndGet();
            lost.countDown();
        });
        Request release = RequestBuilder.of("lost")
                .requestId(request.requestId())
                .kind(RequestKind.RELEASE)
                .build();
        assertThat(get(weir.decide(release)).decision().orElseThrow().reason()).isEqualTo(Reason.RELEASED);
        assertThat(lost.await(SECONDS, TimeUnit.SECONDS)).isTrue();
        reservation.close();
        assertThat(losses).hasValue(1);
        assertThat(weir.stats().reservations().lost()).isEqualTo(1);
        await(
                "none is open",
                LiveWeir.PATIENCE,
                () -> weir.stats().reservations().open() == 0);
    }

    @Test
    void many_callers_never_have_more_slots_than_the_limit() throws Exception {
        AtomicInteger working = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                for (int call = 0; call < 20; call++) {
                    try (Reservation reservation = reserve("many", 1, LONG)) {
                        if (reservation.isAllowed()) {
                            most.accumulateAndGet(working.incrementAndGet(), Math::max);
                            Thread.yield();
                            working.decrementAndGet();
                            get(reservation.settle(1));
                            done.incrementAndGet();
                        }
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(most.get()).isBetween(1, 2);
        assertThat(remaining("many", "tokens")).isEqualTo(1_000 - done.get());
        assertThat(remaining("many", "calls")).isEqualTo(2);
    }

    @Test
    void a_filter_holds_a_reservation_for_each_exchange() throws Exception {
        CountDownLatch mayEnd = new CountDownLatch(1);
        AtomicInteger handled = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        HttpHandler handler = exchange -> {
            if (handled.incrementAndGet() > 2) {
                throw new IllegalStateException("as requested");
            }
            awaitZero(mayEnd);
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        };
        server.createContext("/", handler)
                .getFilters()
                .add(new WeirFilter(weir, exchange -> request("filter", 1)).holding(LONG));
        ExecutorService threads = Executors.newCachedThreadPool();
        server.setExecutor(threads);
        server.start();
        try {
            URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
            HttpClient http = HttpClient.newHttpClient();
            HttpRequest call = HttpRequest.newBuilder(uri).build();
            CompletableFuture<HttpResponse<Void>> first = http.sendAsync(call, BodyHandlers.discarding());
            CompletableFuture<HttpResponse<Void>> second = http.sendAsync(call, BodyHandlers.discarding());
            await("two are handled", LiveWeir.PATIENCE, () -> handled.get() == 2);
            assertThat(http.send(call, BodyHandlers.discarding()).statusCode()).isEqualTo(429);
            mayEnd.countDown();
            assertThat(get(first).statusCode()).isEqualTo(200);
            assertThat(get(second).statusCode()).isEqualTo(200);
            await("both are released", LiveWeir.PATIENCE, () -> remaining("filter", "calls") == 2);
            var unused = get(http.sendAsync(call, BodyHandlers.discarding()).handle((response, failure) -> true));
            assertThat(handled.get()).isGreaterThan(2);
            await("the one that failed is released", LiveWeir.PATIENCE, () -> remaining("filter", "calls") == 2);
            assertThat(remaining("filter", "tokens")).isLessThan(998); // the HTTP client may have tried again
        } finally {
            server.stop(0);
            threads.shutdownNow();
        }
    }

    private static void awaitZero(CountDownLatch latch) {
        try {
            assertThat(latch.await(SECONDS, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void closing_the_client_loses_its_reservations_which_stay_until_their_end() throws Exception {
        AtomicInteger losses = new AtomicInteger();
        try (WeirClient other = LiveWeir.ready(live.client())) {
            get(other.reserve(request("killed", 1), LONG)).onLost(losses::incrementAndGet);
        }
        assertThat(losses).hasValue(1);
        assertThat(remaining("killed", "calls")).isEqualTo(1);
    }
}
