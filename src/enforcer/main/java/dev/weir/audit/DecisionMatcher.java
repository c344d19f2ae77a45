package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.DecisionLog.LoggedRelease;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.audit.finding.DecisionFields;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
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
 * Finds which request is answered by which decision, and which wait in a queue is ended by which decision or release:
 * each by one, and by no more.
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
    private record UnmatchedRelease(LoggedRelease left) {
        boolean isOf(Map<String, String> key) {
            return left.release().key().equals(key);
        }
    }

    /** A request that was sent to a queue. */
    private static final class SubmittedRequest {
        final Request request;
        final Recomputed recomputed;
        LoggedDecision answer;

        SubmittedRequest(Request request, Recomputed recomputed) {
            this.request = request;
            this.recomputed = recomputed;
        }

        boolean isWaiting() {
            return answer != null;
        }

        Id id(String queue) {
            return new Id(request.client(), request.requestId(), queue);
        }
    }

    private final AuditScope scope;
    private final DecisionLog decisions;
    private final DecisionVerifier verdicts;
    private final Map<Request.Source, RecordPosition> recent = new LinkedHashMap<>();
    private final Map<Request.Source, SubmittedRequest> submitted = new LinkedHashMap<>();
    private final Map<Id, List<Request.Source>> waiting = new LinkedHashMap<>();
    private final Map<Id, List<UnmatchedRelease>> released = new LinkedHashMap<>();
    private int releasedCount;
    private boolean hasDropped;

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
    void matchRequest(
            Request request, Recomputed recomputed, List<LoggedDecision> told, LoggedDecision first, boolean isDead) {
        boolean isOnLimits = first != null && !first.isByQueue();
        if (isOnLimits) {
            verdicts.verifyLimits(request, first, recomputed);
            remember(first);
        } else if (recomputed.unverified() == null && recomputed.result() instanceof Decision) {
            if (first == null && !isDead) {
                reportUndecided(request, true, null);
            }
        } else if (!isDead) {
            track(request, recomputed);
        }
        for (LoggedDecision one : told) {
            if (!isOnLimits || !one.equals(first)) {
                matchFurther(one, request, recomputed);
            }
        }
    }

    /** Takes what is told of a request that has been taken. */
    void matchLate(LoggedDecision told) {
        SubmittedRequest of = submitted.get(told.source());
        matchFurther(told, of == null ? null : of.request, of == null ? null : of.recomputed);
    }

    /** What is told of a request beside, or after, its decision on limits. */
    private void matchFurther(LoggedDecision told, Request request, Recomputed recomputed) {
        SubmittedRequest of = submitted.get(told.source());
        if (told.isByQueue() && of != null && told.decision().endsWait() == of.isWaiting()) {
            if (of.isWaiting()) {
                matchEnd(told, of);
            } else {
                matchQueueAnswer(told, of);
            }
        } else if (told.isByQueue() && told.decision().endsWait()) {
            matchUnexpectedEnd(told);
        } else if (recent.containsKey(told.source()) || of != null) {
            RecordPosition before = of == null ? recent.get(told.source()) : of.isWaiting() ? of.answer.place() : null;
            String note = before == null ? null : "the first is " + before;
            verdicts.report(DecisionVerifier.mismatch(Kind.SECOND, told, note));
        } else if (request != null && recomputed != null && recomputed.result() instanceof Decision expected) {
            remember(told);
            verdicts.reportMismatch(request, told, DecisionFields.of(told.decision(), expected));
        } else {
            String note = "it comes out of order, or there is no such request";
            verdicts.report(DecisionVerifier.mismatch(Kind.NO_REQUEST, told, note));
        }
    }

    private void track(Request request, Recomputed recomputed) {
        if (submitted.size() == MAX_OPEN) {
            dropOldest(submitted.values().iterator().next());
        }
        submitted.put(request.source(), new SubmittedRequest(request, recomputed));
    }

    private void dropOldest(SubmittedRequest oldest) {
        verdicts.addUnverified(oldest.request.source(), UnverifiedReason.WAITS);
        submitted.remove(oldest.request.source());
        if (oldest.isWaiting()) {
            stopWaiting(oldest);
        }
        hasDropped = true;
    }

    private void stopWaiting(SubmittedRequest of) {
        Id id = of.id(of.answer.decision().queueing().queue());
        List<Request.Source> sources = waiting.get(id);
        sources.remove(of.request.source());
        if (sources.isEmpty()) {
            waiting.remove(id);
        }
    }

    /** A queue has answered. */
    private void matchQueueAnswer(LoggedDecision told, SubmittedRequest of) {
        remember(told);
        verdicts.verifyQueued(of.request, told, of.recomputed);
        Decision decision = told.decision();
        boolean waits = decision.outcome() == Outcome.QUEUED
                && !decision.repeated()
                && of.request.kind() == dev.weir.event.RequestKind.CONSUME;
        Id id = of.id(decision.queueing().queue());
        UnmatchedRelease release =
                waits ? take(released, id, one -> one.isOf(decision.queueing().key())) : null;
        if (!waits) {
            submitted.remove(told.source());
        } else if (release != null) {
            releasedCount--;
            submitted.remove(told.source());
            verdicts.verifyRelease(of.request, decision, release.left.place(), release.left.release());
        } else {
            of.answer = told;
            waiting.computeIfAbsent(id, any -> new ArrayList<>(1)).add(told.source());
        }
    }

    /** One that waited expired, was evicted or withdrawn. */
    private void matchEnd(LoggedDecision told, SubmittedRequest of) {
        List<Mismatch.FieldMismatch> fields = DecisionFields.ofEnd(told.decision(), of.answer.decision());
        if (!fields.isEmpty()) {
            verdicts.reportMismatch(of.request, told, fields);
        }
        stopWaiting(of);
        submitted.remove(told.source());
    }

    private void matchUnexpectedEnd(LoggedDecision told) {
        Request.Source other = take(
                waiting, Id.of(told.decision()), any -> true); // another of the same id, which a release was taken for
        if (other != null) {
            submitted.remove(other);
        } else if (!hasDropped && !decisions.mayBeDeleted(told.source())) {
            String note = "it ends what does not wait: " + told.decision().reason();
            verdicts.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, told, note));
        }
    }

    /** Takes a release. */
    void matchRelease(LoggedRelease left) {
        Release release = left.release();
        Id id = new Id(release.client(), release.requestId(), release.queue());
        Request.Source source =
                take(waiting, id, one -> queued(one).queueing().key().equals(release.key()));
        if (source != null) {
            verdicts.verifyRelease(submitted.get(source).request, queued(source), left.place(), release);
            submitted.remove(source);
        } else if (releasedCount < MAX_OPEN) {
            released.computeIfAbsent(id, any -> new ArrayList<>(1)).add(new UnmatchedRelease(left));
            releasedCount++;
        } else {
            verdicts.addUnmatchedRelease(left.timestampMs());
            hasDropped = true;
        }
    }

    /** The decision that queued a request which waits. */
    private Decision queued(Request.Source waits) {
        return submitted.get(waits).answer.decision();
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
    void reportUnmatched(boolean hasRouted) {
        for (SubmittedRequest of : submitted.values()) {
            Request.Source source = of.request.source();
            if (of.isWaiting()) {
                verdicts.addUnverified(source, UnverifiedReason.WAITS);
            } else {
                String note =
                        of.recomputed.result() instanceof Admission admission ? "sent to " + admission.queue() : null;
                reportUndecided(of.request, scope.areQueuesDone(), note);
            }
        }
        boolean allRead = scope.hasAllRequests()
                && scope.hasAllDecisions()
                && scope.from() == 0
                && scope.to() >= scope.end()
                && (!hasRouted || (scope.isAllRetained() && scope.isEverythingInScope()))
                && !hasDropped;
        released.forEach((id, all) -> all.forEach(one -> {
            if (allRead) {
                reportUnmatchedRelease(id, one.left.place());
            } else {
                verdicts.addUnmatchedRelease(one.left.timestampMs());
            }
        }));
    }

    /**
     * Judges a request without a decision.
     *
     * @param isDone whether who was to decide it has answered all that it was sent
     */
    void reportUndecided(Request request, boolean isDone, String note) {
        if (decisions.mayBeDeleted(request.source())) {
            verdicts.addUnverified(request.source(), UnverifiedReason.NOT_RETAINED);
        } else if (!isDone || !decisions.isDue(request.source())) {
            verdicts.addUnverified(request.source(), UnverifiedReason.NOT_YET);
        } else {
            verdicts.report(DecisionVerifier.mismatch(Kind.UNDECIDED, request, null, note));
        }
    }

    private void reportUnmatchedRelease(Id id, RecordPosition place) {
        String note = "it was released by " + id.queue + " and did not wait there";
        verdicts.reportAlways(
                new Mismatch(Kind.WRONG_QUEUE_EXITS, null, place, id.client, id.requestId, List.of(), note));
    }

    private void remember(LoggedDecision told) {
        recent.put(told.source(), told.place());
        if (recent.size() > RECENT) {
            Iterator<Request.Source> oldest = recent.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }
}
