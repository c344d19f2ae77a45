package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.audit.ReplayOrder.PositionStatus;
import dev.weir.audit.ReplayOrder.ReplayRequest;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.shared.SharedQuotaAudit;
import dev.weir.config.WeirConfig;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;

/**
 * Replays the requests of one task in the order in which they were decided, and compares the results with the committed
 * records. The requests are those of the task's own partition and those that were routed to it from other partitions.
 *
 * <pre>
 *   own requests ─────────────────▶ ReplayOrder ──▶ Recomputation ──▶ DecisionMatcher ──▶ DecisionVerifier
 *   other partitions ──▶ RoutedRequests ─┘                                 │                      │
 *   decisions, releases, dead letters ──▶ DecisionLog ─────────────────────┘                      ▼
 *                                                                               mismatches, AuditSummary
 * </pre>
 */
public final class PartitionAudit {

    private final AuditContext context;
    private final AuditScope scope;
    private final PartitionRecords records;
    private final DecisionVerifier verifier;
    private final DecisionLog decisions;
    private final DecisionMatcher matcher;
    private final ReplayOrder order;
    private final RoutedRequests routed;
    private final MisplacedPartitions misplaced;
    private final SharedQuotaAudit sharedQuotas;
    private final Recomputation recomputation;
    private final OutOfOrderListener outOfOrder = new OutOfOrderListener();
    private boolean hasBegun;
    private boolean hasRouted;

    /** The state that the audits of all partitions share. */
    public record SharedState(
            MisplacedPartitions misplaced,
            SharedQuotaAudit sharedQuotas,
            AuditSummary totals,
            Consumer<Mismatch> mismatches) {}

    /**
     * Creates an audit of one task.
     *
     * @param shared the state shared with the audits of the other tasks
     */
    public PartitionAudit(AuditContext context, AuditScope scope, PartitionRecords records, SharedState shared) {
        this.context = context;
        this.scope = scope;
        this.records = records;
        misplaced = shared.misplaced;
        sharedQuotas = shared.sharedQuotas;
        verifier = new DecisionVerifier(scope, context.rules(), shared.totals, shared.mismatches);
        decisions = new DecisionLog(context, scope, records, verifier);
        matcher = new DecisionMatcher(scope, decisions, verifier, new GivenUpLetters(scope, records, verifier));
        order = new ReplayOrder(decisions, scope.partition(), this::replay);
        routed = new RoutedRequests(context, scope, records.otherPartitions(), this::reportUnanswered);
        recomputation = new Recomputation(context, scope);
    }

    /** Verifies all requests of the task. */
    public void run() {
        while (records.requests().hasNext()) {
            ConsumerRecord<byte[], byte[]> record = records.requests().next();
            if (record.offset() >= scope.to() && !order.hasInScope(scope)) {
                order.stopAt(record.offset());
                break;
            }
            if (!hasBegun) {
                decisions.begin(record);
                hasBegun = true;
            }
            readDecisions(record.offset());
            auditRequest(record);
            decisions.readReleases(matcher::matchRelease);
        }
        readDecisions(Long.MAX_VALUE);
        order.handleRemaining();
        misplaced.partitionsFor(scope.partition()).forEach(routed::openPartition);
        routed.readRemaining();
        misplaced.audited(scope.partition(), routed::hasBegun, scope.retained().allDecisions());
        decisions.readAllReleases(matcher::matchRelease);
        matcher.reportUnmatched(hasRouted);
        decisions.reportUnmatched();
    }

    private void readDecisions(long offset) {
        boolean isFull = decisions.readAhead(offset, outOfOrder);
        while (isFull && order.makeRoom(offset)) {
            isFull = decisions.readAhead(offset, outOfOrder);
        }
    }

    /** Receives the decisions that do not belong to a later request of the own partition. */
    private final class OutOfOrderListener implements DecisionLog.DecisionListener {

