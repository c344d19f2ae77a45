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
 * Matches each request with its decision, and each wait in a queue with the decision or release that ends it. Reports
 * those that have none, or more than one.
 *
 * <pre>
 *   request ──▶ decided on limits
 *      │
 *      └─▶ sent to a queue ──▶ denied
 *                  └─▶ waits ──▶ expired, evicted or cancelled
 *                        └─▶ released
 * </pre>
 *
 * <p>A queue may answer at any time. Requests that were sent to a queue are therefore kept until the queue answers, and
 * queued requests until their wait ends.
 */
final class DecisionMatcher {

    private static final int RECENT = 10_000;

    /** The maximum number of requests in queues that are kept. */
    private static final int MAX_OPEN = 1_000_000;

    private record Id(String client, String requestId, String queue) {
        static Id of(Decision decision) {
            return new Id(
                    decision.client(), decision.requestId(), decision.queueing().queue());
        }
    }

    /** A release whose wait has not been found. */
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
     * Matches a request.
     *
     * @param recorded the buffered decisions on it
     * @param first the decision on limits among them, or else the first; null if there is none
     * @param isDead whether the request has a dead letter
     */
    void matchRequest(
            Request request,
            Recomputed recomputed,
            List<LoggedDecision> recorded,
            LoggedDecision first,
            boolean isDead) {
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
        for (LoggedDecision one : recorded) {
            if (!isOnLimits || !one.equals(first)) {
                matchFurther(one, request, recomputed);
            }
        }
    }

    /** Matches a decision on an earlier request. */
    void matchLate(LoggedDecision recorded) {
        SubmittedRequest of = submitted.get(recorded.source());
        matchFurther(recorded, of == null ? null : of.request, of == null ? null : of.recomputed);
    }

    /** Matches a decision that is not the first decision on the limits of its request. */
    private void matchFurther(LoggedDecision recorded, Request request, Recomputed recomputed) {
        SubmittedRequest of = submitted.get(recorded.source());
        if (recorded.isByQueue() && of != null && recorded.decision().endsWait() == of.isWaiting()) {
            if (of.isWaiting()) {
                matchEnd(recorded, of);
            } else {
                matchQueueAnswer(recorded, of);
            }
        } else if (recorded.isByQueue() && recorded.decision().endsWait()) {
            matchUnexpectedEnd(recorded);
        } else if (recent.containsKey(recorded.source()) || of != null) {
            RecordPosition before =
                    of == null ? recent.get(recorded.source()) : of.isWaiting() ? of.answer.place() : null;
            String note = before == null ? null : "the first is " + before;
            verdicts.report(DecisionVerifier.mismatch(Kind.SECOND, recorded, note));
        } else if (request != null && recomputed != null && recomputed.result() instanceof Decision expected) {
            remember(recorded);
            verdicts.reportMismatch(request, recorded, DecisionFields.of(recorded.decision(), expected));
        } else {
            String note = "it is out of order, or its request does not exist";
            verdicts.report(DecisionVerifier.mismatch(Kind.NO_REQUEST, recorded, note));
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

    /** Matches the first answer of a queue. */
    private void matchQueueAnswer(LoggedDecision recorded, SubmittedRequest of) {
        remember(recorded);
        verdicts.verifyQueued(of.request, recorded, of.recomputed);
        Decision decision = recorded.decision();
        boolean waits = decision.outcome() == Outcome.QUEUED
                && !decision.repeated()
                && of.request.kind() == dev.weir.event.RequestKind.CONSUME;
        Id id = of.id(decision.queueing().queue());
        UnmatchedRelease release =
                waits ? take(released, id, one -> one.isOf(decision.queueing().key())) : null;
        if (!waits) {
            submitted.remove(recorded.source());
        } else if (release != null) {
            releasedCount--;
            submitted.remove(recorded.source());
            verdicts.verifyRelease(of.request, decision, release.left.place(), release.left.release());
        } else {
            of.answer = recorded;
            waiting.computeIfAbsent(id, any -> new ArrayList<>(1)).add(recorded.source());
        }
    }

    /** Matches a decision that ends a wait: expired, evicted or cancelled. */
    private void matchEnd(LoggedDecision recorded, SubmittedRequest of) {
        List<Mismatch.FieldMismatch> fields = DecisionFields.ofEnd(recorded.decision(), of.answer.decision());
        if (!fields.isEmpty()) {
            verdicts.reportMismatch(of.request, recorded, fields);
        }
        stopWaiting(of);
        submitted.remove(recorded.source());
    }

    private void matchUnexpectedEnd(LoggedDecision recorded) {
        // Of several waiting requests with this id, the release may have been matched with the wrong one.
        Request.Source other = take(waiting, Id.of(recorded.decision()), any -> true);
        if (other != null) {
            submitted.remove(other);
        } else if (!hasDropped && !decisions.mayBeDeleted(recorded.source())) {
            String note =
                    "it ends a wait that does not exist: " + recorded.decision().reason();
            verdicts.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, recorded, note));
        }
    }

    /** Matches a release. */
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

    /** Returns the decision that queued a waiting request. */
    private Decision queued(Request.Source waits) {
        return submitted.get(waits).answer.decision();
    }

    /**
     * Removes and returns the first element of an id that is preferred, or else the first of all. Returns null if there
     * is none.
     */
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
     * Reports what is unmatched at the end of the log.
     *
     * @param hasRouted whether the log has requests that were routed from other partitions
     */
    void reportUnmatched(boolean hasRouted) {
        for (SubmittedRequest of : submitted.values()) {
            Request.Source source = of.request.source();
            if (of.isWaiting()) {
                verdicts.addUnverified(source, UnverifiedReason.WAITS);
            } else {
                String note = of.recomputed.result() instanceof Admission admission
                        ? "sent to queue " + admission.queue()
                        : null;
                reportUndecided(of.request, scope.areQueuesDone(), note);
            }
        }
        boolean allRead = scope.retained().allRequests()
                && scope.retained().allDecisions()
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
     * Reports a request without a decision.
     *
     * @param isDone whether the task or queue that must decide it has processed everything that was sent to it
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
        String note = "it was released by queue " + id.queue + ", in which it did not wait";
        verdicts.reportAlways(
                new Mismatch(Kind.WRONG_QUEUE_EXITS, null, place, id.client, id.requestId, List.of(), note));
    }

    private void remember(LoggedDecision recorded) {
        recent.put(recorded.source(), recorded.place());
        if (recent.size() > RECENT) {
            Iterator<Request.Source> oldest = recent.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }
}
