package dev.weir.audit;

import dev.weir.app.MemoryStates;
import dev.weir.audit.Difference.Kind;
import dev.weir.audit.Difference.Place;
import dev.weir.audit.Difference.Topic;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.ReleaseAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Admission;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Policy;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import dev.weir.processor.RequestReader;
import dev.weir.shape.Release;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;

/**
 * Decides the requests of one partition anew, in their order, and holds what was committed against it.
 *
 * <pre>
 *   requests   17   18   19   20 …            decided one after the other
 *   decisions  17   19   16   20 …            those on limits in the order of the requests; 16, by a queue, when it liked
 *                             └ read so far ahead of the requests
 * </pre>
 */
// A decision on limits that is not among the next AHEAD decisions does not come: so much may be out of order, or
// forged,
// before what is in order is taken for missing. What a queue says comes at any time, so what was sent to one is kept
// until it
// is answered, and what was queued until it has ended.
public final class PartitionAudit {

    private static final int AHEAD = 1_000;
    private static final int RECENT = 10_000;

    /** So many requests may be on their way through queues. */
    private static final int MAX_OPEN = 1_000_000;

    /** By how much the clocks of brokers, and of who changes rules, may differ. */
    private static final long CLOCKS_MS = 10_000;

    /** What reads and decides. */
    public record Tools(
            WeirConfig config,
            RequestReader requests,
            DecisionAvro decisions,
            ReleaseAvro releases,
            RuleChanges rules) {}

    /**
     * Which requests, and what is known of them otherwise.
     *
     * @param from the offset of the first that is judged; those before are decided for what they used
     * @param to the offset behind the last
     * @param end the offset behind the last that there is
     * @param decidedTo the offset up to which all are decided, null if that is not known
     * @param requestsWhole whether none was deleted
     * @param decisionsWhole whether no decision was deleted
     * @param deadLettersFromMs dead letters up to then may have been deleted, ms since the epoch; least if none was
     * @param queuesDone whether the queues have answered all that was sent to them
     * @param range whence the offsets are
     */
    public record Scope(
            int partition,
            long from,
            long to,
            long end,
            Long decidedTo,
            boolean requestsWhole,
            boolean decisionsWhole,
            long deadLettersFromMs,
            boolean queuesDone,
            Audit.Range range) {}

    /**
     * A dead letter of a request.
     *
     * @param reason null if it has none
     * @param timestampMs when it was written, ms since the epoch
     */
    public record DeadLetter(String reason, Place place, long timestampMs) {}

    /**
     * A decision.
     *
     * @param lastCount the most changes of rules that whoever decided had seen, as far as the decision shows
     */
    private record Told(Decision decision, Place place, long timestampMs, int lastCount) {
        boolean isByQueue() {
            return decision.queueing() != null;
        }

        long offset() {
            return decision.source().offset();
        }
    }

    /** What was decided anew, or why that says nothing. */
    private record Ruled(Ruling ruling, Unjudged unjudged) {}

    private record Id(String client, String requestId, String queue) {}

    /** A release that has ended no wait so far. */
    private record Left(Place place, long timestampMs) {}

    /** A request that was sent to a queue. */
    private static final class Sent {
        final Request request;
        final Ruled ruled;
        Told answer;

        Sent(Request request, Ruled ruled) {
            this.request = request;
            this.ruled = ruled;
        }

        boolean waits() {
            return answer != null;
        }
    }

