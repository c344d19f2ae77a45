package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.ResponseWriter;
import dev.weir.takeover.Announcement;
import dev.weir.takeover.PeerActivity;
import dev.weir.takeover.PeerGroups;
import dev.weir.takeover.TakeoverSource;
import io.javalin.Javalin;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the announcement on a bare server. The time passes only when a test lets it. */
class TakeoverApiTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration NEVER = PATIENCE.multipliedBy(5);
    private static final Duration SOON = Duration.ofMillis(1);
    private static final Announcement FIRST = announcement("m1");
    private static final Announcement SECOND = announcement("m2");
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    /** What the instances would do at the brokers, which they must not. */
    private static final class NoGroups implements PeerGroups {
        @Override
        public Optional<PeerActivity> activity(Announcement of) {
            throw new AssertionError("nobody has died");
        }

        @Override
        public void remove(Announcement dead, Evidence evidence) {
            throw new AssertionError("nobody has died");
        }
    }

    private final AtomicReference<Announcement> announced = new AtomicReference<>(FIRST);
    private final AtomicInteger timesAnnounced = new AtomicInteger(); // how often the announcement was read
    private final AtomicLong nowNanos = new AtomicLong();
    private final AtomicInteger timesRead = new AtomicInteger(); // how often the time was read
    private final AtomicInteger accepted = new AtomicInteger(); // requests that wait or are answered
    private final PeerInstances peers = new PeerInstances(Optional.empty(), Optional.empty());
    private TakeoverApi api;
    private Javalin server;

    /** @param answered the time after which requests are answered also if nothing has changed */
    private void serve(Duration answered) {
        api = new TakeoverApi(peers, this::readTime, answered);
        server = Javalin.create(settings -> {
                    settings.startup.showJavalinBanner = false;
                    settings.routes.get(TakeoverApi.PATH, request -> {
                        api.announce(request);
                        accepted.incrementAndGet();
                    });
                    settings.routes.exception(
                            ProblemDetails.ProblemException.class,
                            (e, request) -> ResponseWriter.write(request, e.problem()));
                })
                .start("127.0.0.1", 0);
    }

    private long readTime() {
        timesRead.incrementAndGet();
        return nowNanos.get();
    }

    private Announcement announce() {
        timesAnnounced.incrementAndGet();
        return announced.get();
    }

    /** Waits until the API has noticed the current announcement, when there are no requests. */
    private void awaitNoticed() {
        int before = timesAnnounced.get();
        await("the announcement is noticed", PATIENCE, () -> timesAnnounced.get() >= before + 2);
    }

    private void pass(Duration time) {
        nowNanos.addAndGet(time.toNanos());
    }

    private void startTakeover() {
        api.start(new TakeoverSource("own", this::announce, Set::of, new NoGroups(), Duration.ofSeconds(2)));
    }

    @AfterEach
    void stop() throws Exception {
        pass(PATIENCE); // so that the stop waits for nobody
        try {
            get(close());
        } finally {
            server.stop();
            peers.close();
        }
    }

    private CompletableFuture<Void> close() {
        return CompletableFuture.runAsync(api::close);
    }

    private static Announcement announcement(String memberId) {
        return new Announcement("own", List.of(new Announcement.Member("weir", "own-1", memberId)), List.of());
    }

    /** Sends the request of another instance that knows an announcement. */
    private CompletableFuture<HttpResponse<String>> send(String known) {
        String version = known.isEmpty() ? "" : "&known=" + Integer.toHexString(known.hashCode());
        URI address = URI.create("http://127.0.0.1:" + server.port() + TakeoverApi.PATH + "?from=peer" + version);
        return HTTP.sendAsync(HttpRequest.newBuilder(address).build(), BodyHandlers.ofString());
    }

    /** Sends the request of another instance that knows an announcement, and returns when its answer may wait. */
    private CompletableFuture<HttpResponse<String>> accept(String known) {
        int before = accepted.get();
        CompletableFuture<HttpResponse<String>> response = send(known);
        await("the request is accepted", PATIENCE, () -> accepted.get() > before);
        return response;
    }

    private static String answer(CompletableFuture<HttpResponse<String>> response) throws Exception {
        HttpResponse<String> received = get(response);
        assertThat(received.statusCode()).as(received.body()).isEqualTo(200);
        return received.body();
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Begins to stop, and returns when the stop waits for another instance. */
    private CompletableFuture<Void> closeWaiting() {
        CompletableFuture<Void> closed = close();
        assertWaits(closed);
        return closed;
    }

    /** A stop reads the time again only if it still waits. */
    private void assertWaits(CompletableFuture<Void> closed) {
        int before = timesRead.get();
        await("the stop waits", PATIENCE, () -> timesRead.get() >= before + 10);
        assertThat(closed).isNotDone();
    }

    @Test
    void requests_are_refused_until_the_enforcer_announces_something() throws Exception {
        serve(NEVER);
        HttpResponse<String> response = get(send(""));
        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(response.body()).contains("\"detail\":\"the enforcer is starting");
        startTakeover();
        assertThat(answer(send(""))).isEqualTo(FIRST.json());
    }

    @Test
    void others_that_do_not_know_the_announcement_are_answered_at_once() throws Exception {
        serve(NEVER);
        startTakeover();
        awaitNoticed();
        assertThat(answer(send(""))).isEqualTo(FIRST.json());
        announced.set(SECOND);
        awaitNoticed();
        assertThat(answer(send(FIRST.json()))).isEqualTo(SECOND.json());
    }

    @Test
    void others_that_wait_are_answered_after_a_change() throws Exception {
        serve(NEVER);
        startTakeover();
        CompletableFuture<HttpResponse<String>> response = accept(FIRST.json());
        announced.set(SECOND);
        assertThat(answer(response)).isEqualTo(SECOND.json());
    }

    @Test
    void others_that_wait_are_answered_after_a_while_though_nothing_has_changed() throws Exception {
        serve(SOON);
        startTakeover();
        assertThat(answer(send(FIRST.json()))).isEqualTo(FIRST.json());
    }

    @Test
    void an_instance_that_stops_waits_until_the_others_know() throws Exception {
        serve(SOON);
        startTakeover();
        String known = answer(send(""));
        pass(TakeoverApi.PRESENT.minusNanos(1));
        CompletableFuture<Void> closed = closeWaiting();
        String leaving = answer(send(known));
        assertThat(leaving).isEqualTo(FIRST.leaving().json());
        assertWaits(closed);
        assertThat(answer(send(leaving))).isEqualTo(leaving);
        get(closed);
    }

    @Test
    void others_that_wait_are_answered_when_an_instance_stops() throws Exception {
        serve(NEVER);
        startTakeover();
        CompletableFuture<HttpResponse<String>> response = accept(FIRST.json());
        closeWaiting();
        assertThat(answer(response)).isEqualTo(FIRST.leaving().json());
    }

    @Test
    void an_instance_that_stops_does_not_wait_for_those_that_no_longer_ask() throws Exception {
        serve(NEVER);
        startTakeover();
        answer(send(""));
        pass(TakeoverApi.PRESENT);
        get(close());
    }

    @Test
    void a_stop_waits_for_a_limited_time() throws Exception {
        serve(NEVER);
        startTakeover();
        answer(send(""));
        CompletableFuture<Void> closed = closeWaiting();
        pass(TakeoverApi.STOP.minusNanos(1));
        assertWaits(closed);
        pass(Duration.ofNanos(1));
        get(closed);
    }
}
