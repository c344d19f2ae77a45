package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import java.util.List;

/**
 * Verifies the dead letters of requests that queues have given up: each has one with the reason of the decision that
 * ended it, and no other request has one.
 */
record GivenUpLetters(AuditScope scope, PartitionRecords records, DecisionVerifier verifier) {

    /** Returns whether a queue writes dead letters with this reason. */
    static boolean isByQueue(AuditedDeadLetter letter) {
        return Rejection.ATTEMPTS_EXHAUSTED.name().equals(letter.reason())
                || Rejection.FAILED.name().equals(letter.reason());
    }

    private List<AuditedDeadLetter> of(Request request) {
        return records.deadLettersOf(request.source()).stream()
                .filter(GivenUpLetters::isByQueue)
                .toList();
    }

    /** Verifies a request that was not given up. */
    void requireNone(Request request) {
        for (AuditedDeadLetter letter : of(request)) {
            String note = "the request was not given up, but has a dead letter with reason " + letter.reason();
            verifier.report(DecisionVerifier.mismatch(Kind.DEAD_LETTER, request, letter.place(), note));
        }
    }

    /** Verifies a queued request that a decision ended. */
    void verifyEnd(Request request, LoggedDecision end) {
        Decision decision = end.decision();
        if (decision.reason() != Reason.ATTEMPTS_EXHAUSTED && decision.reason() != Reason.FAILED) {
            requireNone(request);
            return;
        }
        List<AuditedDeadLetter> letters = of(request);
        boolean isMissing =
                letters.isEmpty() && end.timestampMs() > scope.retained().deadLettersFromMs();
        boolean isWrong = letters.size() > 1
                || letters.stream().anyMatch(letter -> !decision.reason().name().equals(letter.reason()));
        if (isMissing || isWrong) {
            String note = "it should have one dead letter with reason " + decision.reason();
            verifier.report(DecisionVerifier.mismatch(Kind.DEAD_LETTER, request, end.place(), note));
        }
    }
}