    private final Tools tools;
    private final Scope scope;
    private final Totals totals;
    private final Consumer<Difference> differences;
    private final MemoryStates states;
    private final NavigableMap<Long, List<DeadLetter>> deadLetters;
    private final NavigableMap<Long, List<Told>> ahead = new TreeMap<>();
    private final Map<Long, Place> recent = new LinkedHashMap<>();
    private final Map<Long, Sent> sent = new LinkedHashMap<>();
    private final Map<Id, List<Long>> waiting = new LinkedHashMap<>();
    private final Map<Id, List<Left>> released = new LinkedHashMap<>();
    private Iterator<ConsumerRecord<byte[], byte[]>> decisions;
    private Iterator<ConsumerRecord<byte[], byte[]>> releases;
    private ConsumerRecord<byte[], byte[]> nextRelease;
    private Doubts doubts;
    private int aheadCount;
    private int releasedCount;
    private long knownFromMs = Long.MIN_VALUE;
    private long firstRequest = -1;
    private long firstAnswered = Long.MAX_VALUE;
    private long lastAnswered = -1;
    private long readMs = Long.MIN_VALUE;
    private long decidedMs = Long.MIN_VALUE;
    private long newestMs;
    private int seen;
    private boolean hasGivenUp;

    /** @param deadLetters by the request's offset */
    public PartitionAudit(
            Tools tools,
            Scope scope,
            NavigableMap<Long, List<DeadLetter>> deadLetters,
            Totals totals,
            Consumer<Difference> differences) {
        this.tools = tools;
        this.scope = scope;
        this.deadLetters = new TreeMap<>(deadLetters);
        this.totals = totals;
        this.differences = differences;
        states = new MemoryStates(tools.config.state());
    }

    /** Judges all, what is committed on the partition of each topic in its order. */
    public void run(
            Iterator<ConsumerRecord<byte[], byte[]>> requests,
            Iterator<ConsumerRecord<byte[], byte[]>> committed,
            Iterator<ConsumerRecord<byte[], byte[]>> left) {
        decisions = committed;
        releases = left;
        while (requests.hasNext()) {
            ConsumerRecord<byte[], byte[]> record = requests.next();
            if (record.offset() >= scope.to) {
                break;
            }
            if (firstRequest < 0) {
                begin(record);
            }
            readAhead(record.offset());
            judge(record);
            readReleases(readMs);
        }
        readAhead(Long.MAX_VALUE);
        readReleases(Long.MAX_VALUE);
        end();
    }

    private void begin(ConsumerRecord<byte[], byte[]> first) {
        firstRequest = first.offset();
        knownFromMs = scope.requestsWhole ? knownFromMs : Math.max(knownFromMs, first.timestamp());
        boolean rulesWhole = tools.rules.seenBy(first.timestamp()) >= tools.rules.wholeFrom();
        Unjudged ofAll = !scope.requestsWhole ? Unjudged.BEFORE_THE_LOG : rulesWhole ? null : Unjudged.RULES_FORGOTTEN;
        doubts = new Doubts(ofAll, tools.rules.longestDelayMs(), states::forget);
    }

    private void readAhead(long offset) {
        while (!ahead.isEmpty() && ahead.firstKey() < offset) {
            List<Told> late = ahead.pollFirstEntry().getValue();
            aheadCount -= late.size();
            late.forEach(this::late);
        }
        while (aheadCount < AHEAD && decisions.hasNext()) {
            Told told = read(decisions.next());
            if (told == null) {
                continue;
            }
            if (told.offset() < offset) {
                late(told);
            } else {
                ahead.computeIfAbsent(told.offset(), any -> new ArrayList<>(1)).add(told);
                aheadCount++;
            }
        }
    }

    /** Null if it has no place here. */
    private Told read(ConsumerRecord<byte[], byte[]> record) {
        Place place = new Place(Topic.DECISIONS, record.partition(), record.offset());
        Decision decision;
        try {
            decision = tools.decisions.decode(record.value());
        } catch (UnreadableException e) {
            unreadable(record, place, e);
            return null;
        }
        boolean isByRules = decision.policyId() != null && decision.queueing() == null && !decision.repeated();
        int lastCount =
                isByRules ? tools.rules.lastWith(decision.policyId(), decision.policyVersion()) : Integer.MAX_VALUE;
        Told told = new Told(decision, place, record.timestamp(), lastCount);
        Request.Source source = decision.source();
        if (source.partition() != scope.partition || source.offset() >= scope.end || source.offset() < 0) {
            String note = source.partition() == scope.partition ? null : "its request is on another partition";
            report(difference(told, Kind.UNASKED, note), told.timestampMs);
            return null;
        }
        if (isJudged(source)) {
            totals.addDecision();
        }
        if (readMs == Long.MIN_VALUE && !scope.decisionsWhole) {
            knownFromMs = Math.max(knownFromMs, record.timestamp());
        }
        readMs = Math.max(readMs, record.timestamp());
        if (!told.isByQueue()) {
            firstAnswered = Math.min(firstAnswered, told.offset());
            lastAnswered = Math.max(lastAnswered, told.offset());
        }
        return told;
    }

