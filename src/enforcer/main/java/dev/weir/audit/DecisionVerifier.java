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
import dev.weir.wire.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Holds what was told against what is recomputed, and tells and counts what is in the range. What is found on several
 * partitions comes together in {@link AuditSummary}.
 */
final class DecisionVerifier {

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

    /**
     * Judges a request's decision on limits: of each request one at most comes by here, in the order of their
     * decisions.
     */
    void verifyLimits(Request request, LoggedDecision told, Recomputed recomputed) {
        if (recomputed.unverified() != null) {
            addUnverified(request.source(), recomputed.unverified());
        } else if (recomputed.result() instanceof Decision expected) {
            if (!matches(told.decision(), expected)) {
                reportMismatch(request, told, DecisionFields.of(told.decision(), expected));
            } else if (scope.isInScope(request.source())) {
                totals.addEqual();
            }
        } else {
            reportMismatch(request, told, DecisionFields.of(told.decision(), (Admission) recomputed.result()));
        }
    }

    /** Whether all fields are the same that can be recomputed. */
    private static boolean matches(Decision told, Decision expected) {
        return told.equals(expected);
    }

    /** Judges the first that a queue tells of a request that was sent to it. */
    void verifyQueued(Request request, LoggedDecision told, Recomputed recomputed) {
        if (recomputed.unverified() != null) {
            addUnverified(request.source(), recomputed.unverified());
            return;
        }
        List<Mismatch.FieldMismatch> fields =
                new ArrayList<>(DecisionFields.of(told.decision(), (Admission) recomputed.result()));
        fields.addAll(rules.queueKeys().faults(request, told.decision()));
        if (!fields.isEmpty()) {
            reportMismatch(request, told, fields);
        } else if (scope.isInScope(request.source())) {
            totals.addSentToQueue();
        }
    }

    /** Judges the release of a request that a decision queued. */
    void verifyRelease(Request request, Decision queued, RecordPosition place, Release release) {
        List<Mismatch.FieldMismatch> fields = rules.queueKeys().faults(request, queued, release);
        if (!fields.isEmpty()) {
            report(new Mismatch(
                    Kind.DIFFERS, request.source(), place, request.client(), request.requestId(), fields, null));
        }
    }

    /** Tells of a decision that it should be another one. */
    void reportMismatch(Request request, LoggedDecision told, List<Mismatch.FieldMismatch> fields) {
        Decision decision = told.decision();
        boolean isUnknown =
                decision.policyId() != null && !rules.hasVersion(decision.policyId(), decision.policyVersion());
        String note =
                isUnknown ? "policy " + decision.policyId() + " never had version " + decision.policyVersion() : null;
        report(new Mismatch(
                Kind.DIFFERS, request.source(), told.place(), request.client(), request.requestId(), fields, note));
    }

    /** Tells that a decision records a position that it cannot have had. */
    void reportImpossibleOrder(Request request, LoggedDecision told) {
        DecisionOrder order = told.order();
        String note = "it records the position after offset %d, step %d, where it cannot have been decided"
                .formatted(order.afterOffset(), order.step());
        report(mismatch(Kind.DIFFERS, request, told.place(), note));
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

    void addUnverified(Request.Source source, UnverifiedReason why) {
        if (scope.isInScope(source)) {
            totals.add(why);
        }
    }

    /** Counts a release of that time, ms since the epoch, that ends no wait which is known. */
    void addUnmatchedRelease(long timestampMs) {
        if (scope.range().contains(timestampMs)) {
            totals.add(UnverifiedReason.RELEASE_UNMATCHED);
        }
    }

    void reportUnreadable(ConsumerRecord<byte[], byte[]> record, RecordPosition place, UnreadableException e) {
        report(new Mismatch(Kind.UNREADABLE, null, place, null, null, List.of(), e.getMessage()), record.timestamp());
    }

    /** Tells what is on a request of this partition, if that is in the range. */
    void report(Mismatch difference) {
        if (scope.isInScope(difference.request())) {
            reportAlways(difference);
        }
    }

    /** Tells what is on no request of this partition, if its own time, ms since the epoch, is in the range. */
    void report(Mismatch difference, long timestampMs) {
        if (scope.range().contains(timestampMs)) {
            reportAlways(difference);
        }
    }

    /** Tells it whatever the range is. */
    void reportAlways(Mismatch difference) {
        totals.add(difference.kind());
        mismatches.accept(difference);
    }

    static Mismatch mismatch(Kind kind, LoggedDecision told, String note) {
        Decision decision = told.decision();
        return new Mismatch(
                kind, decision.source(), told.place(), decision.client(), decision.requestId(), List.of(), note);
    }

    static Mismatch mismatch(Kind kind, Request request, RecordPosition place, String note) {
        return new Mismatch(kind, request.source(), place, request.client(), request.requestId(), List.of(), note);
    }

    static Mismatch unasked(Request.Source source, AuditedDeadLetter letter, String note) {
        return new Mismatch(Kind.NO_REQUEST, source, letter.place(), null, null, List.of(), note);
    }
}
