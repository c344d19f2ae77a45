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
import dev.weir.wire.UnreadableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;

/**
 * Decides the requests of one task again, in the order in which they were decided, and compares what was committed: the
 * requests of the task's own partition and those that were routed to it from other partitions.
 *
 * <pre>
 *   requests of the partition ──▶ ReplayOrder ──▶ Recomputation ──▶ Pairing ──▶ Verdicts ──▶ differences, Totals
 *   of others ──▶ RoutedRequests ─────┘                               │
 *   decisions, releases, dead letters ──▶ DecisionLog ────────────────┘
 * </pre>
 */
public final class PartitionAudit {

    private final AuditContext tools;
    private final AuditScope scope;
    private final PartitionRecords records;
    private final DecisionVerifier verdicts;
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

    /** What the others of the same audit share. */
    public record SharedState(
            MisplacedPartitions misplaced,
            SharedQuotaAudit sharedQuotas,
            AuditSummary totals,
            Consumer<Mismatch> mismatches) {}

    /**
     * Begins.
     *
     * @param shared with the audits of the other partitions
     */
    public PartitionAudit(AuditContext tools, AuditScope scope, PartitionRecords records, SharedState shared) {
        this.tools = tools;
        this.scope = scope;
        this.records = records;
        misplaced = shared.misplaced;
        sharedQuotas = shared.sharedQuotas;
        verdicts = new DecisionVerifier(scope, tools.rules(), shared.totals, shared.mismatches);
        decisions = new DecisionLog(tools, scope, records, verdicts);
        matcher = new DecisionMatcher(scope, decisions, verdicts);
        order = new ReplayOrder(decisions, scope.partition(), this::replay);
        routed = new RoutedRequests(tools, scope, records.otherPartitions(), this::reportUnanswered);
        recomputation = new Recomputation(tools, scope);
    }

    /** Judges all. */
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
        misplaced.audited(scope.partition(), routed::hasBegun, scope.hasAllDecisions());
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

    /** Takes decisions that are on no request to come of the own partition. */
    private final class OutOfOrderListener implements DecisionLog.DecisionListener {

        @Override
        public void routed(LoggedDecision told) {
            if (!hasRouted && !scope.isAllRetained()) {
                recomputation.markAllUnknown(
                        UnverifiedReason.BEFORE_RETENTION); // of what others sent here, some is not there
            }
            hasRouted = true;
            if (order.addLateDecision(told)) {
                return;
            }
            if (told.source().offset() < scope.bounds(told.source().partition()).begin()) {
                return;
            }
            Request request = routed.take(told.source());
            if (request == null) {
                matcher.matchLate(told);
            } else {
                reportDeadLetters(request, records.deadLettersOf(request.source()));
                order.addRouted(
                        new ReplayRequest(request, new ArrayList<>(List.of(told)), false, 0, decisions.readToMs()));
            }
        }

        @Override
        public void late(LoggedDecision told) {
            if (!order.addLateDecision(told)) {
                matcher.matchLate(told);
            }
        }

        @Override
        public int size() {
            return order.size();
        }
    }

    private void auditRequest(ConsumerRecord<byte[], byte[]> record) {
        List<LoggedDecision> told = decisions.takeDecisions(record.offset());
        List<AuditedDeadLetter> letters = decisions.takeDeadLetters(record.offset());
        Request.Source source = new Request.Source(record.partition(), record.offset());
        verdicts.addRequest(source, letters.size());
        Request request;
        try {
            request = tools.requests()
                    .read(record.key(), record.value(), record.headers(), Math.max(0, record.timestamp()), source);
        } catch (UnreadableException e) {
            auditRejected(source, record.timestamp(), e.rejection(), letters);
            told.forEach(one -> verdicts.report(DecisionVerifier.mismatch(
                    Kind.NO_REQUEST, one, e.rejection().name())));
            return;
        }
        if (isRejectedAsAhead(record, told, letters)) {
            return; // it was compared with a clock, of which the dead letter is the record
        }
        int task = scope.taskOf().applyAsInt(request.client());
        if (task != scope.partition()) {
            auditMisplaced(request, task, record.timestamp(), letters);
            told.forEach(one -> verdicts.report(
                    DecisionVerifier.mismatch(Kind.NO_REQUEST, one, "its client belongs to partition " + task)));
            return;
        }
        reportDeadLetters(request, letters);
        order.addOwn(new ReplayRequest(
                request,
                new ArrayList<>(told),
                !letters.isEmpty(),
                tools.rules().longestWaitMs(request),
                decisions.readToMs()));
    }