    private void judge(ConsumerRecord<byte[], byte[]> record) {
        List<Told> told = ahead.containsKey(record.offset()) ? ahead.remove(record.offset()) : List.of();
        aheadCount -= told.size();
        List<DeadLetter> letters =
                deadLetters.containsKey(record.offset()) ? deadLetters.remove(record.offset()) : List.of();
        Request.Source source = new Request.Source(record.partition(), record.offset());
        if (isJudged(source)) {
            totals.addRequest();
            letters.forEach(letter -> totals.addDeadLetter());
        }
        Request request;
        try {
            request = tools.requests.read(
                    record.key(), record.value(), record.headers(), Math.max(0, record.timestamp()), source);
        } catch (UnreadableException e) {
            judgeBad(source, record.timestamp(), e.rejection(), letters);
            told.forEach(one -> unasked(one, e.rejection().name()));
            return;
        }
        if (record.timestampType() == TimestampType.LOG_APPEND_TIME) {
            decidedMs = Math.max(decidedMs, record.timestamp());
        }
        for (DeadLetter letter : letters) {
            report(difference(
                    Kind.DEAD_LETTER,
                    request,
                    letter.place,
                    "it is a request, and a dead letter for " + letter.reason));
        }
        judge(request, told, !letters.isEmpty());
    }

    private void judgeBad(Request.Source source, long timestampMs, Rejection rejection, List<DeadLetter> letters) {
        for (DeadLetter letter : letters) {
            if (!Objects.equals(letter.reason, rejection.name())) {
                String note = "it is there for " + letter.reason + ", should be for " + rejection;
                report(new Difference(Kind.DEAD_LETTER, source, letter.place, null, null, List.of(), note));
            }
        }
        if (letters.size() > 1) {
            report(new Difference(
                    Kind.DEAD_LETTER, source, letters.get(1).place, null, null, List.of(), "there is one already"));
        }
        if (!letters.isEmpty()) {
            return;
        }
        if (timestampMs <= scope.deadLettersFromMs) {
            unjudged(source, Unjudged.NOT_RETAINED);
        } else if (!isDue(source)) {
            unjudged(source, Unjudged.NOT_YET);
        } else {
            String note = "there is no dead letter for " + rejection;
            report(new Difference(Kind.DEAD_LETTER, source, null, null, null, List.of(), note));
        }
    }

    private void judge(Request request, List<Told> told, boolean isDead) {
        Told direct = told.stream().filter(one -> !one.isByQueue()).findFirst().orElse(null);
        Told first = direct != null ? direct : told.isEmpty() ? null : told.get(0);
        Ruled ruled = rule(request, first);
        if (direct != null) {
            judge(request, direct, ruled);
            remember(request.source().offset(), direct.place);
        } else if (ruled.unjudged == null && ruled.ruling instanceof Decision) {
            if (first == null && !isDead) {
                missing(request);
            }
        } else if (!isDead) {
            open(request, ruled);
        }
        for (Told one : told) {
            if (!one.equals(direct)) {
                follow(one, request, ruled);
            }
        }
    }

    private void judge(Request request, Told direct, Ruled ruled) {
        if (ruled.unjudged != null) {
            unjudged(request.source(), ruled.unjudged);
        } else if (ruled.ruling instanceof Decision expected) {
            if (expected.equals(direct.decision)) {
                if (isJudged(request.source())) {
                    totals.addEqual();
                }
            } else {
                differs(request, direct, Fields.of(direct.decision, expected));
            }
        } else {
            differs(request, direct, Fields.of(direct.decision, (Admission) ruled.ruling));
        }
    }

