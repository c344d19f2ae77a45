package dev.weir.audit;

import dev.weir.audit.DecisionLog.Left;
import dev.weir.audit.DecisionLog.Told;
import dev.weir.audit.Mismatch.Kind;
import dev.weir.audit.Mismatch.Place;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Finds which request is answered by which decision, and which wait in a queue is ended by which decision or release: each by
 * one, and by no more.
 *
 * <pre>
 *   request ──▶ decided on limits
 *      │
 *      └─▶ sent to a queue ──▶ refused
 *                  └─▶ waits ──▶ expired, evicted or withdrawn
 *                        └─▶ released
 * </pre>
 */
// What a queue says comes at any time, so what was sent to one is kept until it is answered, and what was queued until
// it has ended.
final class DecisionMatcher {

    private static final int RECENT = 10_000;

    /** So many requests may be on their way through queues. */
    private static final int MAX_OPEN = 1_000_000;

    private record Id(String client, String requestId, String queue) {
        static Id of(Decision decision) {
            return new Id(
                    decision.client(), decision.requestId(), decision.queueing().queue());
        }
    }

    /** A release that has ended no wait so far. */
    private record Unpaired(Left left) {
        boolean isOf(Map<String, String> key) {
            return left.release().key().equals(key);
        }
    }

    /** A request that was sent to a queue. */
    private static final class Sent {
        final Request request;
        final Recomputed recomputed;
        Told answer;

        Sent(Request request, Recomputed recomputed) {
            this.request = request;
            this.recomputed = recomputed;
        }

        boolean waits() {
            return answer != null;
        }

        Id id(String queue) {
            return new Id(request.client(), request.requestId(), queue);
        }
    }

    private final AuditScope scope;
    private final DecisionLog decisions;
    private final DecisionVerifier verdicts;
    private final Map<Request.Source, Place> recent = new LinkedHashMap<>();
    private final Map<Request.Source, Sent> sent = new LinkedHashMap<>();
    private final Map<Id, List<Request.Source>> waiting = new LinkedHashMap<>();
    private final Map<Id, List<Unpaired>> released = new LinkedHashMap<>();
    private int releasedCount;
    private boolean hasGivenUp;

    DecisionMatcher(AuditScope scope, DecisionLog decisions, DecisionVerifier verdicts) {
        this.scope = scope;
        this.decisions = decisions;
        this.verdicts = verdicts;
    }

    /**
     * Takes a request.
     *
     * @param told what is told of it among the decisions that are read ahead
     * @param first of these, the decision on limits, or else the first; null if there is none
     * @param isDead whether there is a dead letter of it
     */
    void request(Request request, Recomputed recomputed, List<Told> told, Told first, boolean isDead) {
        boolean isOnLimits = first != null && !first.isByQueue();
        if (isOnLimits) {
            verdicts.onLimits(request, first, recomputed);
            remember(first);
        } else if (recomputed.unjudged() == null && recomputed.ruling() instanceof Decision) {
            if (first == null && !isDead) {
                undecided(request, true, null);
            }
        } else if (!isDead) {
            open(request, recomputed);
        }
        for (Told one : told) {
            if (!isOnLimits || !one.equals(first)) {
                follow(one, request, recomputed);
            }
        }
    }

    /** Takes what is told of a request that has been taken. */
    void late(Told told) {
        Sent of = sent.get(told.source());
        follow(told, of == null ? null : of.request, of == null ? null : of.recomputed);
    }

    /** What is told of a request beside, or after, its decision on limits. */
    private void follow(Told told, Request request, Recomputed recomputed) {
        Sent of = sent.get(told.source());
        if (told.isByQueue() && of != null && told.decision().endsWait() == of.waits()) {
            if (of.waits()) {
                ended(told, of);
            } else {
                answered(told, of);
            }
        } else if (told.isByQueue() && told.decision().endsWait()) {
            notEndedOnce(told);
        } else if (recent.containsKey(told.source()) || of != null) {
            Place before = of == null ? recent.get(told.source()) : of.waits() ? of.answer.place() : null;
            String note = before == null ? null : "the first is " + before;
            verdicts.report(DecisionVerifier.difference(Kind.SECOND, told, note));
        } else if (request != null && recomputed != null && recomputed.ruling() instanceof Decision expected) {
            remember(told);
            verdicts.differs(request, told, DecisionFields.of(told.decision(), expected));
        } else {
            String note = "it comes out of order, or there is no such request";
            verdicts.report(DecisionVerifier.difference(Kind.UNASKED, told, note));
        }
    }

    private void open(Request request, Recomputed recomputed) {
        if (sent.size() == MAX_OPEN) {
            giveUp(sent.values().iterator().next());
        }
        sent.put(request.source(), new Sent(request, recomputed));
    }

    private void giveUp(Sent oldest) {
        verdicts.unjudged(oldest.request.source(), UnverifiedReason.WAITS);
        sent.remove(oldest.request.source());
        if (oldest.waits()) {
            stopWaiting(oldest);
        }
        hasGivenUp = true;
    }

