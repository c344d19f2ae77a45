package dev.weir.audit;

import dev.weir.audit.Mismatch.Kind;
import dev.weir.audit.Mismatch.Place;
import dev.weir.audit.Mismatch.Topic;
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
 * The decisions on the requests of one task, read some way ahead of the requests; releases, read up to the time of those; and dead letters
 * by their request.
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
    private static final int AHEAD = 50_000;

    /**
     * A decision.
     *
     * @param decision without its context
     * @param context when and by which policies it was decided, as it says
     */
    record Told(Decision decision, DecisionContext context, Place place, long timestampMs) {
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
    record Left(Release release, Place place, long timestampMs) {}

    /** Takes the decisions that are on no request to come of the task's own partition. */
    interface Listener {

        /** Of a request of another partition. */
        void routed(Told told);

        /** Of a request that came before. */
        void late(Told told);

        /** How many of these it keeps. */
        int kept();
    }

    private final AuditContext tools;
    private final AuditScope scope;
    private final DecisionVerifier verdicts;
    private final Iterator<ConsumerRecord<byte[], byte[]>> decisions;
    private final Iterator<ConsumerRecord<byte[], byte[]>> releases;
    private final NavigableMap<Long, List<AuditedDeadLetter>> deadLetters;
    private final NavigableMap<Long, List<Told>> ahead = new TreeMap<>();
    private final Map<Integer, Long> firstDecided = new HashMap<>(); // by partition of the request
    private int aheadCount;
    private ConsumerRecord<byte[], byte[]> nextRelease;
    private long knownFromMs = Long.MIN_VALUE;
    private long firstRequest = -1;
    private long readTo;
    private long lastDecided = -1;
    private long readMs = Long.MIN_VALUE;

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
        knownFromMs = scope.requestsWhole() ? knownFromMs : Math.max(knownFromMs, first.timestamp());
    }

    /** Reads on, and hands out what is not about requests from an offset on. Returns whether it stopped since too much is kept. */
    boolean readAhead(long offset, Listener listener) {
        while (!ahead.isEmpty() && ahead.firstKey() < offset) {
            List<Told> some = ahead.pollFirstEntry().getValue();
            aheadCount -= some.size();
            some.stream().filter(this::isOnRead).forEach(listener::late);
        }
        while (aheadCount < AHEAD && listener.kept() < AHEAD && decisions.hasNext()) {
            Told told = read(decisions.next());
            if (told == null) {
                continue;
            }
            if (told.source().partition() != scope.partition()) {
                listener.routed(told);
            } else if (told.source().offset() >= offset) {
                ahead.computeIfAbsent(told.source().offset(), any -> new ArrayList<>(1))
                        .add(told);
                aheadCount++;
            } else if (isOnRead(told)) {
                listener.late(told);
            }
        }
        return decisions.hasNext() && listener.kept() >= AHEAD;
    }

    private boolean isOnRead(Told told) {
        return firstRequest >= 0
                && told.source().offset() >= firstRequest
                && told.source().offset() < readTo;
    }

    /** Null if it has no place here. */
    private Told read(ConsumerRecord<byte[], byte[]> record) {
        Place place = new Place(Topic.DECISIONS, record.partition(), record.offset());
        Decision decision;
        try {
            decision = tools.decisions().decode(record.value());
        } catch (UnreadableException e) {
            verdicts.unreadable(record, place, e);
            return null;
        }
        Told told = new Told(decision.in(DecisionContext.UNKNOWN), decision.context(), place, record.timestamp());
        Request.Source source = told.source();
        boolean isRouted = source.partition() != scope.partition();
        if (!scope.has(source) || (isRouted && told.order() == null)) {
            String note = isRouted ? "its request is on another partition" : null;
            verdicts.report(DecisionVerifier.difference(Kind.UNASKED, told, note), told.timestampMs);
            return null;
        }
        verdicts.addDecision(source);
        if (readMs == Long.MIN_VALUE && !scope.decisionsWhole()) {
            knownFromMs = Math.max(knownFromMs, record.timestamp());
        }
        readMs = Math.max(readMs, record.timestamp());
        if (!told.isByQueue()) {
            firstDecided.merge(source.partition(), source.offset(), Math::min);
            lastDecided = isRouted ? lastDecided : Math.max(lastDecided, source.offset());
        }
        return told;
    }

    /** Takes the decisions on a request, of those that are read ahead. */
    List<Told> takeDecisions(long offset) {
        readTo = offset + 1;
        List<Told> told = ahead.containsKey(offset) ? ahead.remove(offset) : List.of();
        aheadCount -= told.size();
        return told;
    }

    /** Takes the dead letters of a request. */
    List<AuditedDeadLetter> takeDeadLetters(long offset) {
        return deadLetters.containsKey(offset) ? deadLetters.remove(offset) : List.of();
    }

    /** Hands out the releases up to the time of the decisions that are read. */
    void readReleases(Consumer<Left> each) {
        readReleases(readMs, each);
    }

    /** Hands out the releases that are left. */
    void readAllReleases(Consumer<Left> each) {
        readReleases(Long.MAX_VALUE, each);
    }

    private void readReleases(long untilMs, Consumer<Left> each) {
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

    private void release(ConsumerRecord<byte[], byte[]> record, Consumer<Left> each) {
        Place place = new Place(Topic.RELEASES, record.partition(), record.offset());
        Release release;
        try {
            release = tools.releases().decode(record.value());
        } catch (UnreadableException e) {
            verdicts.unreadable(record, place, e);
            return;
        }
        if (release.enqueuedAtMs() < knownFromMs) { // its request, or the answer to that, may have been deleted
            verdicts.unmatched(record.timestamp());
        } else {
            each.accept(new Left(release, place, record.timestamp()));
        }
    }

    /** Up to when decisions are read, ms since the epoch; the least if none is. */
    long readMs() {
        return readMs;
    }

    /** Whether a request's decision may have been there, and deleted. */
    boolean mayBeDeleted(Request.Source source) {
        return !scope.decisionsWhole()
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
    void end() {
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