    private void differs(Request request, Told told, List<Difference.Field> fields) {
        Decision decision = told.decision;
        boolean isUnknown =
                decision.policyId() != null && !tools.rules.has(decision.policyId(), decision.policyVersion());
        String note =
                isUnknown ? "policy " + decision.policyId() + " never had version " + decision.policyVersion() : null;
        report(new Difference(
                Kind.DIFFERS, request.source(), told.place, request.client(), request.requestId(), fields, note));
    }

    private void missing(Request request) {
        if (!scope.decisionsWhole && request.source().offset() < firstAnswered) {
            unjudged(request.source(), Unjudged.NOT_RETAINED);
        } else if (!isDue(request.source())) {
            unjudged(request.source(), Unjudged.NOT_YET);
        } else {
            report(difference(Kind.UNDECIDED, request, null, null));
        }
    }

    private boolean isDue(Request.Source source) {
        Long lastDead = deadLetters.lowerKey(scope.end);
        long decidedTo =
                scope.decidedTo != null ? scope.decidedTo : Math.max(lastAnswered, lastDead == null ? -1 : lastDead);
        return source.offset() < decidedTo;
    }

    /** What is told of a request that has been judged. */
    private void late(Told told) {
        long offset = told.offset();
        if (offset < firstRequest || firstRequest < 0 || offset >= scope.to) {
            return; // its request is not read
        }
        Sent of = sent.get(offset);
        follow(told, of == null ? null : of.request, of == null ? null : of.ruled);
    }

    /** What is told of a request beside, or after, its decision on limits. */
    private void follow(Told told, Request request, Ruled ruled) {
        long offset = told.offset();
        Sent of = sent.get(offset);
        if (told.isByQueue() && of != null && told.decision.endsWait() == of.waits()) {
            if (of.waits()) {
                ended(told, of);
            } else {
                answered(told, of);
            }
        } else if (told.isByQueue() && told.decision.endsWait()) {
            notEndedOnce(told);
        } else if (recent.containsKey(offset) || of != null) {
            Place before = of == null ? recent.get(offset) : of.waits() ? of.answer.place : null;
            report(difference(told, Kind.SECOND, before == null ? null : "the first is " + before));
        } else if (request != null && ruled != null && ruled.ruling instanceof Decision expected) {
            remember(offset, told.place);
            differs(request, told, Fields.of(told.decision, expected));
        } else {
            unasked(told, "it comes out of order, or there is no such request");
        }
    }

    private void open(Request request, Ruled ruled) {
        if (sent.size() == MAX_OPEN) {
            giveUp(sent.values().iterator().next());
        }
        sent.put(request.source().offset(), new Sent(request, ruled));
    }

    private void giveUp(Sent oldest) {
        unjudged(oldest.request.source(), Unjudged.WAITS);
        sent.remove(oldest.request.source().offset());
        if (oldest.waits()) {
            stopWaiting(oldest);
        }
        hasGivenUp = true;
    }

    private void stopWaiting(Sent of) {
        Id id = new Id(
                of.request.client(),
                of.request.requestId(),
                of.answer.decision.queueing().queue());
        List<Long> offsets = waiting.get(id);
        offsets.remove(Long.valueOf(of.request.source().offset()));
        if (offsets.isEmpty()) {
            waiting.remove(id);
        }
    }

    /** A queue has answered. */
    private void answered(Told told, Sent of) {
        remember(told.offset(), told.place);
        Request request = of.request;
        Decision decision = told.decision;
        if (of.ruled.unjudged != null) {
            unjudged(request.source(), of.ruled.unjudged);
        } else {
            Admission admission = (Admission) of.ruled.ruling;
            List<Difference.Field> fields = Fields.of(decision, admission);
            if (fields.isEmpty() && isJudged(request.source())) {
                totals.addSent();
            } else if (!fields.isEmpty()) {
                differs(request, told, fields);
            }
        }
        boolean waits = decision.outcome() == Outcome.QUEUED
                && !decision.repeated()
                && request.kind() == dev.weir.policy.Kind.CONSUME;
        Id id = new Id(
                request.client(), request.requestId(), decision.queueing().queue());
        if (!waits) {
            sent.remove(told.offset());
        } else if (take(released, id) != null) {
            releasedCount--;
            sent.remove(told.offset());
        } else {
            of.answer = told;
            waiting.computeIfAbsent(id, any -> new ArrayList<>(1)).add(told.offset());
        }
    }

