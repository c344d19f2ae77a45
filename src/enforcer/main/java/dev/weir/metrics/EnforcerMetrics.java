package dev.weir.metrics;

import dev.weir.decision.EvaluationListener;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.policy.Policy;
import dev.weir.server.LatencyBuckets;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.rules.QueueRules;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * Counters and histograms of what the tasks of this process have done since it started. Events are counted when they
 * happen, so uncommitted work that is repeated after a failure counts twice. No decision depends on these values.
 */
// Only names that policies and queues define are labels, never a name that a producer can invent: a tier is a label if
// its queue names it. The number of label values is bounded by MOST all the same. Clients are not counted by name: the
// most recent ones are kept, and the most recent limited requests for callers that want to rank them.
public final class EnforcerMetrics implements EvaluationListener {

    /** The label of decisions without a policy and of releases without a tier. */
    public static final String NONE = "(none)";

    /** The label of names beyond the first {@link #MOST}, and of tiers that their queue does not name. */
    public static final String OTHER = "(other)";

    /**
     * The maximum number of label combinations per metric, except for {@link #OTHER}. {@link #waitsMs} has at most as
     * many again for the further tiers of each queue.
     */
    public static final int MOST = 1_000;

    /** The maximum number of limited requests that are kept. */
    public static final int MAX_LIMITED = 4_096;

    /** The maximum number of decisions whose clients are kept. */
    private static final int MAX_RECENT = 256;

    private static final long NANOS_PER_MS = 1_000_000;

    /** The bucket bounds of {@link #waitsMs}, in milliseconds. */
    public static final List<Long> WAITS_MS = List.of(
            10L,
            20L,
            50L,
            100L,
            200L,
            500L,
            1_000L,
            2_000L,
            5_000L,
            10_000L,
            20_000L,
            30_000L,
            60_000L,
            120_000L,
            300_000L,
            600_000L,
            1_800_000L);

    private final Map<Kind, LongAdder> decisions = new ConcurrentHashMap<>();
    private final Map<Evaluation, LongAdder> evaluations = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> observed = new ConcurrentHashMap<>();
    private final Map<Rejection, LongAdder> deadLetters = new ConcurrentHashMap<>();
    private final Map<Integer, Long> reservations = new ConcurrentHashMap<>();
    private final LongAdder misplaced = new LongAdder();
    private final LongAdder repliesIgnored = new LongAdder();
    private final Map<String, LongAdder> queued = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> released = new ConcurrentHashMap<>();
    private final Map<EndedAttempt, LongAdder> attempts = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> waitedForQuota = new ConcurrentHashMap<>();
    private final Map<Leasing, LongAdder> leasing = new ConcurrentHashMap<>();
    private final RecentRing<LimitedRequest> limited = new RecentRing<>(MAX_LIMITED);
    private final RecentRing<String> recent = new RecentRing<>(MAX_RECENT);
    private final Map<KeyField, LongAdder> keyFieldsMissing = new ConcurrentHashMap<>();
    private final Map<Line, Histogram> waitsMs = new ConcurrentHashMap<>();
    private final Histogram latenciesMs = new Histogram(LatencyBuckets.MS);
    private final Histogram latenessMs = new Histogram(LatencyBuckets.MS);

    /** The labels of a counter of decisions. */
    public record Kind(String policy, Outcome outcome, Reason reason) {}

    /** The labels of a counter of evaluated policies. */
    public record Evaluation(String policy, Outcome result) {}

    /** The labels of a counter of messages between lease holders and ledgers. */
    public record Leasing(String policy, LeaseMessage message) {}

    /** The kinds of messages between lease holders and ledgers. */
    public enum LeaseMessage {
        REQUESTED,
        ASKED,
        REPORTED,
        GRANTED,
        REFUSED,
        ANSWERED;

        public static LeaseMessage of(LeaseRequest request) {
            return request.requestsLease() ? REQUESTED : request.isCheck() || request.isRenewal() ? ASKED : REPORTED;
        }

        public static LeaseMessage of(LeaseResponse response) {
            return response instanceof LeaseResponse.Granted
                    ? GRANTED
                    : response instanceof LeaseResponse.Refused ? REFUSED : ANSWERED;
        }
    }

    /** The labels of a counter of requests that lack a key field of a policy. */
    public record KeyField(String policy, String field) {}

    /** The labels of a counter of attempts that have ended. */
    public record EndedAttempt(String queue, AttemptEnd result) {}

    /** The labels of a histogram of releases. */
    public record Line(String queue, String tier) {}

