package dev.weir.api;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.event.Reason;
import dev.weir.live.ClusterHistory;
import dev.weir.live.ClusterSecond;
import dev.weir.live.ClusterTimeline;
import dev.weir.live.ClusterTimeline.LiveUpdate;
import dev.weir.live.InstanceReport;
import dev.weir.live.LimitedReport;
import dev.weir.live.Sampler;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.wire.json.Json;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all instances do, second by second, as server-sent events. The other instances are polled only while there are
 * viewers, and once a second for all viewers together.
 */
final class LiveFeed implements AutoCloseable {

    /** The path at which an instance reports only its own figures. */
    static final String REPORT_PATH = "/v1/live/report";

    private static final int MAX_WATCHERS = 16;

    private static final String AFTER = "after";
    private static final String BY_MINUTE = "minutes";
    private static final String HOURS = "hours";
    private static final String MINUTES = "minutes";
    private static final String MOST = "most";
    private static final int DEFAULT_MOST = 20;
    private static final long MS_PER_MINUTE = 60_000;

    /** The path at which instances report which clients are limited. */
    static final String LIMITED_PATH = "/v1/live/limited";

    private static final long MS_PER_SECOND = 1_000;
    private static final long MS_PER_HOUR = 3_600_000;

    /** How long after the end of a second the instances are polled, so that all of them have sampled it. */
    private static final long DELAY_MS = 250;

    private static final Duration ANSWER_TIMEOUT = Duration.ofMillis(600);

    /** The timeout of the first poll, which returns more data over a new connection. */
    private static final Duration HISTORY_TIMEOUT = Duration.ofSeconds(3);

    private static final Logger LOG = LoggerFactory.getLogger(LiveFeed.class);

    private final PeerInstances peers;
    private final Semaphore watcherPermits = new Semaphore(MAX_WATCHERS);
    private final ExecutorService watcherExecutor = Executors.newCachedThreadPool(LiveFeed::thread);
    private final ScheduledExecutorService pollScheduler = Executors.newSingleThreadScheduledExecutor(LiveFeed::thread);
    private volatile LiveSource source;

    /** The addresses that did not respond in the last round. Accessed only by the polling thread. */
    private Set<String> unreachable = Set.of();

    /** Guarded by this, as are the fields below. */
    private ClusterTimeline timeline = new ClusterTimeline();

    private int watchers;
    private long rounds;
    private Future<?> polling = CompletableFuture.completedFuture(null);
    private boolean closed;

    /** The sampler of this instance, and the addresses of the other instances. */
    private record LiveSource(Sampler own, Supplier<Set<String>> others) {}

    /** The reports, and the reasons why there is none, by address. */
    private record Polled<T>(Map<String, T> reports, Map<String, String> failed) {}

    LiveFeed(PeerInstances peers) {
        this.peers = peers;
    }

    private static Thread thread(Runnable task) {
        Thread thread = new Thread(task, "service-live");
        thread.setDaemon(true);
        return thread;
    }

    /** Starts to poll. Called again with each further enforcer of the process. */
    synchronized void start(Sampler own, Supplier<Set<String>> others) {
        source = new LiveSource(own, others);
        polling.cancel(false);
        long untilNextMs = MS_PER_SECOND - System.currentTimeMillis() % MS_PER_SECOND + DELAY_MS;
        polling = pollScheduler.scheduleAtFixedRate(this::poll, untilNextMs, MS_PER_SECOND, TimeUnit.MILLISECONDS);
    }

    /** Returns the figures of this instance, by the second or by the minute. */
    void report(Context request) {
        QueryParameters parameters = QueryParameters.of(request, AFTER, BY_MINUTE);
        long after = parameters
                .text(AFTER)
                .map(text -> {
                    if (!text.matches("-?[0-9]{1,18}")) {
                        throw ProblemDetails.of(400, "after must be a time in milliseconds")
                                .exception();
                    }
                    return Long.parseLong(text);
                })
                .orElse(0L);
        Sampler own = source().own();
        InstanceReport report = parameters.flag(BY_MINUTE) ? own.minutesSince(after) : own.since(after);
        request.contentType("application/json").result(report.json());
    }

    /** Returns the figures of all instances, by the minute. */
    void history(Context request) {
        int hours = QueryParameters.of(request, HOURS)
                .number(HOURS, 1, ClusterHistory.MAX_HOURS)
                .orElse(1);
        long nowMs = System.currentTimeMillis();
        long after = nowMs - hours * MS_PER_HOUR;
        LiveSource current = source();
        String target = REPORT_PATH + "?" + AFTER + "=" + after + "&" + BY_MINUTE + "=true";
        request.future(() -> poll(current, target, HISTORY_TIMEOUT, InstanceReport::read)
                .thenAccept(polled -> {
                    List<InstanceReport> reports = new ArrayList<>(polled.reports.values());
                    reports.add(current.own().minutesSince(after));
                    request.contentType("application/json")
                            .result(Json.write(ClusterHistory.of(nowMs, reports, polled.failed.keySet())));
                }));
    }