    /** One that waited expired, was evicted or withdrawn. */
    private void ended(Told told, Sent of) {
        Decision decision = told.decision;
        List<Difference.Field> fields = Fields.ofEnd(decision, of.answer.decision);
        if (!fields.isEmpty()) {
            differs(of.request, told, fields);
        }
        stopWaiting(of);
        sent.remove(told.offset());
    }

    private void notEndedOnce(Told told) {
        Decision decision = told.decision;
        Id id = new Id(
                decision.client(), decision.requestId(), decision.queueing().queue());
        Long other = take(waiting, id); // another of the same id, which a release was taken for
        if (other != null) {
            sent.remove(other);
        } else if (!hasGivenUp && (scope.decisionsWhole || told.offset() >= firstAnswered)) {
            report(difference(told, Kind.NOT_ENDED_ONCE, "it ends what does not wait: " + told.decision.reason()));
        }
    }

    private void readReleases(long untilMs) {
        while (nextRelease != null || releases.hasNext()) {
            nextRelease = nextRelease == null ? releases.next() : nextRelease;
            if (nextRelease.timestamp() > untilMs) {
                return;
            }
            ConsumerRecord<byte[], byte[]> record = nextRelease;
            nextRelease = null;
            release(record);
        }
    }

    private void release(ConsumerRecord<byte[], byte[]> record) {
        Place place = new Place(Topic.RELEASES, record.partition(), record.offset());
        Release release;
        try {
            release = tools.releases.decode(record.value());
        } catch (UnreadableException e) {
            unreadable(record, place, e);
            return;
        }
        if (release.enqueuedAtMs() < knownFromMs) { // its request, or the answer to that, may have been deleted
            unmatched(record.timestamp());
            return;
        }
        Id id = new Id(release.client(), release.requestId(), release.queue());
        Long offset = take(waiting, id);
        if (offset != null) {
            sent.remove(offset);
        } else if (releasedCount < MAX_OPEN) {
            released.computeIfAbsent(id, any -> new ArrayList<>(1)).add(new Left(place, record.timestamp()));
            releasedCount++;
        } else {
            unmatched(record.timestamp());
            hasGivenUp = true;
        }
    }

    private void unmatched(long timestampMs) {
        if (scope.range.has(timestampMs)) {
            totals.add(Unjudged.RELEASE_UNMATCHED);
        }
    }

    private static <T> T take(Map<Id, List<T>> byId, Id id) {
        List<T> all = byId.get(id);
        if (all == null) {
            return null;
        }
        T first = all.remove(0);
        if (all.isEmpty()) {
            byId.remove(id);
        }
        return first;
    }

    private void end() {
        for (Sent of : sent.values()) {
            Request.Source source = of.request.source();
            if (of.waits()) {
                unjudged(source, Unjudged.WAITS);
            } else if (!scope.decisionsWhole && source.offset() < firstAnswered) {
                unjudged(source, Unjudged.NOT_RETAINED);
            } else if (!scope.queuesDone || !isDue(source)) {
                unjudged(source, Unjudged.NOT_YET);
            } else {
                String note = of.ruled.ruling instanceof Admission admission ? "sent to " + admission.queue() : null;
                report(difference(Kind.UNDECIDED, of.request, null, note));
            }
        }
        boolean allRead =
                scope.requestsWhole && scope.decisionsWhole && scope.from == 0 && scope.to >= scope.end && !hasGivenUp;
        released.forEach((id, lefts) -> lefts.forEach(left -> {
            if (allRead) {
                releasedInVain(id, left.place);
            } else {
                unmatched(left.timestampMs);
            }
        }));
        deadLetters.forEach((offset, letters) -> letters.forEach(letter -> left(offset, letter)));
    }