    /** Sets how many reservations a partition stores, as of its last commit. */
    public void reservations(int partition, long stored) {
        reservations.put(partition, stored);
    }

    /** Records that this process has closed a partition. */
    public void reservationsClosed(int partition) {
        reservations.remove(partition);
    }

    /** Returns how many reservations each open partition stores. */
    public Map<Integer, Long> reservations() {
        return Map.copyOf(reservations);
    }

    public void decided(Decision decision) {
        String policy = decision.policyId() == null ? NONE : decision.policyId();
        Kind kind = new Kind(policy, decision.outcome(), decision.reason());
        of(decisions, kind, k -> new Kind(OTHER, k.outcome, k.reason), k -> new LongAdder())
                .increment();
        if (decision.policyId() == null) {
            evaluated(NONE, decision.outcome());
        }
        if (!decision.repeated()) {
            decision.observedBy().forEach(id -> of(observed, id, p -> OTHER, p -> new LongAdder())
                    .increment());
        }
        recent.add(decision.client());
        if (LimitedRequest.isLimited(decision)) {
            limited.add(new LimitedRequest(decision.client(), policy, decision.reason()));
        }
        if (decision.outcome() == Outcome.QUEUED && !decision.repeated()) {
            of(queued, decision.queueing().queue(), q -> OTHER, q -> new LongAdder())
                    .increment();
        }
    }

    /** Counts a decision of a queue, which is also the result of the policy that refers to the queue. */
    public void decidedByQueue(Decision decision) {
        decided(decision);
        if (decision.policyId() != null) {
            evaluated(decision.policyId(), decision.outcome());
        }
    }

    /** Counts the result of a policy. {@link #decidedByQueue} counts requests that are sent to a queue. */
    @Override
    public void evaluated(Policy policy, Outcome result) {
        if (result != Outcome.QUEUED) {
            evaluated(policy.id(), result);
        }
    }

    @Override
    public void keyFieldMissing(Policy policy, String field) {
        of(keyFieldsMissing, new KeyField(policy.id(), field), k -> new KeyField(OTHER, OTHER), k -> new LongAdder())
                .increment();
    }

    public void evaluated(String policy, Outcome result) {
        of(evaluations, new Evaluation(policy, result), e -> new Evaluation(OTHER, e.result), e -> new LongAdder())
                .increment();
    }

    /** @param latencyMs the time since the timestamp of the request's record */
    public void answered(long latencyMs) {
        latenciesMs.add(Math.max(0, latencyMs));
    }

    /** Counts a request that waits for a lease of a policy's shared limit. */
    public void waits(String policy) {
        of(waitedForQuota, policy, p -> OTHER, p -> new LongAdder()).increment();
    }

    public void sent(Leasing message) {
        of(leasing, message, m -> new Leasing(OTHER, m.message), m -> new LongAdder())
                .increment();
    }

    public void rejected(Rejection rejection) {
        deadLetters.computeIfAbsent(rejection, r -> new LongAdder()).increment();
    }

    /** Counts a request that was not in the partition of its client. */
    public void misplaced() {
        misplaced.increment();
    }

    /** Counts a decision without a reply, because its request selected a partition that does not exist. */
    public void replyIgnored() {
        repliesIgnored.increment();
    }

    /**
     * Counts a release. Further attempts of a request do not count as released, since the request counts once. Its wait
     * begins at its {@code notBefore}, if it has one.
     *
     * @param rules the rules of the queue, null if it was deleted
     */
    public void released(Request request, Release release, QueueRules rules, long nowMs) {
        if (!release.isRetry()) {
            of(released, release.queue(), q -> OTHER, q -> new LongAdder()).increment();
            waitsMs(new Line(release.queue(), tierLabel(release, rules))).add(waitMs(request, release));
        }
        latenessMs.add(Math.max(0, nowMs - release.releaseAtNanos() / NANOS_PER_MS));
    }

    private static long waitMs(Request request, Release release) {
        Long notBeforeMs = request.notBeforeMs();
        return notBeforeMs == null || notBeforeMs <= release.enqueuedAtMs()
                ? release.waitMs()
                : release.toBuilder().enqueuedAtMs(notBeforeMs).build().waitMs();
    }

    /** Counts an attempt of a queue that has ended. */
    public void attemptEnded(String queue, AttemptEnd result) {
        of(attempts, new EndedAttempt(queue, result), a -> new EndedAttempt(OTHER, a.result), a -> new LongAdder())
                .increment();
    }

