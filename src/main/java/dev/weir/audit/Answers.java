package dev.weir.audit;

import dev.weir.audit.Difference.Kind;
import dev.weir.audit.Difference.Place;
import dev.weir.audit.Difference.Topic;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Decision;
import dev.weir.policy.DecisionContext;
import dev.weir.policy.Request;
import dev.weir.shape.Release;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * What the requests of one partition were answered, read along with them: decisions some way ahead, releases up to the time of
 * those, and dead letters by their request.
 *
 * <pre>
 *   requests   17   18   19   20 …            decided one after the other
 *   decisions  17   19   16   20 …            those on limits in the order of the requests; 16, by a queue, when it liked,
 *                                             or after a wait for shared quota
 *                             └ read so far ahead of the requests
 * </pre>
 */
// A decision on limits that is not among the next AHEAD decisions does not come: so much may be out of order, or
// forged, before what is in order is taken for missing.
final class Answers {

    private static final int AHEAD = 1_000;

    /**
     * A decision.
     *
     * @param decision without its context
     * @param context when and by which policies it was decided, as it says
     * @param lastCount the most changes of rules that whoever decided had seen, as far as the decision shows
     */
    record Told(Decision decision, DecisionContext context, Place place, long timestampMs, int lastCount) {
        boolean isByQueue() {
            return decision.queueing() != null;
        }

        long offset() {
            return decision.source().offset();
        }
    }

    /** What left a queue, and the time of that record, ms since the epoch. */
    record Left(Release release, Place place, long timestampMs) {}

    private final Tools tools;
    private final Scope scope;
    private final Verdicts verdicts;
    private final Sums sums;
    private final Iterator<ConsumerRecord<byte[], byte[]>> decisions;
    private final Iterator<ConsumerRecord<byte[], byte[]>> releases;
    private final NavigableMap<Long, List<DeadLetter>> deadLetters;
    private final NavigableMap<Long, List<Told>> ahead = new TreeMap<>();
    private final NavigableSet<Long> placesAhead = new TreeSet<>(); // of decisions on limits
    private int aheadCount;
    private ConsumerRecord<byte[], byte[]> nextRelease;
    private long knownFromMs = Long.MIN_VALUE;
    private long firstRequest = -1;
    private long firstDecided = Long.MAX_VALUE;
    private long lastDecided = -1;
    private long readMs = Long.MIN_VALUE;

    Answers(Tools tools, Scope scope, Records records, Verdicts verdicts, Sums sums) {
        this.tools = tools;
        this.scope = scope;
        this.verdicts = verdicts;
        this.sums = sums;
        decisions = records.decisions();
        releases = records.releases();
        deadLetters = new TreeMap<>(records.deadLetters());
    }

    /** Takes note of the first request that is read: what is about those before is passed over. */
    void begin(ConsumerRecord<byte[], byte[]> first) {
        firstRequest = first.offset();
        knownFromMs = scope.requestsWhole() ? knownFromMs : Math.max(knownFromMs, first.timestamp());
    }

    /** Reads on, and hands out what is about requests before an offset. */
    void readAhead(long offset, Consumer<Told> late) {
        while (!ahead.isEmpty() && ahead.firstKey() < offset) {
            List<Told> some = ahead.pollFirstEntry().getValue();
            drop(some);
            some.stream().filter(this::isOnRead).forEach(late);
        }
        while (aheadCount < AHEAD && decisions.hasNext()) {
            Told told = read(decisions.next());
            if (told == null) {
                continue;
            }
            if (told.offset() >= offset) {
                ahead.computeIfAbsent(told.offset(), any -> new ArrayList<>(1)).add(told);
                aheadCount++;
                if (!told.isByQueue()) {
                    placesAhead.add(told.place.offset());
                }
            } else if (isOnRead(told)) {
                late.accept(told);
            }
        }
    }

    private boolean isOnRead(Told told) {
        return firstRequest >= 0 && told.offset() >= firstRequest && told.offset() < scope.to();
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
        if (decision.usage() != null) { // a client's account of what it has decided by itself: it answers no request
            sums.addUsage(decision, place, record.timestamp());
            return null;
        }
        boolean isByRules = decision.policyId() != null && decision.queueing() == null && !decision.repeated();
        int lastCount =
                isByRules ? tools.rules().lastWith(decision.policyId(), decision.policyVersion()) : Integer.MAX_VALUE;
        Told told = new Told(
                decision.in(DecisionContext.UNKNOWN), decision.context(), place, record.timestamp(), lastCount);
        Request.Source source = decision.source();
        if (source.partition() != scope.partition() || source.offset() >= scope.end() || source.offset() < 0) {
            String note = source.partition() == scope.partition() ? null : "its request is on another partition";
            verdicts.report(Verdicts.difference(Kind.UNASKED, told, note), told.timestampMs);
            return null;
        }
        verdicts.addDecision(source);
        if (readMs == Long.MIN_VALUE && !scope.decisionsWhole()) {
            knownFromMs = Math.max(knownFromMs, record.timestamp());
        }
        readMs = Math.max(readMs, record.timestamp());
        if (!told.isByQueue()) {
            firstDecided = Math.min(firstDecided, told.offset());
            lastDecided = Math.max(lastDecided, told.offset());
        }
        return told;
    }

    /** Takes the decisions on a request, of those that are read ahead. */
    List<Told> takeDecisions(long offset) {
        List<Told> told = ahead.containsKey(offset) ? ahead.remove(offset) : List.of();
        drop(told);
        return told;
    }

    private void drop(List<Told> told) {
        aheadCount -= told.size();
        told.forEach(one -> placesAhead.remove(one.place.offset()));
    }

    /** Where the first decision on limits is of those that are read ahead; the most if there is none. */
    long firstAhead() {
        return placesAhead.isEmpty() ? Long.MAX_VALUE : placesAhead.first();
    }

    /** Takes the dead letters of a request. */
    List<DeadLetter> takeDeadLetters(long offset) {
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

    /** From when on what was decided is known, ms since the epoch; the least if all of it is. */
    long knownFromMs() {
        return knownFromMs;
    }

    /** Up to when decisions are read, ms since the epoch; the least if none is. */
    long readMs() {
        return readMs;
    }

    /** The most changes of rules that had been seen before what is read ahead, as that shows: who has seen one does not unsee it. */
    int lastCount() {
        int lastCount = Integer.MAX_VALUE;
        for (List<Told> some : ahead.values()) {
            for (Told next : some) {
                lastCount = Math.min(lastCount, next.lastCount);
            }
        }
        return lastCount;
    }

    /** Whether a request's decision may have been there, and deleted. */
    boolean mayBeDeleted(long offset) {
        return !scope.decisionsWhole() && offset < firstDecided;
    }

    /** Whether the instances have come past a request. */
    boolean isDue(Request.Source source) {
        Long lastDead = deadLetters.lowerKey(scope.end());
        long decidedTo =
                scope.decidedTo() != null ? scope.decidedTo() : Math.max(lastDecided, lastDead == null ? -1 : lastDead);
        return source.offset() < decidedTo;
    }

    /** Tells the dead letters on no request that was read. */
    void end() {
        deadLetters.forEach((offset, letters) -> letters.forEach(letter -> unasked(offset, letter)));
    }

    private void unasked(long offset, DeadLetter letter) {
        Difference unasked = Verdicts.unasked(new Request.Source(scope.partition(), offset), letter, null);
        if (offset < 0 || offset >= scope.end()) {
            verdicts.report(unasked, letter.timestampMs());
        } else if (firstRequest >= 0 && offset >= firstRequest) {
            verdicts.report(unasked);
        }
    }
}
