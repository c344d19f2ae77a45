package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.DecisionLog.LoggedRelease;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.audit.finding.DecisionFields;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Receipt;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
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
 *                              └─▶ completed, given up, or waits again
 * </pre>
 *
 * <p>A queue may answer at any time. Requests that were sent to a queue are therefore kept until the queue answers, and
 * queued requests until their wait ends. A request whose releases must be acknowledged is kept until it is done or
 * given up.
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
        Receipt attempt; // the last that was released; null if none was
        Decision end; // null until its wait has ended by a decision

        SubmittedRequest(Request request, Recomputed recomputed) {
            this.request = request;
            this.recomputed = recomputed;
        }

        /** Returns whether it waits, or was released and may be released again. */
        boolean isWaiting() {
            return answer != null;
        }

        /** Returns whether a release can be the next one of this request. */
        boolean precedes(Release release) {
            int next = attempt == null ? 1 : attempt.attempt() + 1;
            return answer.decision().queueing().key().equals(release.key())
                    && (release.attempt() == null
                            ? attempt == null
                            : release.attempt().number() == next);
        }

        /** Returns whether a release can be an attempt before the end. The queue's clock dates both. */
        boolean endedAfter(Release release) {
            return release.attempt() != null
                    && precedes(release)
                    && TimeUnit.NANOSECONDS.toMillis(release.releaseAtNanos()) <= end.decidedAtMs();
        }

        Id id(String queue) {
            return new Id(request.client(), request.requestId(), queue);
        }
    }

    private final AuditScope scope;
    private final DecisionLog decisions;
    private final DecisionVerifier verifier;
    private final GivenUpLetters letters;
    private final Map<Request.Source, RecordPosition> recent = new LinkedHashMap<>();
    private final Map<Request.Source, SubmittedRequest> submitted = new LinkedHashMap<>();
    private final Map<Id, List<Request.Source>> waiting = new LinkedHashMap<>();
    private final Map<Id, SubmittedRequest> ended = new LinkedHashMap<>(); // attempts may be read after the end
    private final Map<Id, List<UnmatchedRelease>> released = new LinkedHashMap<>();
    private final Map<Receipt, SubmittedRequest> inFlight = new HashMap<>(); // by the receipt of the first attempt
    private final Map<Receipt, RecordPosition> done = new LinkedHashMap<>(); // attempts without a release so far
    private final Map<Receipt, RecordPosition> completed = new LinkedHashMap<>();
    private int releasedCount;
    private boolean hasDropped;

    DecisionMatcher(AuditScope scope, DecisionLog decisions, DecisionVerifier verifier, GivenUpLetters letters) {
        this.scope = scope;
        this.decisions = decisions;
        this.verifier = verifier;
        this.letters = letters;
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
            verifier.verifyLimits(request, first, recomputed);
            letters.requireNone(request);
            remember(recent, first.source(), first.place());
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
            verifier.report(DecisionVerifier.mismatch(Kind.SECOND, recorded, note));
        } else if (request != null && recomputed != null && recomputed.result() instanceof Decision expected) {
            remember(recent, recorded.source(), recorded.place());
            verifier.reportMismatch(request, recorded, DecisionFields.of(recorded.decision(), expected));
        } else {
            String note = "it is out of order, or its request does not exist";
            verifier.report(DecisionVerifier.mismatch(Kind.NO_REQUEST, recorded, note));
        }
    }

    private void track(Request request, Recomputed recomputed) {
        if (submitted.size() == MAX_OPEN) {
            dropOldest(submitted.values().iterator().next());
        }
        submitted.put(request.source(), new SubmittedRequest(request, recomputed));
    }

    private void dropOldest(SubmittedRequest oldest) {
        if (oldest.attempt == null) {
            verifier.addUnverified(oldest.request.source(), UnverifiedReason.WAITS);
        }
        if (oldest.isWaiting()) {
            stopWaiting(oldest);
        }
        forget(oldest);
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

    private void forget(SubmittedRequest of) {
        submitted.remove(of.request.source());
        if (of.attempt != null) {
            inFlight.remove(of.attempt.ofFirstAttempt());
        }
    }

    /** Matches the first answer of a queue. */
    private void matchQueueAnswer(LoggedDecision recorded, SubmittedRequest of) {
        remember(recent, recorded.source(), recorded.place());
        verifier.verifyQueued(of.request, recorded, of.recomputed);
        Decision decision = recorded.decision();
        boolean waits = decision.outcome() == Outcome.QUEUED
                && !decision.repeated()
                && of.request.kind() == RequestKind.CONSUME;
        if (!waits) {
            submitted.remove(recorded.source());
            letters.requireNone(of.request);
            if (decision.reason() == Reason.COMPLETED && !decision.repeated()) {
                matchCompletion(of.request, recorded.place());
            }
            return;
        }
        of.answer = recorded;
        Id id = of.id(decision.queueing().queue());
        UnmatchedRelease release =
                take(released, id, one -> one.isOf(decision.queueing().key()));
        if (release == null) {
            waiting.computeIfAbsent(id, any -> new ArrayList<>(1)).add(recorded.source());
        } else {
            releasedCount--;
            matchRelease(of, release.left);
            matchEarlierReleases(of, id);
        }
    }

    /** Matches the further attempts that were read before the decision. */
    private void matchEarlierReleases(SubmittedRequest of, Id id) {
        List<UnmatchedRelease> others = released.getOrDefault(id, List.of());
        Optional<UnmatchedRelease> next = others.stream()
                .filter(one -> one.left.release().attempt() != null && of.precedes(one.left.release()))
                .findFirst();
        if (next.isPresent() && submitted.containsKey(of.request.source())) {
            take(released, id, one -> one.equals(next.get()));
            releasedCount--;
            stopWaiting(of);
            matchRelease(of, next.get().left);
            matchEarlierReleases(of, id);
        }
    }

    /** Matches a COMPLETE that the queue has accepted. */
    private void matchCompletion(Request completion, RecordPosition place) {
        Receipt attempt = completion.acknowledgement().attempt();
        RecordPosition before = completed.get(attempt);
        if (before != null) {
            String note = "attempt " + attempt.attempt() + " was completed before: " + before;
            verifier.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, completion, place, note));
            return;
        }
        remember(completed, attempt, place);
        if (completion.acknowledgement().result() == Acknowledgement.Result.DONE) {
            complete(attempt, place);
        }
    }

    /** Ends the request whose attempt is done. */
    private void complete(Receipt attempt, RecordPosition place) {
        SubmittedRequest of = inFlight.get(attempt.ofFirstAttempt());
        if (of == null || of.attempt.attempt() < attempt.attempt()) {
            remember(done, attempt, place);
            return;
        }
        if (of.attempt.attempt() > attempt.attempt()) {
            String note =
                    "attempt " + attempt.attempt() + " was done, but attempt " + of.attempt.attempt() + " was released";
            verifier.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, of.request, place, note));
        }
        stopWaiting(of);
        forget(of);
        letters.requireNone(of.request);
    }

    /** Matches a decision that ends a wait: expired, evicted, cancelled or given up. */
    private void matchEnd(LoggedDecision recorded, SubmittedRequest of) {
        List<Mismatch.FieldMismatch> fields = DecisionFields.ofEnd(recorded.decision(), of.answer.decision());
        if (!fields.isEmpty()) {
            verifier.reportMismatch(of.request, recorded, fields);
        }
        letters.verifyEnd(of.request, recorded);
        stopWaiting(of);
        forget(of);
        of.end = recorded.decision();
        remember(ended, of.id(of.answer.decision().queueing().queue()), of);
    }

    private void matchUnexpectedEnd(LoggedDecision recorded) {
        // Of several waiting requests with this id, the release may have been matched with the wrong one.
        Request.Source other = take(waiting, Id.of(recorded.decision()), any -> true);
        if (other != null) {
            forget(submitted.get(other));
        } else if (!hasDropped && !decisions.mayBeDeleted(recorded.source())) {
            String note =
                    "it ends a wait that does not exist: " + recorded.decision().reason();
            verifier.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, recorded, note));
        }
    }

    /** Matches a release. */
    void matchRelease(LoggedRelease left) {
        Release release = left.release();
        Id id = new Id(release.client(), release.requestId(), release.queue());
        if (ended.containsKey(id) && ended.get(id).endedAfter(release) && !isAwaited(id, release)) {
            verifyAttempt(ended.get(id), left);
            return;
        }
        Request.Source source = take(waiting, id, one -> submitted.get(one).precedes(release));
        if (source != null) {
            matchRelease(submitted.get(source), left);
        } else if (releasedCount < MAX_OPEN) {
            released.computeIfAbsent(id, any -> new ArrayList<>(1)).add(new UnmatchedRelease(left));
            releasedCount++;
        } else {
            verifier.addUnmatchedRelease(left.timestampMs());
            hasDropped = true;
        }
    }

    private boolean isAwaited(Id id, Release release) {
        return waiting.getOrDefault(id, List.of()).stream()
                .anyMatch(one -> submitted.get(one).precedes(release));
    }

    /** Matches a release of a request that is not, or no longer, among those that wait. */
    private void matchRelease(SubmittedRequest of, LoggedRelease left) {
        Release release = left.release();
        if (release.attempt() == null) {
            verifier.verifyRelease(of.request, of.answer.decision(), left.place(), release);
            forget(of);
            letters.requireNone(of.request);
            return;
        }
        if (!verifyAttempt(of, left)) {
            forget(of);
            return;
        }
        inFlight.put(of.attempt.ofFirstAttempt(), of);
        waiting.computeIfAbsent(of.id(release.queue()), any -> new ArrayList<>(1))
                .add(of.request.source());
        RecordPosition completed = done.remove(of.attempt);
        if (completed != null) {
            complete(of.attempt, completed);
        }
    }

    /** Verifies the release of an attempt, which becomes the last one. Returns whether its receipt names it. */
    private boolean verifyAttempt(SubmittedRequest of, LoggedRelease left) {
        Release release = left.release();
        verifier.verifyRelease(of.request, of.answer.decision(), left.place(), release);
        int number = release.attempt().number();
        int before = of.attempt == null ? 0 : of.attempt.attempt();
        boolean isBeforeKnown = before > 0 || scope.retained().allReleases();
        if (isBeforeKnown && number != before + 1) {
            String note =
                    "attempt " + number + " was released " + (before == 0 ? "as the first" : "after attempt " + before);
            verifier.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, of.request, left.place(), note));
        }
        Optional<Receipt> receipt = receipt(release.attempt());
        if (receipt.isEmpty()) {
            String note = "its receipt does not name attempt " + number;
            verifier.report(DecisionVerifier.mismatch(Kind.WRONG_QUEUE_EXITS, of.request, left.place(), note));
            return false;
        }
        of.attempt = receipt.get();
        return true;
    }

    private static Optional<Receipt> receipt(Release.Attempt attempt) {
        try {
            return Optional.of(Receipt.parse(attempt.receipt())).filter(one -> one.attempt() == attempt.number());
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
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
                if (of.attempt == null) {
                    verifier.addUnverified(source, UnverifiedReason.WAITS);
                }
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
        if (allRead && scope.retained().allReleases()) {
            done.forEach(this::reportUnreleased);
        }
        released.forEach((id, all) -> all.forEach(one -> {
            if (allRead) {
                reportUnmatchedRelease(id, one.left.place());
            } else {
                verifier.addUnmatchedRelease(one.left.timestampMs());
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
            verifier.addUnverified(request.source(), UnverifiedReason.NOT_RETAINED);
        } else if (!isDone || !decisions.isDue(request.source())) {
            verifier.addUnverified(request.source(), UnverifiedReason.NOT_YET);
        } else {
            verifier.report(DecisionVerifier.mismatch(Kind.UNDECIDED, request, null, note));
        }
    }

    private void reportUnreleased(Receipt attempt, RecordPosition place) {
        String note = "attempt " + attempt.attempt() + " was done, but not released by queue " + attempt.queue();
        verifier.reportAlways(new Mismatch(Kind.WRONG_QUEUE_EXITS, null, place, null, null, List.of(), note));
    }

    private void reportUnmatchedRelease(Id id, RecordPosition place) {
        String note = "it was released by queue " + id.queue + ", in which it did not wait";
        verifier.reportAlways(
                new Mismatch(Kind.WRONG_QUEUE_EXITS, null, place, id.client, id.requestId, List.of(), note));
    }

    private static <K, V> void remember(Map<K, V> last, K key, V value) {
        last.put(key, value);
        if (last.size() > RECENT) {
            Iterator<K> oldest = last.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }
}
