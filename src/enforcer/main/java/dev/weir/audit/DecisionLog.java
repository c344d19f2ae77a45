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
import dev.weir.wire.UnreadableException;
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
 * The decisions on the requests of one task, read some way ahead of the requests; releases, read up to the time of
 * those; and dead letters by their request.
 *
 * <pre>
 *   requests   17   18   19   20 …
 *   decisions  17  3@7   19   18   16   20 …      18 has waited for shared quota; 3@7 was routed from partition 3; 16 is by a queue
 *                                   └ read so far ahead of the requests
 * </pre>
 */
// What was decided before a request has to be known when that request is taken. The decisions on limits of a task are
// in their order here,
// but what is sent to a queue shows its position only when the queue answers. So the log is read AHEAD; what is
// answered later than that
// has no known position.
final class DecisionLog {

    /** So many decisions are kept at once. */
    private static final int MAX_BUFFERED = 50_000;

    /**
     * A decision.
     *
     * @param decision without its context
     * @param context when and by which policies it was decided, as it says
     */
    record LoggedDecision(Decision decision, DecisionContext context, RecordPosition place, long timestampMs) {
        boolean isByQueue() {
            return decision.queueing() != null;
        }

        Request.Source source() {
            return decision.source();
        }

        /** Null if it was decided in the order of its own offset. */
        DecisionOrder order() {
            return context.order();
        }
    }

    /** What left a queue, and the time of that record, ms since the epoch. */
    record LoggedRelease(Release release, RecordPosition place, long timestampMs) {}

    /** Takes the decisions that are on no request to come of the task's own partition. */
    interface DecisionListener {

        /** Of a request of another partition. */
        void routed(LoggedDecision told);

        /** Of a request that came before. */
        void late(LoggedDecision told);

        /** How many of these it keeps. */
        int size();
    }

    private final AuditContext tools;
    private final AuditScope scope;
    private final DecisionVerifier verdicts;
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

    DecisionLog(AuditContext tools, AuditScope scope, PartitionRecords records, DecisionVerifier verdicts) {
        this.tools = tools;
        this.scope = scope;
        this.verdicts = verdicts;
        decisions = records.decisions();
        releases = records.releases();
        deadLetters = new TreeMap<>(records.deadLetters(scope.partition()));
    }

    /** Takes note of the first request that is read: what is about those before is passed over. */
    void begin(ConsumerRecord<byte[], byte[]> first) {
        firstRequest = first.offset();
        knownFromMs = scope.hasAllRequests() ? knownFromMs : Math.max(knownFromMs, first.timestamp());
    }

    /**
     * Reads on, and hands out what is not about requests from an offset on. Returns whether it stopped since too much
     * is kept.
     */
    boolean readAhead(long offset, DecisionListener listener) {
        while (!buffered.isEmpty() && buffered.firstKey() < offset) {
            List<LoggedDecision> some = buffered.pollFirstEntry().getValue();
            bufferedCount -= some.size();
            some.stream().filter(this::isOnRead).forEach(listener::late);
        }
        while (bufferedCount < MAX_BUFFERED && listener.size() < MAX_BUFFERED && decisions.hasNext()) {
            LoggedDecision told = read(decisions.next());
            if (told == null) {
                continue;
            }
            if (told.source().partition() != scope.partition()) {
                listener.routed(told);
            } else if (told.source().offset() >= offset) {
                buffered.computeIfAbsent(told.source().offset(), any -> new ArrayList<>(1))
                        .add(told);
                bufferedCount++;
            } else if (isOnRead(told)) {
                listener.late(told);
            }
        }
        return decisions.hasNext() && listener.size() >= MAX_BUFFERED;
    }

    private boolean isOnRead(LoggedDecision told) {
        return firstRequest >= 0
                && told.source().offset() >= firstRequest
                && told.source().offset() < readTo;
    }