    private void stopWaiting(Sent of) {
        Id id = of.id(of.answer.decision().queueing().queue());
        List<Request.Source> sources = waiting.get(id);
        sources.remove(of.request.source());
        if (sources.isEmpty()) {
            waiting.remove(id);
        }
    }

    /** A queue has answered. */
    private void answered(Told told, Sent of) {
        remember(told);
        verdicts.byQueue(of.request, told, of.recomputed);
        Decision decision = told.decision();
        boolean waits = decision.outcome() == Outcome.QUEUED
                && !decision.repeated()
                && of.request.kind() == dev.weir.event.RequestKind.CONSUME;
        Id id = of.id(decision.queueing().queue());
        Unpaired release =
                waits ? take(released, id, one -> one.isOf(decision.queueing().key())) : null;
        if (!waits) {
            sent.remove(told.source());
        } else if (release != null) {
            releasedCount--;
            sent.remove(told.source());
            verdicts.released(of.request, decision, release.left.place(), release.left.release());
        } else {
            of.answer = told;
            waiting.computeIfAbsent(id, any -> new ArrayList<>(1)).add(told.source());
        }
    }

    /** One that waited expired, was evicted or withdrawn. */
    private void ended(Told told, Sent of) {
        List<Mismatch.Field> fields = DecisionFields.ofEnd(told.decision(), of.answer.decision());
        if (!fields.isEmpty()) {
            verdicts.differs(of.request, told, fields);
        }
        stopWaiting(of);
        sent.remove(told.source());
    }

    private void notEndedOnce(Told told) {
        Request.Source other = take(
                waiting, Id.of(told.decision()), any -> true); // another of the same id, which a release was taken for
        if (other != null) {
            sent.remove(other);
        } else if (!hasGivenUp && !decisions.mayBeDeleted(told.source())) {
            String note = "it ends what does not wait: " + told.decision().reason();
            verdicts.report(DecisionVerifier.difference(Kind.NOT_ENDED_ONCE, told, note));
        }
    }

    /** Takes a release. */
    void release(Left left) {
        Release release = left.release();
        Id id = new Id(release.client(), release.requestId(), release.queue());
        Request.Source source =
                take(waiting, id, one -> queued(one).queueing().key().equals(release.key()));
        if (source != null) {
            verdicts.released(sent.get(source).request, queued(source), left.place(), release);
            sent.remove(source);
        } else if (releasedCount < MAX_OPEN) {
            released.computeIfAbsent(id, any -> new ArrayList<>(1)).add(new Unpaired(left));
            releasedCount++;
        } else {
            verdicts.unmatched(left.timestampMs());
            hasGivenUp = true;
        }
    }

    /** The decision that queued a request which waits. */
    private Decision queued(Request.Source waits) {
        return sent.get(waits).answer.decision();
    }

    /** Takes the first with this id that is preferred, or else the first of all; null if there is none. */
    private static <T> T take(Map<Id, List<T>> byId, Id id, Predicate<T> isPreferred) {
        List<T> all = byId.get(id);
        if (all == null) {
            return null;
        }
        T first = all.stream().filter(isPreferred).findFirst().orElse(all.get(0));
        all.remove(first);
        if (all.isEmpty()) {
            byId.remove(id);
        }
        return first;
    }

    /**
     * Tells what has found no other: nothing comes any more.
     *
     * @param hasRouted whether requests of other partitions were among them
     */
    void end(boolean hasRouted) {
        for (Sent of : sent.values()) {
            Request.Source source = of.request.source();
            if (of.waits()) {
                verdicts.unjudged(source, UnverifiedReason.WAITS);
            } else {
                String note =
                        of.recomputed.ruling() instanceof Admission admission ? "sent to " + admission.queue() : null;
                undecided(of.request, scope.queuesDone(), note);
            }
        }
        boolean allRead = scope.requestsWhole()
                && scope.decisionsWhole()
                && scope.from() == 0
                && scope.to() >= scope.end()
                && (!hasRouted || (scope.isAllRetained() && scope.isAllJudged()))
                && !hasGivenUp;
        released.forEach((id, all) -> all.forEach(one -> {
            if (allRead) {
                inVain(id, one.left.place());
            } else {
                verdicts.unmatched(one.left.timestampMs());
            }
        }));
    }

    /**
     * Judges a request without a decision.
     *
     * @param isDone whether who was to decide it has answered all that it was sent
     */
    void undecided(Request request, boolean isDone, String note) {
        if (decisions.mayBeDeleted(request.source())) {
            verdicts.unjudged(request.source(), UnverifiedReason.NOT_RETAINED);
        } else if (!isDone || !decisions.isDue(request.source())) {
            verdicts.unjudged(request.source(), UnverifiedReason.NOT_YET);
        } else {
            verdicts.report(DecisionVerifier.difference(Kind.UNDECIDED, request, null, note));
        }
    }

    private void inVain(Id id, Place place) {
        String note = "it was released by " + id.queue + " and did not wait there";
        verdicts.tell(new Mismatch(Kind.NOT_ENDED_ONCE, null, place, id.client, id.requestId, List.of(), note));
    }

    private void remember(Told told) {
        recent.put(told.source(), told.place());
        if (recent.size() > RECENT) {
            Iterator<Request.Source> oldest = recent.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }
}
