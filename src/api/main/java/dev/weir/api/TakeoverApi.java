package dev.weir.api;

import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.takeover.Announcement;
import dev.weir.takeover.PeerWatch;
import dev.weir.takeover.TakeoverSource;
import io.javalin.http.Context;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Tells the other instances what this one announces, and takes over from those that have died. A request of another
 * instance is answered when the announcement changes, and after a while, so that its connection breaks if this process
 * dies.
 */
final class TakeoverApi implements AutoCloseable {

    static final String PATH = "/v1/live/announcement";

    private static final String KNOWN = "known";
    private static final String FROM = "from";
    private static final int MAX_FOLLOWERS = 256;
    private static final Duration CHECK = Duration.ofMillis(100);

    /** How long after its last request another instance counts as one that will ask again. */
    static final Duration PRESENT = PeerWatch.ASKED.multipliedBy(2);

    /** How long a stop waits until the others know of it. */
    static final Duration STOP = Duration.ofSeconds(1);

    private final PeerInstances peers;
    private final LongSupplier nanos;
    private final Duration answered;
    private final Map<String, Follower> followers = new ConcurrentHashMap<>(); // by instance
    private final ScheduledExecutorService checks = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "service-announcements");
        thread.setDaemon(true);
        return thread;
    });
    private volatile Optional<TakeoverSource> source = Optional.empty();
    private volatile boolean isLeaving;
    private Optional<Announcement> last = Optional.empty(); // of the thread that checks
    private Optional<PeerWatch> watch = Optional.empty(); // guarded by this

    /**
     * The last request of another instance.
     *
     * @param known the version of the announcement that it has
     */
    private record Follower(String known, long sinceNanos, CompletableFuture<String> answer) {

        boolean isPresent(long nowNanos) {
            return nowNanos - sinceNanos < PRESENT.toNanos();
        }
    }

    /**
     * @param nanos the time by which other instances are present, and by which a stop waits for them
     * @param answered the time after which a request is answered also if nothing has changed
     */
    TakeoverApi(PeerInstances peers, LongSupplier nanos, Duration answered) {
        this.peers = peers;
        this.nanos = nanos;
        this.answered = answered;
        var unused = checks.scheduleWithFixedDelay(this::check, 0, CHECK.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Starts to follow the others. Called again with each further enforcer of the process. */
    synchronized void start(TakeoverSource of) {
        source = Optional.of(of);
        watch.ifPresent(PeerWatch::close);
        if (!isLeaving) {
            PeerWatch next = new PeerWatch(of, (address, known) -> ask(of.instance(), address, known));
            watch = Optional.of(next);
            next.start();
        }
    }

    private CompletableFuture<String> ask(String own, String address, String known) {
        String id = URLEncoder.encode(own, StandardCharsets.UTF_8);
        String version = known.isEmpty() ? "" : "&" + KNOWN + "=" + version(known);
        return peers.get(address, PATH + "?" + FROM + "=" + id + version, PeerWatch.ASKED);
    }

    private static String version(String announcement) {
        return Integer.toHexString(announcement.hashCode());
    }

    /** Responds with the announcement, as soon as it is another one than the other instance knows, or after a while. */
    void announce(Context request) {
        QueryParameters parameters = QueryParameters.of(request, FROM, KNOWN);
        String from = parameters.text(FROM).orElse("");
        TakeoverSource current =
                source.orElseThrow(() -> ProblemDetails.unavailable("the enforcer is starting, or takeover is off")
                        .exception());
        long now = nanos.getAsLong();
        followers.values().removeIf(follower -> !follower.isPresent(now));
        if (followers.size() >= MAX_FOLLOWERS && !followers.containsKey(from)) {
            throw ProblemDetails.unavailable("too many instances wait for the announcement")
                    .exception();
        }
        CompletableFuture<String> answer = new CompletableFuture<>();
        request.future(() -> answer.orTimeout(answered.toMillis(), TimeUnit.MILLISECONDS)
                .exceptionally(late -> announcement(current).json())
                .thenAccept(json -> request.contentType("application/json").result(json)));
        Follower follower = new Follower(parameters.text(KNOWN).orElse(""), now, answer);
        followers.put(from, follower);
        answerIfChanged(follower, announcement(current).json());
    }

    private Announcement announcement(TakeoverSource current) {
        Announcement announcement = current.announcement().get();
        return isLeaving ? announcement.leaving() : announcement;
    }

    private static void answerIfChanged(Follower follower, String json) {
        if (!follower.known.equals(version(json))) {
            follower.answer.complete(json);
        }
    }

    private void check() {
        source.ifPresent(current -> {
            Announcement now = announcement(current);
            if (!Optional.of(now).equals(last)) {
                last = Optional.of(now);
                String json = now.json();
                followers.values().forEach(follower -> answerIfChanged(follower, json));
            }
        });
    }

    /** Tells the others that this instance leaves, so that they do not take over from it. */
    @Override
    public synchronized void close() {
        isLeaving = true;
        watch.ifPresent(PeerWatch::close);
        source.ifPresent(this::awaitKnown);
        checks.shutdownNow();
    }

    /** Waits until the others have asked again, knowing that this instance leaves. */
    private void awaitKnown(TakeoverSource current) {
        long startNanos = nanos.getAsLong();
        String leaving = announcement(current).json();
        followers.values().forEach(follower -> answerIfChanged(follower, leaving));
        try {
            for (long now = startNanos;
                    now - startNanos < STOP.toNanos() && isAwaited(version(leaving), now);
                    now = nanos.getAsLong()) {
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether another instance that will ask again has not yet asked with this version. */
    private boolean isAwaited(String version, long nowNanos) {
        return followers.values().stream()
                .anyMatch(follower -> follower.isPresent(nowNanos) && !follower.known.equals(version));
    }
}