    /** Null if it has no place here. */
    private LoggedDecision read(ConsumerRecord<byte[], byte[]> record) {
        RecordPosition place = new RecordPosition(AuditedTopic.DECISIONS, record.partition(), record.offset());
        Decision decision;
        try {
            decision = tools.decisions().decode(record.value());
        } catch (UnreadableException e) {
            verdicts.reportUnreadable(record, place, e);
            return null;
        }
        LoggedDecision told = new LoggedDecision(
                decision.withContext(DecisionContext.UNKNOWN), decision.context(), place, record.timestamp());
        Request.Source source = told.source();
        boolean isRouted = source.partition() != scope.partition();
        if (!scope.mayContain(source) || (isRouted && told.order() == null)) {
            String note = isRouted ? "its request is on another partition" : null;
            verdicts.report(DecisionVerifier.mismatch(Kind.NO_REQUEST, told, note), told.timestampMs);
            return null;
        }
        verdicts.addDecision(source);
        if (readToMs == Long.MIN_VALUE && !scope.hasAllDecisions()) {
            knownFromMs = Math.max(knownFromMs, record.timestamp());
        }
        readToMs = Math.max(readToMs, record.timestamp());
        if (!told.isByQueue()) {
            firstDecided.merge(source.partition(), source.offset(), Math::min);
            lastDecided = isRouted ? lastDecided : Math.max(lastDecided, source.offset());
        }
        return told;
    }

    /** Takes the decisions on a request, of those that are read ahead. */
    List<LoggedDecision> takeDecisions(long offset) {
        readTo = offset + 1;
        List<LoggedDecision> told = buffered.containsKey(offset) ? buffered.remove(offset) : List.of();
        bufferedCount -= told.size();
        return told;
    }

    /** Takes the dead letters of a request. */
    List<AuditedDeadLetter> takeDeadLetters(long offset) {
        return deadLetters.containsKey(offset) ? deadLetters.remove(offset) : List.of();
    }

    /** Hands out the releases up to the time of the decisions that are read. */
    void readReleases(Consumer<LoggedRelease> each) {
        readReleases(readToMs, each);
    }

    /** Hands out the releases that are left. */
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
            release = tools.releases().decode(record.value());
        } catch (UnreadableException e) {
            verdicts.reportUnreadable(record, place, e);
            return;
        }
        if (release.enqueuedAtMs() < knownFromMs) { // its request, or the answer to that, may have been deleted
            verdicts.addUnmatchedRelease(record.timestamp());
        } else {
            each.accept(new LoggedRelease(release, place, record.timestamp()));
        }
    }

    /** Up to when decisions are read, ms since the epoch; the least if none is. */
    long readToMs() {
        return readToMs;
    }

    /** Whether a request's decision may have been there, and deleted. */
    boolean mayBeDeleted(Request.Source source) {
        return !scope.hasAllDecisions()
                && source.offset() < firstDecided.getOrDefault(source.partition(), Long.MAX_VALUE);
    }

    /** Whether the instances have come past a request. */
    boolean isDue(Request.Source source) {
        if (source.partition() != scope.partition()) {
            return scope.bounds(source.partition()).isDecided(source.offset()) && scope.isRoutedDone(scope.partition());
        }
        Long lastDead = deadLetters.lowerKey(scope.end());
        Long decidedTo = scope.bounds(source.partition()).decidedTo();
        return source.offset()
                < (decidedTo != null ? decidedTo : Math.max(lastDecided, lastDead == null ? -1 : lastDead));
    }

    /** Tells the dead letters on no request that was read. */
    void reportUnmatched() {
        deadLetters.forEach((offset, letters) -> letters.forEach(letter -> unasked(offset, letter)));
    }

    private void unasked(long offset, AuditedDeadLetter letter) {
        Mismatch unasked = DecisionVerifier.unasked(new Request.Source(scope.partition(), offset), letter, null);
        if (offset < 0 || offset >= scope.end()) {
            verdicts.report(unasked, letter.timestampMs());
        } else if (firstRequest >= 0 && offset >= firstRequest) {
            verdicts.report(unasked);
        }
    }
}