    /** Reports the dead letters of a request that is to be decided by this task, or was. */
    private void reportDeadLetters(Request request, List<AuditedDeadLetter> letters) {
        for (AuditedDeadLetter letter : letters) {
            String note = "it is a request, and a dead letter for " + letter.reason();
            verdicts.report(DecisionVerifier.mismatch(Kind.DEAD_LETTER, request, letter.place(), note));
        }
    }

    private void replay(ReplayRequest asked, PositionStatus placing) {
        Request request = asked.request();
        LoggedDecision first = asked.firstDecision();
        if (first == null && mayStillWait(asked)) {
            verdicts.addUnverified(request.source(), UnverifiedReason.NOT_YET);
            return;
        }
        if (placing == PositionStatus.IMPOSSIBLE) {
            verdicts.reportImpossibleOrder(request, first);
        }
        Recomputed recomputed = recomputation.recompute(request, first, placing == PositionStatus.KNOWN);
        if (asked.isDecidedByLimits()) {
            sharedQuotas.add(
                    request, first.decision(), first.place(), first.source().offset(), recomputed.shared());
        }
        matcher.matchRequest(request, recomputed, asked.decisions(), first, asked.isDeadLetter());
    }

    /** Whether nothing was decided any more when its wait was over. */
    private boolean mayStillWait(ReplayRequest asked) {
        return asked.canWait()
                && !asked.isDeadLetter()
                && !decisions.mayBeDeleted(asked.request().source())
                && decisions.readToMs()
                        <= asked.readToMs()
                                + asked.longestWaitMs()
                                + scope.range().policyLag().toMillis();
    }

    /** A request that was routed here has no decision. */
    private void reportUnanswered(Request request) {
        boolean isRouted = tools.config().requests().misplaced() == WeirConfig.MisplacedAction.ROUTE;
        if (isRouted && records.deadLettersOf(request.source()).isEmpty()) { // else its own partition judges that
            matcher.reportUndecided(request, true, "it belongs to partition " + scope.partition());
        }
    }

    /** A request that another task decides. */
    private void auditMisplaced(Request request, int task, long timestampMs, List<AuditedDeadLetter> letters) {
        if (!letters.isEmpty() || tools.config().requests().misplaced() == WeirConfig.MisplacedAction.DEAD_LETTER) {
            auditRejected(request.source(), timestampMs, Rejection.MISPLACED, letters);
        } else if (misplaced.isUnread(task, scope.partition())) {
            boolean isDue = decisions.isDue(request.source()) && scope.isRoutedDone(task);
            if (!misplaced.hasAllDecisions(task) || !isDue) {
                verdicts.addUnverified(
                        request.source(), isDue ? UnverifiedReason.NOT_RETAINED : UnverifiedReason.NOT_YET);
            } else {
                String note = "it belongs to partition " + task;
                verdicts.report(DecisionVerifier.mismatch(Kind.UNDECIDED, request, null, note));
            }
        } else {
            misplaced.add(task, scope.partition());
        }
    }

    private static boolean isRejectedAsAhead(
            ConsumerRecord<byte[], byte[]> record, List<LoggedDecision> told, List<AuditedDeadLetter> letters) {
        return record.timestampType() == TimestampType.CREATE_TIME
                && told.isEmpty()
                && letters.size() == 1
                && Objects.equals(letters.get(0).reason(), Rejection.TIMESTAMP_AHEAD.name());
    }

    private void auditRejected(
            Request.Source source, long timestampMs, Rejection rejection, List<AuditedDeadLetter> letters) {
        for (AuditedDeadLetter letter : letters) {
            if (!Objects.equals(letter.reason(), rejection.name())) {
                String note = "it is there for " + letter.reason() + ", should be for " + rejection;
                verdicts.report(new Mismatch(Kind.DEAD_LETTER, source, letter.place(), null, null, List.of(), note));
            }
        }
        if (letters.size() > 1) {
            verdicts.report(new Mismatch(
                    Kind.DEAD_LETTER, source, letters.get(1).place(), null, null, List.of(), "there is one already"));
        }
        if (!letters.isEmpty()) {
            return;
        }
        if (timestampMs <= scope.deadLettersFromMs()) {
            verdicts.addUnverified(source, UnverifiedReason.NOT_RETAINED);
        } else if (!decisions.isDue(source)) {
            verdicts.addUnverified(source, UnverifiedReason.NOT_YET);
        } else {
            String note = "there is no dead letter for " + rejection;
            verdicts.report(new Mismatch(Kind.DEAD_LETTER, source, null, null, null, List.of(), note));
        }
    }
}