        @Override
        public void routed(LoggedDecision recorded) {
            if (!hasRouted && !scope.isAllRetained()) {
                recomputation.markAllUnknown(
                        UnverifiedReason.BEFORE_RETENTION); // some routed requests may have been deleted
            }
            hasRouted = true;
            if (order.addLateDecision(recorded)) {
                return;
            }
            if (recorded.source().offset()
                    < scope.bounds(recorded.source().partition()).begin()) {
                return;
            }
            Request request = routed.take(recorded.source());
            if (request == null) {
                matcher.matchLate(recorded);
            } else {
                reportDeadLetters(request, ofReader(records.deadLettersOf(request.source())));
                order.addRouted(
                        new ReplayRequest(request, new ArrayList<>(List.of(recorded)), false, 0, decisions.readToMs()));
            }
        }

        @Override
        public void late(LoggedDecision recorded) {
            if (!order.addLateDecision(recorded)) {
                matcher.matchLate(recorded);
            }
        }

        @Override
        public int size() {
            return order.size();
        }
    }

    private void auditRequest(ConsumerRecord<byte[], byte[]> record) {
        List<LoggedDecision> recorded = decisions.takeDecisions(record.offset());
        List<AuditedDeadLetter> letters = decisions.takeDeadLetters(record.offset());
        Request.Source source = new Request.Source(record.partition(), record.offset());
        verifier.addRequest(source, letters.size());
        Request request;
        try {
            request = context.requests()
                    .read(record.key(), record.value(), record.headers(), Math.max(0, record.timestamp()), source);
        } catch (UnreadableException e) {
            auditRejected(source, record.timestamp(), e.rejection(), letters);
            recorded.forEach(one -> verifier.report(DecisionVerifier.mismatch(
                    Kind.NO_REQUEST, one, e.rejection().name())));
            return;
        }
        if (isRejectedAsAhead(record, recorded, letters)) {
            return; // the comparison with the clock cannot be repeated; the dead letter records its result
        }
        int task = scope.taskOf().applyAsInt(request.client());
        if (task != scope.partition()) {
            auditMisplaced(request, task, record.timestamp(), letters);
            recorded.forEach(one -> verifier.report(
                    DecisionVerifier.mismatch(Kind.NO_REQUEST, one, "its client belongs to partition " + task)));
            return;
        }
        List<AuditedDeadLetter> ofReader = ofReader(letters);
        reportDeadLetters(request, ofReader);
        order.addOwn(new ReplayRequest(
                request,
                new ArrayList<>(recorded),
                !ofReader.isEmpty(),
                context.rules().longestWaitMs(request),
                decisions.readToMs()));
    }

    /** Returns the dead letters without those of queues. */
    private static List<AuditedDeadLetter> ofReader(List<AuditedDeadLetter> letters) {
        return letters.stream()
                .filter(letter -> !GivenUpLetters.isByQueue(letter))
                .toList();
    }

    /** Reports the dead letters of a request that this task must decide or has decided. */
    private void reportDeadLetters(Request request, List<AuditedDeadLetter> letters) {
        for (AuditedDeadLetter letter : letters) {
            String note = "the request is valid, but has a dead letter with reason " + letter.reason();
            verifier.report(DecisionVerifier.mismatch(Kind.DEAD_LETTER, request, letter.place(), note));
        }
    }

    private void replay(ReplayRequest replayRequest, PositionStatus placing) {
        Request request = replayRequest.request();
        LoggedDecision first = replayRequest.firstDecision();
        if (first == null && mayStillWait(replayRequest)) {
            verifier.addUnverified(request.source(), UnverifiedReason.NOT_YET);
            return;
        }
        if (placing == PositionStatus.IMPOSSIBLE) {
            verifier.reportImpossibleOrder(request, first);
        }
        Recomputed recomputed = recomputation.recompute(request, first, placing == PositionStatus.KNOWN);
        if (replayRequest.isDecidedByLimits()) {
            sharedQuotas.add(request, first.decision(), first.place(), recomputed.shared(), recomputed.reserves());
        }
        matcher.matchRequest(request, recomputed, replayRequest.decisions(), first, replayRequest.isDeadLetter());
    }