    private void releasedInVain(Id id, Place place) {
        String note = "it was released by " + id.queue + " and did not wait there";
        tell(new Difference(Kind.NOT_ENDED_ONCE, null, place, id.client, id.requestId, List.of(), note));
    }

    /** A dead letter on no request that was read. */
    private void left(long offset, DeadLetter letter) {
        Difference unasked = unasked(new Request.Source(scope.partition, offset), letter, null);
        if (offset < 0 || offset >= scope.end) {
            report(unasked, letter.timestampMs);
        } else if (firstRequest >= 0 && offset >= firstRequest) {
            report(unasked);
        }
    }

    static Difference unasked(Request.Source source, DeadLetter letter, String note) {
        return new Difference(Kind.UNASKED, source, letter.place, null, null, List.of(), note);
    }

    /**
     * Decides by the table that was in force. Where it may have been one of several, what was told shows which; where several would
     * have said the same, the newest is taken, and what they count differently is in doubt.
     *
     * @param told what the queue, or the limits, have told; null if there is nothing
     */
    private Ruled rule(Request request, Told told) {
        states.observe(request.timestampMs());
        boolean isLate = request.timestampMs()
                < newestMs - tools.config.state().forgetAfter().toMillis();
        newestMs = Math.max(newestMs, request.timestampMs());
        if (told != null && !told.isByQueue()) {
            decidedMs = Math.max(decidedMs, told.timestampMs);
        }
        RuleChanges rules = tools.rules;
        long untilMs = told == null ? readMs : told.timestampMs;
        seen = Math.max(
                seen,
                decidedMs == Long.MIN_VALUE
                        ? 0
                        : rules.seenBy(decidedMs - scope.range.lag().toMillis()));
        int to = Math.max(seen, untilMs == Long.MIN_VALUE ? 0 : rules.writtenBy(untilMs + CLOCKS_MS));
        List<Integer> turns = rules.turns(request, seen, to);
        int count = turns.size() == 1 ? turns.get(0) : choose(request, told, turns, to);
        List<Policy> applicable = rules.table(count).applicable(request);
        Unjudged unjudged = doubts.about(request, applicable);
        if (count < rules.wholeFrom()) {
            unjudged = Unjudged.RULES_FORGOTTEN;
        } else if (isLate) {
            unjudged = Unjudged.TOO_LATE;
            applicable.forEach(policy -> doubts.add(policy.stateKey(request), Unjudged.TOO_LATE));
        }
        Ruling ruling = Decider.decide(request, rules.table(count), states);
        Decision decision = told == null || told.isByQueue() ? null : told.decision;
        doubts.learn(request, applicable, decision, unjudged == null || isAlike(ruling, decision));
        return new Ruled(ruling, unjudged);
    }

    /** Whether one as the other charges what is known. */
    private static boolean isAlike(Ruling ruling, Decision told) {
        return told != null
                && ruling instanceof Decision decided
                && decided.outcome() == told.outcome()
                && decided.repeated() == told.repeated()
                && Objects.equals(decided.delayMs(), told.delayMs());
    }

    private int choose(Request request, Told told, List<Integer> turns, int to) {
        int shown = Math.max(turns.get(0), lastShown(told));
        List<Integer> alike = alike(
                request, told, turns.stream().filter(count -> count <= shown).toList());
        if (alike.isEmpty()) {
            alike = alike(request, told, turns);
        }
        if (alike.isEmpty()) {
            alike = alike(request, told, tools.rules.partialTurns(request, turns.get(0), to));
        }
        if (alike.isEmpty()) {
            return turns.get(0);
        }
        if (alike.size() == 1 && told != null) {
            seen = Math.max(seen, alike.get(0));
        } else {
            doubt(request, alike);
        }
        return alike.get(alike.size() - 1);
    }

