package dev.weir.processor;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Release;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * What the tasks of this process have done since it started, for people. It is counted when it happens: what a task has
 * done and not committed is done again, and counts again. Nothing is decided by it.
 */
// Names that policies and producers make up are counted by themselves while there are few; clients are not counted,
// but kept for those who count.
public final class EnforcerMetrics {

    /** What counts for a decision that names no policy, and a release without a tier. */
    public static final String NONE = "(none)";

    /** What a new name counts for once there are too many. */
    public static final String OTHER = "(other)";

    public static final int MOST = 1_000;
    private static final long NANOS_PER_MS = 1_000_000;
    /** The bounds of {@link #latenciesMs}. */
    public static final List<Long> LATENCIES_MS =
            List.of(1L, 2L, 5L, 10L, 20L, 50L, 100L, 200L, 500L, 1_000L, 2_000L, 5_000L, 10_000L, 30_000L, 60_000L);
    /** The bounds of {@link #waitsMs}. */
    public static final List<Long> WAITS_MS =
            List.of(10L, 100L, 500L, 1_000L, 5_000L, 10_000L, 30_000L, 60_000L, 300_000L, 1_800_000L);

    private final Map<Kind, LongAdder> decisions = new ConcurrentHashMap<>();
    private final Map<Rejection, LongAdder> deadLetters = new ConcurrentHashMap<>();
    private final LongAdder misplaced = new LongAdder();
    private final Map<String, LongAdder> queued = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> released = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> waitedForQuota = new ConcurrentHashMap<>();
    private final Map<Leasing, LongAdder> leasing = new ConcurrentHashMap<>();
    private final DeniedClients denied = new DeniedClients();
    private final Map<Line, Histogram> waitsMs = new ConcurrentHashMap<>();
    private final Histogram latenciesMs = new Histogram(LATENCIES_MS);
    private final Histogram latenessMs = new Histogram(LATENCIES_MS);

    /** Decisions that count together. */
    public record Kind(String policy, Outcome outcome, Reason reason) {}

    /**
     * Messages between holders of shared quota and its ledgers that count together.
     *
     * @param isResponse whether a ledger said it
     * @param isEmpty whether it asked for nothing, or there was nothing to be had
     */
    public record Leasing(String policy, boolean isResponse, boolean isEmpty) {}

    /** Releases that count together. */
    public record Line(String queue, String tier) {}

    void decided(Decision decision) {
        String policy = decision.policyId() == null ? NONE : decision.policyId();
        Kind kind = new Kind(policy, decision.outcome(), decision.reason());
        of(decisions, kind, k -> new Kind(OTHER, k.outcome, k.reason), k -> new LongAdder())
                .increment();
        if (decision.outcome() == Outcome.DENIED) {
            denied.add(decision.client());
        } else if (decision.outcome() == Outcome.QUEUED && !decision.repeated()) {
            of(queued, decision.queueing().queue(), q -> OTHER, q -> new LongAdder())
                    .increment();
        }
    }

    /** @param latencyMs since the time of the request's record */
    void answered(long latencyMs) {
        latenciesMs.add(Math.max(0, latencyMs));
    }

    /** A request waits for a part of the shared quota of a policy. */
    void waits(String policy) {
        of(waitedForQuota, policy, p -> OTHER, p -> new LongAdder()).increment();
    }

    void sent(Leasing message) {
        of(leasing, message, m -> new Leasing(OTHER, m.isResponse, m.isEmpty), m -> new LongAdder())
                .increment();
    }

    void rejected(Rejection rejection) {
        deadLetters.computeIfAbsent(rejection, r -> new LongAdder()).increment();
    }

    /** Counts a request that is not in the partition of its client. */
    void misplaced() {
        misplaced.increment();
    }

    void released(Release release, long nowMs) {
        of(released, release.queue(), q -> OTHER, q -> new LongAdder()).increment();
        Line line = new Line(release.queue(), release.tier() == null ? NONE : release.tier());
        of(waitsMs, line, l -> new Line(OTHER, OTHER), l -> new Histogram(WAITS_MS))
                .add(release.waitMs());
        latenessMs.add(Math.max(0, nowMs - release.releaseAtNanos() / NANOS_PER_MS));
    }

    private static <K, V> V of(Map<K, V> counted, K key, UnaryOperator<K> other, Function<K, V> make) {
        V found = counted.get(key);
        return found != null ? found : counted.computeIfAbsent(counted.size() < MOST ? key : other.apply(key), make);
    }

    public Map<Kind, Long> decisions() {
        return read(decisions);
    }

    /** How long requests' records had been there when they were decided. */
    public Histogram.Reading latenciesMs() {
        return latenciesMs.read();
    }

    public Map<Rejection, Long> deadLetters() {
        return read(deadLetters);
    }

    /** How many requests were not in the partition of their client. */
    public long misplacedRequests() {
        return misplaced.sum();
    }

    /** How many each queue has let in. */
    public Map<String, Long> queued() {
        return read(queued);
    }

    /** How many each queue has released. */
    public Map<String, Long> released() {
        return read(released);
    }

    /** How many requests had to wait for shared quota, by its policy. */
    public Map<String, Long> waitedForQuota() {
        return read(waitedForQuota);
    }

    /** How many messages there were about shared quota. */
    public Map<Leasing, Long> leasing() {
        return read(leasing);
    }

    /** Who was denied of late. */
    public DeniedClients denied() {
        return denied;
    }

    /** How long those had waited that were released. */
    public Map<Line, Histogram.Reading> waitsMs() {
        Map<Line, Histogram.Reading> read = new HashMap<>();
        waitsMs.forEach((line, spread) -> read.put(line, spread.read()));
        return read;
    }

    /** By how much releases were written after the times that they are stamped with; 0: before. */
    public Histogram.Reading latenessMs() {
        return latenessMs.read();
    }

    private static <K> Map<K, Long> read(Map<K, LongAdder> counted) {
        Map<K, Long> read = new HashMap<>();
        counted.forEach((key, count) -> read.put(key, count.sum()));
        return read;
    }
}