    /** Returns whether the log ends before the request's longest wait is over. */
    private boolean mayStillWait(ReplayRequest replayRequest) {
        return replayRequest.canWait()
                && !replayRequest.isDeadLetter()
                && !decisions.mayBeDeleted(replayRequest.request().source())
                && decisions.readToMs()
                        <= replayRequest.readToMs()
                                + replayRequest.longestWaitMs()
                                + scope.range().policyLag().toMillis();
    }

    /** Reports a routed request without a decision. */
    private void reportUnanswered(Request request) {
        boolean isRouted = context.config().requests().misplaced() == WeirConfig.MisplacedAction.ROUTE;
        // A dead letter is reported by the audit of the request's own partition.
        if (isRouted && ofReader(records.deadLettersOf(request.source())).isEmpty()) {
            matcher.reportUndecided(request, true, "it belongs to partition " + scope.partition());
        }
    }

    /** Audits a request that another task must decide. */
    private void auditMisplaced(Request request, int task, long timestampMs, List<AuditedDeadLetter> letters) {
        List<AuditedDeadLetter> ofReader = ofReader(letters);
        if (!ofReader.isEmpty() || context.config().requests().misplaced() == WeirConfig.MisplacedAction.DEAD_LETTER) {
            auditRejected(request.source(), timestampMs, Rejection.MISPLACED, ofReader);
        } else if (misplaced.isUnread(task, scope.partition())) {
            boolean isDue = decisions.isDue(request.source()) && scope.isRoutedDone(task);
            if (!misplaced.hasAllDecisions(task) || !isDue) {
                verifier.addUnverified(
                        request.source(), isDue ? UnverifiedReason.NOT_RETAINED : UnverifiedReason.NOT_YET);
            } else {
                String note = "it belongs to partition " + task;
                verifier.report(DecisionVerifier.mismatch(Kind.UNDECIDED, request, null, note));
            }
        } else {
            misplaced.add(task, scope.partition());
        }
    }

    private static boolean isRejectedAsAhead(
            ConsumerRecord<byte[], byte[]> record, List<LoggedDecision> recorded, List<AuditedDeadLetter> letters) {
        return record.timestampType() == TimestampType.CREATE_TIME
                && recorded.isEmpty()
                && letters.size() == 1
                && Objects.equals(letters.get(0).reason(), Rejection.TIMESTAMP_AHEAD.name());
    }

    private void auditRejected(
            Request.Source source, long timestampMs, Rejection rejection, List<AuditedDeadLetter> letters) {
        for (AuditedDeadLetter letter : letters) {
            if (!Objects.equals(letter.reason(), rejection.name())) {
                String note = "its reason is " + letter.reason() + ", should be " + rejection;
                verifier.report(new Mismatch(Kind.DEAD_LETTER, source, letter.place(), null, null, List.of(), note));
            }
        }
        if (letters.size() > 1) {
            verifier.report(new Mismatch(
                    Kind.DEAD_LETTER, source, letters.get(1).place(), null, null, List.of(), "it is the second one"));
        }
        if (!letters.isEmpty()) {
            return;
        }
        if (timestampMs <= scope.retained().deadLettersFromMs()) {
            verifier.addUnverified(source, UnverifiedReason.NOT_RETAINED);
        } else if (!decisions.isDue(source)) {
            verifier.addUnverified(source, UnverifiedReason.NOT_YET);
        } else {
            String note = "a dead letter with reason " + rejection + " is missing";
            verifier.report(new Mismatch(Kind.DEAD_LETTER, source, null, null, null, List.of(), note));
        }
    }
}