    /** The most changes that had been seen, as this and the next decisions show: who has seen one does not unsee it. */
    private int lastShown(Told told) {
        int shown = told == null ? Integer.MAX_VALUE : told.lastCount;
        for (List<Told> some : ahead.values()) {
            for (Told next : some) {
                shown = Math.min(shown, next.lastCount);
            }
        }
        return shown;
    }

    /** By which tables the same would have been told; by all if nothing was. */
    private List<Integer> alike(Request request, Told told, List<Integer> turns) {
        List<Integer> alike = new ArrayList<>();
        for (int count : turns) {
            List<Policy> applicable = tools.rules.table(count).applicable(request);
            if (told == null || doubts.about(request, applicable) != null) {
                if (told == null || names(told.decision, applicable)) {
                    alike.add(count);
                }
                continue;
            }
            Ruling ruling = Decider.decide(request, tools.rules.table(count), new Trial(states));
            boolean isSame = ruling instanceof Admission admission
                    ? Fields.of(told.decision, admission).isEmpty()
                    : ruling.equals(told.decision);
            if (isSame) {
                alike.add(count);
            }
        }
        return alike;
    }

    private static boolean names(Decision decision, List<Policy> applicable) {
        return decision.repeated()
                || (decision.policyId() == null
                        ? applicable.isEmpty()
                        : applicable.stream()
                                .anyMatch(policy -> policy.id().equals(decision.policyId())
                                        && Objects.equals(policy.version(), decision.policyVersion())));
    }

    /** What is counted under other terms by one table than by another one is not known any more. */
    private void doubt(Request request, List<Integer> turns) {
        List<List<Policy>> all = turns.stream()
                .map(count -> tools.rules.table(count).applicable(request))
                .toList();
        boolean writes = turns.stream().anyMatch(count -> {
            Trial trial = new Trial(states);
            Decider.decide(request, tools.rules.table(count), trial);
            return trial.hasWritten();
        });
        for (List<Policy> some : writes ? all : List.<List<Policy>>of()) {
            for (Policy policy : some) {
                boolean isSame = all.stream().allMatch(others -> others.stream()
                        .anyMatch(other -> other.id().equals(policy.id())
                                && other.key().equals(policy.key())
                                && other.terms().equals(policy.terms())));
                if (!isSame) {
                    doubts.add(policy.stateKey(request), Unjudged.EITHER_VERSION);
                }
            }
        }
    }

    private void remember(long offset, Place place) {
        recent.put(offset, place);
        if (recent.size() > RECENT) {
            Iterator<Long> oldest = recent.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }

    private void unasked(Told told, String note) {
        report(difference(told, Kind.UNASKED, note));
    }

    private static Difference difference(Told told, Kind kind, String note) {
        Decision decision = told.decision;
        return new Difference(
                kind, decision.source(), told.place, decision.client(), decision.requestId(), List.of(), note);
    }

    private static Difference difference(Kind kind, Request request, Place place, String note) {
        return new Difference(kind, request.source(), place, request.client(), request.requestId(), List.of(), note);
    }

    private boolean isJudged(Request.Source source) {
        return source.offset() >= scope.from && source.offset() < scope.to;
    }

    private void unjudged(Request.Source source, Unjudged why) {
        if (isJudged(source)) {
            totals.add(why);
        }
    }

    private void unreadable(ConsumerRecord<byte[], byte[]> record, Place place, UnreadableException e) {
        report(new Difference(Kind.UNREADABLE, null, place, null, null, List.of(), e.getMessage()), record.timestamp());
    }

    private void report(Difference difference) {
        if (isJudged(difference.request())) {
            tell(difference);
        }
    }

    /** Of a record that is on no request of this partition: it is its own time that is in the range. */
    private void report(Difference difference, long timestampMs) {
        if (scope.range.has(timestampMs)) {
            tell(difference);
        }
    }

    private void tell(Difference difference) {
        totals.add(difference.kind());
        differences.accept(difference);
    }
}
