package dev.weir.audit;

import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The decisions on the requests of one task, which are read ahead of the requests; the releases, which are read up to
 * the time of the decisions; and the dead letters, by their request.
 *
 * <pre>
 *   requests   17   18   19   20 …
 *   decisions  17  3@7   19   18   16   20 …
 *                                   └ read ahead of the requests so far
 *
 *   18 waited for a lease, 3@7 was routed from partition 3, and 16 was decided by a queue.
 * </pre>
 *
 * <p>The decisions that precede a request must be known before it is replayed. The decisions on limits are in their
 * order in this log, but the position of a request that was sent to a queue is known only when the queue answers. The
 * log is therefore read ahead, by up to {@value #MAX_BUFFERED} decisions. A request that is answered later than that
 * has no known position.
 */
final class DecisionLog {

    /** The maximum number of buffered decisions. */
    private static final int MAX_BUFFERED = 50_000;

    /**
     * A decision.
     *
     * @param decision the decision without its context
     * @param context the recorded order and policies
     */
    record LoggedDecision(Decision decision, DecisionContext context, RecordPosition place, long timestampMs) {
        boolean isByQueue() {
            return decision.queueing() != null;
        }

        Request.Source source() {
            return decision.source();
        }

        /** Returns null if the request was decided in the order of its offset. */
        DecisionOrder order() {
            return context.order();
        }
    }

    /** A release, and the timestamp of its record, ms since the epoch. */
    record LoggedRelease(Release release, RecordPosition place, long timestampMs) {}

    /** Receives the decisions that do not belong to a later request of the task's own partition. */
    interface DecisionListener {

        /** Receives a decision on a request of another partition. */
        void routed(LoggedDecision recorded);

        /** Receives a decision on an earlier request. */
        void late(LoggedDecision recorded);

        /** Returns how many of these decisions are kept. */
        int size();
    }

    private final AuditContext context;
    private final AuditScope scope;
    private final DecisionVerifier verifier;
    private final Iterator<ConsumerRecord<byte[], byte[]>> decisions;
    private final Iterator<ConsumerRecord<byte[], byte[]>> releases;
    private final NavigableMap<Long, List<AuditedDeadLetter>> deadLetters;
    private final NavigableMap<Long, List<LoggedDecision>> buffered = new TreeMap<>();
    private final Map<Integer, Long> firstDecided = new HashMap<>(); // by partition of the request
    private int bufferedCount;
    private ConsumerRecord<byte[], byte[]> nextRelease;
    private long knownFromMs = Long.MIN_VALUE;
    private long firstRequest = -1;
    private long readTo;
    private long lastDecided = -1;
    private long readToMs = Long.MIN_VALUE;
    private boolean hasRead; // a decision

    DecisionLog(AuditContext context, AuditScope scope, PartitionRecords records, DecisionVerifier verifier) {
        this.context = context;
        this.scope = scope;
        this.verifier = verifier;
        decisions = records.decisions();
        releases = records.releases();
        deadLetters = new TreeMap<>(records.deadLetters(scope.partition()));
    }

    /** Sets the first request that is read. Decisions and dead letters of earlier requests are ignored. */
    void begin(ConsumerRecord<byte[], byte[]> first) {
        firstRequest = first.offset();
        knownFromMs = scope.retained().allRequests() ? knownFromMs : Math.max(knownFromMs, first.timestamp());
    }

    /**
     * Reads further decisions, and passes those on requests before an offset, or of other partitions, to the listener.
     * Returns whether it stopped because the listener keeps too many.
     */
    boolean readAhead(long offset, DecisionListener listener) {
        while (!buffered.isEmpty() && buffered.firstKey() < offset) {
            List<LoggedDecision> some = buffered.pollFirstEntry().getValue();
            bufferedCount -= some.size();
            some.stream().filter(this::isOnRead).forEach(listener::late);
        }
        while (bufferedCount < MAX_BUFFERED && listener.size() < MAX_BUFFERED && decisions.hasNext()) {
            LoggedDecision recorded = read(decisions.next());
            if (recorded == null) {
                continue;
            }
            if (recorded.source().partition() != scope.partition()) {
                listener.routed(recorded);
            } else if (recorded.source().offset() >= offset) {
                buffered.computeIfAbsent(recorded.source().offset(), any -> new ArrayList<>(1))
                        .add(recorded);
                bufferedCount++;
            } else if (isOnRead(recorded)) {
                listener.late(recorded);
            }
        }
        return decisions.hasNext() && listener.size() >= MAX_BUFFERED;
    }

    private boolean isOnRead(LoggedDecision recorded) {
        return firstRequest >= 0
                && recorded.source().offset() >= firstRequest
                && recorded.source().offset() < readTo;
    }

    /** Returns null if the decision is reported as a mismatch and must be ignored. */
    private LoggedDecision read(ConsumerRecord<byte[], byte[]> record) {
        RecordPosition place = new RecordPosition(AuditedTopic.DECISIONS, record.partition(), record.offset());
        Decision decision;
        try {
            decision = context.decisions().decode(record.value());
        } catch (UnreadableException e) {
            verifier.reportUnreadable(record, place, e);
            return null;
        }
        LoggedDecision recorded = new LoggedDecision(
                decision.withContext(DecisionContext.UNKNOWN), decision.context(), place, record.timestamp());
        Request.Source source = recorded.source();
        boolean isRouted = source.partition() != scope.partition();
        if (!scope.mayContain(source) || (isRouted && recorded.order() == null)) {
            String note = isRouted ? "its request is on another partition" : null;
            verifier.report(DecisionVerifier.mismatch(Kind.NO_REQUEST, recorded, note), recorded.timestampMs);
            return null;
        }
        verifier.addDecision(source);
        if (!hasRead && !scope.retained().allDecisions()) {
            knownFromMs = Math.max(knownFromMs, record.timestamp());
        }
        hasRead = true;
        readToMs = Math.max(readToMs, record.timestamp());
        if (!recorded.isByQueue()) {
            firstDecided.merge(source.partition(), source.offset(), Math::min);
            lastDecided = isRouted ? lastDecided : Math.max(lastDecided, source.offset());
        }
        return recorded;
    }

    /** Removes and returns the buffered decisions on a request. */
    List<LoggedDecision> takeDecisions(long offset) {
        readTo = offset + 1;
        List<LoggedDecision> recorded = buffered.containsKey(offset) ? buffered.remove(offset) : List.of();
        bufferedCount -= recorded.size();
        return recorded;
    }

    /** Removes and returns the dead letters of a request. */
    List<AuditedDeadLetter> takeDeadLetters(long offset) {
        return deadLetters.containsKey(offset) ? deadLetters.remove(offset) : List.of();
    }

    /** Passes on the releases up to the time of the decisions that have been read. */
    void readReleases(Consumer<LoggedRelease> each) {
        readReleases(readToMs, each);
    }

    /** Passes on the remaining releases. */
    void readAllReleases(Consumer<LoggedRelease> each) {
        readReleases(Long.MAX_VALUE, each);
    }

    private void readReleases(long untilMs, Consumer<LoggedRelease> each) {
        while (nextRelease != null || releases.hasNext()) {
            nextRelease = nextRelease == null ? releases.next() : nextRelease;
            if (nextRelease.timestamp() > untilMs) {
                return;
            }
            ConsumerRecord<byte[], byte[]> record = nextRelease;
            nextRelease = null;
            release(record, each);
        }
    }

    private void release(ConsumerRecord<byte[], byte[]> record, Consumer<LoggedRelease> each) {
        RecordPosition place = new RecordPosition(AuditedTopic.RELEASES, record.partition(), record.offset());
        Release release;
        try {
            release = context.releases().decode(record.value());
        } catch (UnreadableException e) {
            verifier.reportUnreadable(record, place, e);
            return;
        }
        if (release.enqueuedAtMs() < knownFromMs) { // its request or decision may have been deleted
            verifier.addUnmatchedRelease(record.timestamp());
        } else {
            each.accept(new LoggedRelease(release, place, record.timestamp()));
        }
    }

    /** Returns the time up to which decisions have been read, ms since the epoch; the minimum if none has. */
    long readToMs() {
        return readToMs;
    }

    /** Returns whether a request's decision may have been deleted. */
    boolean mayBeDeleted(Request.Source source) {
        return !scope.retained().allDecisions()
                && source.offset() < firstDecided.getOrDefault(source.partition(), Long.MAX_VALUE);
    }

    /** Returns whether the instances have processed a request. */
    boolean isDue(Request.Source source) {
        if (source.partition() != scope.partition()) {
            return scope.bounds(source.partition()).isDecided(source.offset()) && scope.isRoutedDone(scope.partition());
        }
        Long lastDead = deadLetters.lowerKey(scope.end());
        Long decidedTo = scope.bounds(source.partition()).decidedTo();
        return source.offset()
                < (decidedTo != null ? decidedTo : Math.max(lastDecided, lastDead == null ? -1 : lastDead));
    }

    /** Reports the dead letters of requests that were not read. */
    void reportUnmatched() {
        deadLetters.forEach((offset, letters) -> letters.forEach(letter -> unasked(offset, letter)));
    }

    private void unasked(long offset, AuditedDeadLetter letter) {
        Mismatch unasked = DecisionVerifier.unasked(new Request.Source(scope.partition(), offset), letter, null);
        if (offset < 0 || offset >= scope.end()) {
            verifier.report(unasked, letter.timestampMs());
        } else if (firstRequest >= 0 && offset >= firstRequest) {
            verifier.report(unasked);
        }
    }
}
