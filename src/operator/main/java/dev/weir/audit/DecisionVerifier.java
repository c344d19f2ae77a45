package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.DecisionFields;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Compares recorded decisions with recomputed ones, and reports and counts those in the range. {@link AuditSummary}
 * adds up the results of all partitions.
 */
final class DecisionVerifier {

    private static final long NANOS_PER_MS = 1_000_000;

    private final AuditScope scope;
    private final PolicyTimeline rules;
    private final AuditSummary totals;
    private final Consumer<Mismatch> mismatches;

    DecisionVerifier(AuditScope scope, PolicyTimeline rules, AuditSummary totals, Consumer<Mismatch> differences) {
        this.scope = scope;
        this.rules = rules;
        this.totals = totals;
        this.mismatches = differences;
    }

    /** Verifies a request's decision on limits. Is called at most once per request, in the order of the decisions. */
    void verifyLimits(Request request, LoggedDecision recorded, Recomputed recomputed) {
        if (recomputed.unverified() != null) {
            addUnverified(request.source(), recomputed.unverified());
        } else if (recomputed.result() instanceof Decision expected) {
            if (!matches(recorded.decision(), expected)) {
                reportMismatch(request, recorded, DecisionFields.of(recorded.decision(), expected));
            } else if (scope.isInScope(request.source())) {
                totals.addEqual();
            }
        } else {
            reportMismatch(request, recorded, DecisionFields.of(recorded.decision(), (Admission) recomputed.result()));
        }
    }

    /** Returns whether all fields that can be recomputed are equal. */
    private static boolean matches(Decision recorded, Decision expected) {
        return recorded.equals(expected);
    }

    /** Verifies the first decision of a queue on a request that was sent to it. */
    void verifyQueued(Request request, LoggedDecision recorded, Recomputed recomputed) {
        if (recomputed.unverified() != null) {
            addUnverified(request.source(), recomputed.unverified());
            return;
        }
        List<Mismatch.FieldMismatch> fields =
                new ArrayList<>(DecisionFields.of(recorded.decision(), (Admission) recomputed.result()));
        fields.addAll(rules.queueKeys().faults(request, recorded.decision()));
        if (!fields.isEmpty()) {
            reportMismatch(request, recorded, fields);
        } else if (scope.isInScope(request.source())) {
            totals.addSentToQueue();
        }
    }

    /** Verifies the release of a queued request. */
    void verifyRelease(Request request, Decision queued, RecordPosition place, Release release) {
        List<Mismatch.FieldMismatch> fields = rules.queueKeys().faults(request, queued, release);
        if (!fields.isEmpty()) {
            report(new Mismatch(
                    Kind.DIFFERS, request.source(), place, request.client(), request.requestId(), fields, null));
        }
        Long notBeforeMs = request.notBeforeMs();
        if (notBeforeMs != null && Math.floorDiv(release.releaseAtNanos(), NANOS_PER_MS) < notBeforeMs) {
            String note = "it is released before " + notBeforeMs + ", its notBefore";
            report(mismatch(Kind.WRONG_QUEUE_EXITS, request, place, note));
        }
    }

    /** Reports a decision that differs from the expected one. */
    void reportMismatch(Request request, LoggedDecision recorded, List<Mismatch.FieldMismatch> fields) {
        Decision decision = recorded.decision();
        boolean isUnknown =
                decision.policyId() != null && !rules.hasVersion(decision.policyId(), decision.policyVersion());
        String note =
                isUnknown ? "policy " + decision.policyId() + " never had version " + decision.policyVersion() : null;
        report(new Mismatch(
                Kind.DIFFERS, request.source(), recorded.place(), request.client(), request.requestId(), fields, note));
    }

    /** Reports a decision that records an impossible position. */
    void reportImpossibleOrder(Request request, LoggedDecision recorded) {
        DecisionOrder order = recorded.order();
        String note = "it records an impossible position: after offset %d, step %d"
                .formatted(order.afterOffset(), order.step());
        report(mismatch(Kind.DIFFERS, request, recorded.place(), note));
    }

    void addRequest(Request.Source source, int deadLetters) {
        if (scope.isInScope(source)) {
            totals.addRequest();
            for (int i = 0; i < deadLetters; i++) {
                totals.addDeadLetter();
            }
        }
    }

    void addDecision(Request.Source source) {
        if (scope.isInScope(source)) {
            totals.addDecision();
        }
    }

    void addUnverified(Request.Source source, UnverifiedReason reason) {
        if (scope.isInScope(source)) {
            totals.add(reason);
        }
    }

    /**
     * Counts a release whose wait is unknown.
     *
     * @param timestampMs when it was written, ms since the epoch
     */
    void addUnmatchedRelease(long timestampMs) {
        if (scope.range().contains(timestampMs)) {
            totals.add(UnverifiedReason.RELEASE_UNMATCHED);
        }
    }

    void reportUnreadable(ConsumerRecord<byte[], byte[]> record, RecordPosition place, UnreadableException e) {
        report(new Mismatch(Kind.UNREADABLE, null, place, null, null, List.of(), e.getMessage()), record.timestamp());
    }

    /** Reports a mismatch of a request if the request is in the range. */
    void report(Mismatch difference) {
        if (scope.isInScope(difference.request())) {
            reportAlways(difference);
        }
    }

    /** Reports a mismatch that belongs to no request, if its own time, in ms since the epoch, is in the range. */
    void report(Mismatch difference, long timestampMs) {
        if (scope.range().contains(timestampMs)) {
            reportAlways(difference);
        }
    }

    /** Reports a mismatch, whatever the range is. */
    void reportAlways(Mismatch difference) {
        totals.add(difference.kind());
        mismatches.accept(difference);
    }

    static Mismatch mismatch(Kind kind, LoggedDecision recorded, String note) {
        Decision decision = recorded.decision();
        return new Mismatch(
                kind, decision.source(), recorded.place(), decision.client(), decision.requestId(), List.of(), note);
    }

    static Mismatch mismatch(Kind kind, Request request, RecordPosition place, String note) {
        return new Mismatch(kind, request.source(), place, request.client(), request.requestId(), List.of(), note);
    }

    static Mismatch unasked(Request.Source source, AuditedDeadLetter letter, String note) {
        return new Mismatch(Kind.NO_REQUEST, source, letter.place(), null, null, List.of(), note);
    }
}