    private String tierLabel(Release release, QueueRules rules) {
        String tier = release.tier();
        return tier == null
                ? NONE
                : rules == null ? knownTier(release.queue(), tier) : rules.namesTier(tier) ? tier : OTHER;
    }

    /** Returns the label of a tier of a deleted queue: its name if that was a label before. */
    private String knownTier(String queue, String tier) {
        return waitsMs.containsKey(new Line(queue, tier)) ? tier : OTHER;
    }

    /**
     * Returns the histogram of a tier of a queue. Once there are {@link #MOST} histograms, further tiers share one per
     * queue; once there are twice as many, further queues share one. So the tiers of one queue hide no other queue.
     */
    private Histogram waitsMs(Line line) {
        Histogram found = waitsMs.get(line);
        if (found != null || waitsMs.size() < MOST) {
            return found != null ? found : waitsMs.computeIfAbsent(line, l -> new Histogram(WAITS_MS));
        }
        Line ofQueue = new Line(line.queue, OTHER);
        boolean isCounted = waitsMs.containsKey(ofQueue) || waitsMs.size() < 2 * MOST;
        return waitsMs.computeIfAbsent(isCounted ? ofQueue : new Line(OTHER, OTHER), l -> new Histogram(WAITS_MS));
    }

    private static <K, V> V of(Map<K, V> counted, K key, UnaryOperator<K> other, Function<K, V> make) {
        V found = counted.get(key);
        return found != null ? found : counted.computeIfAbsent(counted.size() < MOST ? key : other.apply(key), make);
    }

    /** Returns the number of decisions by policy, outcome and reason. */
    public Map<Kind, Long> decisions() {
        return read(decisions);
    }

    /**
     * Returns the number of evaluations by policy and result. A request counts for each policy that was evaluated, not
     * only for the one that its decision names. {@code EXPIRED} requests count as {@code QUEUED} too.
     */
    public Map<Evaluation, Long> evaluations() {
        return read(evaluations);
    }

    /** Returns the number of allowed and queued requests that a policy which only observes would have denied, by policy. */
    public Map<String, Long> observed() {
        return read(observed);
    }

    /** Returns the age of the requests' records when they were decided, in milliseconds. */
    public Histogram.Reading latenciesMs() {
        return latenciesMs.read();
    }

    /** Returns the number of dead letters by reason. */
    public Map<Rejection, Long> deadLetters() {
        return read(deadLetters);
    }

    /** Returns the number of requests that were not in the partition of their client. */
    public long misplacedRequests() {
        return misplaced.sum();
    }

    /** Returns the number of decisions without a reply, because their requests selected a partition that does not exist. */
    public long repliesIgnored() {
        return repliesIgnored.sum();
    }

    /** Returns the number of requests that each queue has admitted. */
    public Map<String, Long> queued() {
        return read(queued);
    }

    /** Returns the number of requests that each queue has released. */
    public Map<String, Long> released() {
        return read(released);
    }

    /** Returns the number of attempts that have ended, by queue and result. */
    public Map<EndedAttempt, Long> attempts() {
        return read(attempts);
    }

    /** Returns the number of requests that waited for a lease, by policy. */
    public Map<String, Long> waitedForQuota() {
        return read(waitedForQuota);
    }

    /** Returns the number of messages between lease holders and ledgers. */
    public Map<Leasing, Long> leasing() {
        return read(leasing);
    }

    /** Returns the number of requests that lacked a key field of a policy that applied. */
    public Map<KeyField, Long> keyFieldsMissing() {
        return read(keyFieldsMissing);
    }

    /** Returns the most recent limited requests. */
    public RecentRing<LimitedRequest> limited() {
        return limited;
    }

    /** Returns the clients of the most recent decisions. */
    public RecentRing<String> recent() {
        return recent;
    }

    /** Returns how long released requests had waited in their queue, in milliseconds. */
    public Map<Line, Histogram.Reading> waitsMs() {
        Map<Line, Histogram.Reading> read = new HashMap<>();
        waitsMs.forEach((line, spread) -> read.put(line, spread.read()));
        return read;
    }

    /** Returns how long after their {@code releaseAt} releases were written, in milliseconds; 0 if not after it. */
    public Histogram.Reading latenessMs() {
        return latenessMs.read();
    }

    private static <K> Map<K, Long> read(Map<K, LongAdder> counted) {
        Map<K, Long> read = new HashMap<>();
        counted.forEach((key, count) -> read.put(key, count.sum()));
        return read;
    }
}
