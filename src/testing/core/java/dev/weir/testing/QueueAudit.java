package dev.weir.testing;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.OutflowPace;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.rules.TotalRate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Checks the committed records of queues against what queues guarantee. Each check returns the faults that it finds.
 *
 * <p>Requests of a client that may wait at the same time must have different ids. Only a {@link RequestKind#CANCEL} has
 * the id of another request.
 */
public final class QueueAudit {

    /** The tolerance for the rounding of slots. */
    private static final long ROUNDED_NANOS = 1;

    private static final long NANOS_PER_MS = 1_000_000;

    private record Id(String client, String requestId) {}

    private record Flow(String client, String tier, int partition) {}

    private final List<Request> requests;
    private final List<Release> releases;
    private final Map<Request.Source, List<Decision>> decisions = new LinkedHashMap<>();
    private final Map<Id, Request> requestById = new HashMap<>();
    private final Map<Id, List<Release>> releasesById = new LinkedHashMap<>();
    private final AttemptAudit attempts;

    /** The releases of each bucket in the order in which they left. */
    private final Map<BucketId, List<Release>> releasesByBucket = new TreeMap<>();

    /**
     * Creates an audit of all committed records, with those of each client in the order of their topic.
     *
     * @param requests requests with the {@link Request.Source} from which they were read
     */
    public QueueAudit(List<Request> requests, List<Decision> decisions, List<Release> releases) {
        this.requests = List.copyOf(requests);
        this.releases = List.copyOf(releases);
        for (Request request : requests) {
            if (request.kind() == RequestKind.CONSUME) {
                requestById.put(new Id(request.client(), request.requestId()), request);
            }
        }
        for (Decision decision : decisions) {
            this.decisions
                    .computeIfAbsent(decision.source(), source -> new ArrayList<>())
                    .add(decision);
        }
        for (Release release : releases) {
            releasesById.computeIfAbsent(id(release), id -> new ArrayList<>()).add(release);
            releasesByBucket
                    .computeIfAbsent(BucketId.of(release.queue(), release.key()), bucket -> new ArrayList<>())
                    .add(release);
        }
        releasesByBucket.forEach((bucket, left) -> left.sort(orderOf(bucket)));
        attempts = new AttemptAudit(requests, decisions, releases);
    }

    /** The order of a bucket's releases. The sequence of a key starts again at 1 after the key was idle. */
    private static Comparator<Release> orderOf(BucketId bucket) {
        return bucket.key().isEmpty()
                ? Comparator.comparingLong(Release::sequence)
                : Comparator.comparingLong(Release::releaseAtNanos).thenComparingLong(Release::sequence);
    }

    /** Returns the number of releases. */
    public int released() {
        return releases.size();
    }

    /** Returns the number of requests without a decision. */
    public long unanswered() {
        return requests.stream()
                .filter(request -> !decisions.containsKey(request.source()))
                .count();
    }

    /** Returns the number of requests that were queued and have not ended: they wait, or are being processed. */
    public long waiting() {
        return requests.stream()
                .filter(request -> isQueued(request) && ends(request).isEmpty())
                .count();
    }

    /** Returns the number of decisions with a reason. */
    public long decided(Reason reason) {
        return decisions.values().stream()
                .flatMap(List::stream)
                .filter(decision -> decision.reason() == reason)
                .count();
    }

    /**
     * Returns the faults of all checks.
     *
     * @param rules the rules of the queues, which must have been in force all the time
     */
    public List<String> faults(Collection<QueueRules> rules) {
        List<String> faults = new ArrayList<>();
        faults.addAll(answers());
        faults.addAll(withdrawals());
        faults.addAll(contents());
        faults.addAll(sequences());
        faults.addAll(order());
        faults.addAll(acknowledgements());
        for (QueueRules queue : rules) {
            faults.addAll(attempts(queue));
            faults.addAll(pace(queue));
            faults.addAll(total(queue));
            faults.addAll(expiries(queue));
            faults.addAll(priorities(queue));
        }
        return faults;
    }

    /**
     * Checks that each request has one decision; that each queued request has one end, and other requests have none;
     * and that no decision or release is without a request. A release ends its request if the queue expects no
     * acknowledgement, otherwise a successful COMPLETE does.
     */
    public List<String> answers() {
        List<String> faults = new ArrayList<>();
        Map<Request.Source, List<Decision>> strange = new LinkedHashMap<>(decisions);
        Map<Id, List<Release>> unasked = new LinkedHashMap<>(releasesById);
        for (Request request : requests) {
            List<Decision> answers = strange.remove(request.source());
            if (request.kind() == RequestKind.CONSUME) {
                unasked.remove(id(request));
            }
            if (answers == null) {
                faults.add(name(request) + " has no decision");
                continue;
            }
            if (answers.get(0).endsWait()) {
                faults.add(name(request) + " got " + reported(answers.get(0)) + " first");
            }
            for (Decision later : answers.subList(1, answers.size())) {
                if (!later.endsWait()) {
                    faults.add(name(request) + " got " + reported(later) + " after " + reported(answers.get(0)));
                }
            }
            List<String> ends = ends(request);
            if (ends.size() != (isQueued(request) ? 1 : 0)) {
                faults.add(name(request) + " got " + reported(answers.get(0)) + " and ended with " + ends);
            }
        }
        strange.forEach((source, answers) -> faults.add("no request at " + source + " for the decisions " + answers));
        unasked.forEach((id, left) -> faults.add("no request for the releases " + left));
        return faults;
    }

    /** Checks that queues cancelled as many requests as CANCEL requests succeeded. */
    public List<String> withdrawals() {
        Map<Id, Integer> balance = new LinkedHashMap<>();
        for (List<Decision> answers : decisions.values()) {
            for (Decision decision : answers) {
                if (decision.reason() == Reason.CANCELLED && decision.queueing() != null) {
                    Id id = new Id(decision.client(), decision.requestId());
                    balance.merge(id, decision.outcome() == Outcome.ALLOWED ? 1 : -1, Integer::sum);
                }
            }
        }
        List<String> faults = new ArrayList<>();
        balance.forEach((id, more) -> {
            if (more != 0) {
                faults.add(id.requestId
                        + (more > 0 ? " was not cancelled by its CANCEL" : " was cancelled without a CANCEL"));
            }
        });
        return faults;
    }

    /** Checks that each acknowledgement that changed something names an attempt, and that no attempt ended twice. */
    public List<String> acknowledgements() {
        return attempts.acknowledgements();
    }

    /**
     * Checks that the attempts of each request are released once each and one after the other, as long as
     * {@code max-attempts} and the backoff permit it, and that the slots of each bucket and of the total suffice, by queue
     * time. It must not have been set back, and it must be the same on all partitions of a queue whose total has slots.
     *
     * @param rules the rules of the queue, which must have been in force all the time
     */
    public List<String> attempts(QueueRules rules) {
        return attempts(rules, 0);
    }

    /**
     * Like {@link #attempts(QueueRules)}, for partitions whose queue times differ.
     *
     * @param differenceMs the largest difference between the queue times of two partitions
     */
    public List<String> attempts(QueueRules rules, long differenceMs) {
        if (rules.inFlight() == null) {
            return List.of();
        }
        List<String> faults = new ArrayList<>();
        releasesById.forEach((id, released) -> {
            List<Release> ofQueue = released.stream()
                    .filter(release -> release.queue().equals(rules.id()))
                    .toList();
            Request request = requestById.get(id);
            if (request != null && !ofQueue.isEmpty()) {
                List<Decision> ends = decisions.getOrDefault(request.source(), List.of()).stream()
                        .filter(Decision::endsWait)
                        .toList();
                faults.addAll(attempts.attempts(ofQueue, ends, rules));
            }
        });
        bucketsOf(rules).forEach(bucket -> faults.addAll(attempts.inFlight(bucket, rules.inFlight())));
        if (rules.total() != null && rules.total().inFlight().isPresent()) {
            List<Release> all = bucketsOf(rules).flatMap(List::stream).toList();
            long most = rules.total().inFlight().getAsLong();
            faults.addAll(attempts.inFlight(all, rules.inFlight(), most, differenceMs));
        }
        return faults;
    }

    /** Checks that each release has the contents of its request and the queue of its decision. */
    public List<String> contents() {
        List<String> faults = new ArrayList<>();
        for (Release release : releases) {
            Request request = requestById.get(id(release));
            if (request == null) {
                continue;
            }
            if (!Objects.equals(release.tier(), request.tier())
                    || release.cost() != request.cost()
                    || !release.attributes().equals(request.attributes())
                    || !Arrays.equals(release.payload(), request.payload())) {
                faults.add(name(release) + " differs from its request");
            }
            if (isQueued(request)
                    && !release.queue().equals(first(request).queueing().queue())) {
                faults.add(name(release) + " was queued in "
                        + first(request).queueing().queue());
            }
        }
        return faults;
    }

    /**
     * Checks that the releases of a bucket are numbered from 1 without gaps and duplicates, in the order of their times
     * and, for each client, in that of the topic. The numbers of a key may start again at 1.
     */
    public List<String> sequences() {
        List<String> faults = new ArrayList<>();
        releasesByBucket.forEach((bucket, left) -> {
            long lastNanos = Long.MIN_VALUE;
            long last = 0;
            for (Release release : left) {
                boolean beginsAnew = !bucket.key().isEmpty() && release.sequence() == 1;
                if (release.sequence() != last + 1 && !beginsAnew) {
                    faults.add(name(release) + " should have sequence " + (last + 1));
                    return;
                }
                if (release.releaseAtNanos() < lastNanos) {
                    faults.add(name(release) + " is earlier than its predecessor");
                }
                last = release.sequence();
                lastNanos = release.releaseAtNanos();
            }
        });
        Map<List<Object>, Release> last = new HashMap<>();
        for (Release release : releases) {
            Release before = last.put(List.of(release.queue(), release.key(), release.client()), release);
            if (before != null
                    && orderOf(BucketId.of(release.queue(), release.key())).compare(before, release) > 0) {
                faults.add(name(release) + " was written after " + name(before));
            }
        }
        return faults;
    }

    /**
     * Checks that the requests of one client, tier and partition first leave in the order of their offsets, and those that
     * had to wait for their time as if they had arrived then.
     */
    public List<String> order() {
        List<String> faults = new ArrayList<>();
        for (List<Release> queue : releasesByBucket.values()) {
            Map<Flow, Request> last = new HashMap<>();
            for (Release release : queue) {
                Request request = requestById.get(id(release));
                if (request == null || release.isRetry()) {
                    continue;
                }
                Request before = last.put(
                        new Flow(
                                request.client(),
                                request.tier(),
                                request.source().partition()),
                        request);
                if (before != null && arrivedBefore(request, before)) {
                    faults.add(name(release) + " is released after " + name(before) + ", which has a later offset");
                }
            }
        }
        return faults;
    }

    /** Returns whether a request had to wait for its time when it was queued. */
    private boolean wasEarly(Request request) {
        return request.notBeforeMs() != null
                && isQueued(request)
                && request.notBeforeMs() > first(request).decidedAtMs();
    }

    private boolean arrivedBefore(Request one, Request other) {
        if (!wasEarly(one) && !wasEarly(other)) {
            return one.source().offset() < other.source().offset();
        }
        long sinceMs = sinceMs(one);
        long otherSinceMs = sinceMs(other);
        boolean isOrdered = wasEarly(one) && wasEarly(other); // by offset if they waited for the same time
        return sinceMs < otherSinceMs
                || isOrdered
                        && sinceMs == otherSinceMs
                        && one.source().offset() < other.source().offset();
    }

    /** Returns since when a queued request waited for its turn. */
    private long sinceMs(Request request) {
        return wasEarly(request) ? request.notBeforeMs() : first(request).decidedAtMs();
    }

    /**
     * Checks that each bucket of a queue keeps its rate.
     *
     * @param rules the rules of the queue, which must have been in force all the time
     * @see OutflowPace
     */
    public List<String> pace(QueueRules rules) {
        if (!rules.hasRate()) {
            return List.of();
        }
        List<String> faults = new ArrayList<>();
        bucketsOf(rules).forEach(bucket -> pace(rules.limit(), rules.perMs(), rules.burst(), 0, bucket)
                .forEach(faults::add));
        return faults;
    }

    /**
     * Checks that all buckets of a queue together keep its total rate, whatever their partitions.
     *
     * @param rules the rules of the queue, which must have been in force all the time
     */
    public List<String> total(QueueRules rules) {
        if (rules.total() == null || rules.total().rate().isEmpty()) {
            return List.of();
        }
        TotalRate rate = rules.total().rate().get();
        List<Release> all = bucketsOf(rules)
                .flatMap(List::stream)
                .sorted(Comparator.comparingLong(Release::releaseAtNanos))
                .toList();
        return pace(rate.limit(), rate.perMs(), 1, ROUNDED_NANOS, all);
    }

    private static List<String> pace(long limit, long perMs, long burst, long toleranceNanos, List<Release> queue) {
        List<String> faults = new ArrayList<>();
        OutflowPace pace = new OutflowPace(perMs, burst);
        for (Release release : queue) {
            long earlyNanos = pace.earlyNanos(limit, release.releaseAtNanos(), release.cost());
            if (earlyNanos > toleranceNanos) {
                faults.add(name(release) + " is released " + earlyNanos + " ns too early");
            }
        }
        return faults;
    }

    /**
     * Checks that no request is released before it was queued or may start, or after it expired, and that requests with a deadline
     * expire at it at the latest. A retry waits without {@code max-wait}.
     */
    public List<String> expiries(QueueRules rules) {
        List<String> faults = new ArrayList<>();
        for (Release release : bucketsOf(rules).flatMap(List::stream).toList()) {
            Request request = requestById.get(id(release));
            Long deadlineMs = request == null ? null : request.deadlineMs();
            Long notBeforeMs = request == null ? null : request.notBeforeMs();
            long sinceMs = notBeforeMs == null ? release.enqueuedAtMs() : Math.max(release.enqueuedAtMs(), notBeforeMs);
            if (release.releaseAtNanos() < release.enqueuedAtMs() * NANOS_PER_MS) {
                faults.add(name(release) + " is released before it was queued");
            } else if (release.releaseAtNanos() < sinceMs * NANOS_PER_MS) {
                faults.add(name(release) + " is released before " + sinceMs + ", its notBefore");
            }
            if (!release.isRetry()
                    && rules.maxWaitMs() != QueueRules.NO_MAX_WAIT
                    && release.releaseAtNanos() > (sinceMs + rules.maxWaitMs()) * NANOS_PER_MS) {
                faults.add(name(release) + " is released after max-wait");
            }
            if (deadlineMs != null && release.releaseAtNanos() > deadlineMs * NANOS_PER_MS) {
                faults.add(name(release) + " is released after its deadline");
            }
        }
        for (Request request : requests) {
            for (Decision decision : decisions.getOrDefault(request.source(), List.of())) {
                if (decision.outcome() != Outcome.EXPIRED
                        || !decision.queueing().queue().equals(rules.id())) {
                    continue;
                }
                boolean byDeadline = "deadline".equals(decision.limitedBy());
                Long deadlineMs = request.deadlineMs();
                boolean isLate = deadlineMs != null && decision.decidedAtMs() > deadlineMs;
                boolean isOnTime = deadlineMs != null && decision.decidedAtMs() == deadlineMs;
                if (isLate || (byDeadline && !isOnTime)) {
                    faults.add(name(request) + " expired at " + decision.decidedAtMs() + " by " + decision.limitedBy()
                            + ", its deadline is " + deadlineMs);
                }
            }
        }
        return faults;
    }

    /**
     * Checks that no request is released while one of a higher priority waits that leaves later. A request certainly
     * waits if its QUEUED decision is earlier than the time at which the other release could first be written, provided
     * that there is a single clock that is never set back. Retries are not compared: no record says when they are due. Nor
     * are queues whose tiers or clients have slots of their own, since those without do not delay others, and tiers with a
     * {@code min-share}, which leave before higher priorities.
     *
     * @param rules the rules of the queue, which must have been in force all the time
     */
    public List<String> priorities(QueueRules rules) {
        if (rules.inFlight() != null && !rules.inFlight().caps().isEmpty()) {
            return List.of();
        }
        List<String> faults = new ArrayList<>();
        bucketsOf(rules).forEach(bucket -> priorities(rules, bucket, faults));
        return faults;
    }

    private void priorities(QueueRules rules, List<Release> queue, List<String> faults) {
        TreeMap<Integer, Long> queuedAtMs = new TreeMap<>(); // by priority, the earliest of those that leave later
        for (int i = queue.size() - 1; i >= 0; i--) {
            Release release = queue.get(i);
            Request request = requestById.get(id(release));
            if (request == null || !isQueued(request) || release.isRetry()) {
                continue;
            }
            TierShare share = rules.share(release.tier() == null ? "" : release.tier());
            long writtenNanos = release.releaseAtNanos() - rules.lookAheadMs() * NANOS_PER_MS;
            for (long higherMs : queuedAtMs.tailMap(share.priority(), false).values()) {
                if (share.minPercent() == 0 && higherMs * NANOS_PER_MS < writtenNanos) {
                    faults.add(name(release) + " is released while a higher priority waits since " + higherMs);
                }
            }
            queuedAtMs.merge(share.priority(), sinceMs(request), Math::min);
        }
    }

    private Stream<List<Release>> bucketsOf(QueueRules rules) {
        return releasesByBucket.entrySet().stream()
                .filter(bucket -> bucket.getKey().queue().equals(rules.id()))
                .map(Map.Entry::getValue);
    }

    private Decision first(Request request) {
        return decisions.get(request.source()).get(0);
    }

    private boolean isQueued(Request request) {
        return request.kind() == RequestKind.CONSUME
                && decisions.containsKey(request.source())
                && first(request).outcome() == Outcome.QUEUED;
    }

    private List<String> ends(Request request) {
        List<String> ends = new ArrayList<>();
        for (Decision decision : decisions.getOrDefault(request.source(), List.of())) {
            if (decision.endsWait()) {
                ends.add(reported(decision));
            }
        }
        if (request.kind() == RequestKind.CONSUME) {
            for (Release release : releasesById.getOrDefault(id(request), List.of())) {
                if (release.attempt() == null) {
                    ends.add("released");
                } else if (attempts.isDone(release)) {
                    ends.add("done");
                }
            }
        }
        return ends;
    }

    private static Id id(Request request) {
        return new Id(request.client(), request.requestId());
    }

    private static Id id(Release release) {
        return new Id(release.client(), release.requestId());
    }

    private static String name(Request request) {
        return (request.kind() == RequestKind.CONSUME ? "" : request.kind() + " ") + request.requestId();
    }

    static String name(Release release) {
        return release.queue() + (release.key().isEmpty() ? "" : release.key()) + "#" + release.sequence() + " ("
                + release.requestId() + ")";
    }

    private static String reported(Decision decision) {
        return decision.outcome() + " " + decision.reason();
    }
}