    /** Returns the most limited clients and the results of policies on all instances, or to another one, only on this. */
    void limited(Context request) {
        QueryParameters parameters = QueryParameters.of(request, MINUTES, MOST, "client", "policy", "reason");
        int minutes =
                parameters.number(MINUTES, 1, ClusterHistory.MAX_HOURS * 60).orElse(1);
        LimitedReport.Selection selection = new LimitedReport.Selection(
                parameters.text("client"),
                parameters.text("policy"),
                parameters.word("reason", Reason.class).map(Reason::name),
                parameters.number(MOST, 1, LimitedReport.MAX_ENTRIES).orElse(DEFAULT_MOST));
        long nowMs = System.currentTimeMillis();
        LiveSource current = source();
        LimitedReport own = current.own().limitedSince(nowMs - minutes * MS_PER_MINUTE, nowMs, selection.withAll());
        request.contentType("application/json");
        if (PeerInstances.isForwarded(request)) {
            request.result(Json.write(own));
            return;
        }
        String target = LIMITED_PATH + "?" + MINUTES + "=" + minutes + selection.query();
        request.future(() -> poll(current, target, HISTORY_TIMEOUT, LimitedReport::read)
                .thenAccept(polled -> {
                    List<LimitedReport> reports = new ArrayList<>(polled.reports.values());
                    reports.add(own);
                    ObjectNode json = Json.MAPPER.valueToTree(LimitedReport.sum(reports, selection));
                    polled.failed.keySet().forEach(json.putArray("missing")::add);
                    request.result(Json.write(json));
                }));
    }

    /** Sends the history, and then an event each second until either side closes the connection. */
    void watch(Context request) {
        QueryParameters.requireNone(request);
        source();
        request.contentType("text/event-stream");
        if (HandlerType.HEAD.equals(request.method())) {
            return; // an event stream to a caller that does not read would never end
        }
        if (!watcherPermits.tryAcquire()) {
            throw ProblemDetails.unavailable("there are already " + MAX_WATCHERS + " viewers")
                    .exception();
        }
        request.header("X-Accel-Buffering", "no"); // otherwise a proxy may buffer the events
        request.async(task -> task.executor = watcherExecutor, () -> {
            try {
                watch(request.res().getOutputStream());
            } catch (IOException e) {
                LOG.debug("A viewer disconnected", e);
            } finally {
                watcherPermits.release();
            }
        });
    }

    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
        pollScheduler.shutdownNow();
        watcherExecutor.shutdown();
    }

    private LiveSource source() {
        LiveSource current = source;
        if (current == null) {
            throw ProblemDetails.unavailable("the enforcer is starting").exception();
        }
        return current;
    }

    private void watch(OutputStream out) throws IOException {
        long round = addWatcher();
        try {
            long seen = 0;
            String first = "history";
            for (LiveUpdate next = awaitRound(round, seen); next != null; next = awaitRound(++round, seen)) {
                if (next.lastSecondMs() < seen) {
                    return; // the clock was set back; the viewer connects again, and gets the history
                }
                if (first != null) {
                    write(out, first, next.ticks());
                    first = null;
                } else {
                    for (ClusterSecond tick : next.ticks()) {
                        write(out, "tick", tick);
                    }
                }
                write(out, "now", next.overview());
                out.flush();
                seen = next.lastSecondMs();
            }
        } finally {
            removeWatcher();
        }
    }

    private static void write(OutputStream out, String event, Object data) throws IOException {
        String text = "event: " + event + "\ndata: " + Json.write(data) + "\n\n";
        out.write(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns the number of the round to wait for. The first viewer starts a round at once. */
    private synchronized long addWatcher() {
        if (watchers++ == 0 && !closed) {
            timeline = new ClusterTimeline();
            pollScheduler.execute(this::poll);
        }
        return rounds + 1;
    }

    private synchronized void removeWatcher() {
        watchers--;
    }

    /**
     * Waits until a round is over and returns the seconds after a given one. Returns null if there are no
     * further rounds.
     */
    private synchronized LiveUpdate awaitRound(long round, long seen) {
        try {
            while (rounds < round && !closed) {
                wait();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
        return closed ? null : timeline.since(seen);
    }

    private void poll() {
        ClusterTimeline current;
        synchronized (this) {
            if (watchers == 0) {
                return;
            }
            current = timeline;
        }
        try {
            poll(current);
        } catch (RuntimeException e) { // an exception would end the schedule
            LOG.warn("The live page misses one second: {}", e.toString());
            return;
        }
        synchronized (this) {
            rounds++;
            notifyAll();
        }
    }

    private void poll(ClusterTimeline current) {
        long after = current.lastSecondMs();
        String question = REPORT_PATH + "?" + AFTER + "=" + after;
        Duration within = after == 0 ? HISTORY_TIMEOUT : ANSWER_TIMEOUT;
        Polled<InstanceReport> polled =
                poll(source, question, within, InstanceReport::read).join();
        polled.failed.forEach((address, why) -> {
            if (!unreachable.contains(address)) {
                LOG.warn("The live page has no figures from {}: {}", address, why);
            }
        });
        unreachable = polled.failed.keySet();
        current.add(System.currentTimeMillis(), source.own().since(after), polled.reports, unreachable);
    }

    /** Gets the reports of the other instances. The future does not fail. */
    private <T> CompletableFuture<Polled<T>> poll(
            LiveSource current, String question, Duration within, Function<String, T> reader) {
        Polled<T> polled = new Polled<>(new ConcurrentSkipListMap<>(), new ConcurrentSkipListMap<>());
        List<CompletableFuture<?>> answers = new ArrayList<>();
        for (String address : current.others().get()) {
            answers.add(peers.get(address, question, within)
                    .thenApply(reader)
                    .handle((report, failure) -> failure == null
                            ? polled.reports.put(address, report)
                            : polled.failed.put(address, String.valueOf(cause(failure)))));
        }
        return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .thenApply(done -> polled);
    }

    private static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException ? failure.getCause() : failure;
    }
}
