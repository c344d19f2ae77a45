package dev.weir.audit;

import dev.weir.audit.DecisionLog.Told;
import dev.weir.audit.Mismatch.Kind;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.audit.ReplayOrder.Asked;
import dev.weir.audit.ReplayOrder.Placing;
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
 * Decides the requests of one task again, in the order in which they were decided, and compares what was committed: the requests of the
 * task's own partition and those that were routed to it from other partitions.
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
    private final DecisionMatcher pairing;
    private final ReplayOrder order;
    private final RoutedRequests routed;
    private final MisplacedPartitions misplaced;
    private final SharedQuotaAudit sums;
    private final Recomputation recomputation;
    private final Heard heard = new Heard();
    private boolean hasBegun;
    private boolean hasRouted;

    /** What the others of the same audit share. */
    public record Shared(
            MisplacedPartitions misplaced,
            SharedQuotaAudit sums,
            AuditSummary totals,
            Consumer<Mismatch> differences) {}

    /**
     * Begins.
     *
     * @param shared with the audits of the other partitions
     */
    public PartitionAudit(AuditContext tools, AuditScope scope, PartitionRecords records, Shared shared) {
        this.tools = tools;
        this.scope = scope;
        this.records = records;
        misplaced = shared.misplaced;
        sums = shared.sums;
        verdicts = new DecisionVerifier(scope, tools.rules(), shared.totals, shared.differences);
        decisions = new DecisionLog(tools, scope, records, verdicts);
        pairing = new DecisionMatcher(scope, decisions, verdicts);
        order = new ReplayOrder(decisions, scope.partition(), this::take);
        routed = new RoutedRequests(tools, scope, records.others(), this::unanswered);
        recomputation = new Recomputation(tools, scope);
    }

    /** Judges all. */
    public void run() {
        while (records.requests().hasNext()) {
            ConsumerRecord<byte[], byte[]> record = records.requests().next();
            if (record.offset() >= scope.to() && !order.hasJudged(scope)) {
                order.stopAt(record.offset());
                break;
            }
            if (!hasBegun) {
                decisions.begin(record);
                hasBegun = true;
            }
            readDecisions(record.offset());
            judge(record);
            decisions.readReleases(pairing::release);
        }
        readDecisions(Long.MAX_VALUE);
        order.end();
        misplaced.partitionsFor(scope.partition()).forEach(routed::begin);
        routed.end();
        misplaced.done(scope.partition(), routed::hasBegun, scope.decisionsWhole());
        decisions.readAllReleases(pairing::release);
        pairing.end(hasRouted);
        decisions.end();
    }

    private void readDecisions(long offset) {
        boolean isFull = decisions.readAhead(offset, heard);
        while (isFull && order.makeRoom(offset)) {
            isFull = decisions.readAhead(offset, heard);
        }
    }

    /** Takes decisions that are on no request to come of the own partition. */
    private final class Heard implements DecisionLog.Listener {

        @Override
        public void routed(Told told) {
            if (!hasRouted && !scope.isAllRetained()) {
                recomputation.doubtAll(UnverifiedReason.BEFORE_THE_LOG); // of what others sent here, some is not there
            }
            hasRouted = true;
            if (order.late(told)) {
                return;
            }
            if (told.source().offset() < scope.bounds(told.source().partition()).begin()) {
                return;
            }
            Request request = routed.take(told.source());
            if (request == null) {
                pairing.late(told);
            } else {
                judgeDeadLetters(request, records.deadLettersOf(request.source()));
                order.routed(new Asked(request, new ArrayList<>(List.of(told)), false, 0, decisions.readMs()));
            }
        }

        @Override
        public void late(Told told) {
            if (!order.late(told)) {
                pairing.late(told);
            }
        }

        @Override
        public int kept() {
            return order.size();
        }
    }

    private void judge(ConsumerRecord<byte[], byte[]> record) {
        List<Told> told = decisions.takeDecisions(record.offset());
        List<AuditedDeadLetter> letters = decisions.takeDeadLetters(record.offset());
        Request.Source source = new Request.Source(record.partition(), record.offset());
        verdicts.addRequest(source, letters.size());
        Request request;
        try {
            request = tools.requests()
                    .read(record.key(), record.value(), record.headers(), Math.max(0, record.timestamp()), source);
        } catch (UnreadableException e) {
            judgeBad(source, record.timestamp(), e.rejection(), letters);
            told.forEach(one -> verdicts.report(
                    DecisionVerifier.difference(Kind.UNASKED, one, e.rejection().name())));
            return;
        }
        if (isRejectedAsAhead(record, told, letters)) {
            return; // it was compared with a clock, of which the dead letter is the record
        }
        int task = scope.taskOf().applyAsInt(request.client());
        if (task != scope.partition()) {
            judgeMisplaced(request, task, record.timestamp(), letters);
            told.forEach(one -> verdicts.report(
                    DecisionVerifier.difference(Kind.UNASKED, one, "its client belongs to partition " + task)));
            return;
        }
        judgeDeadLetters(request, letters);
        order.own(new Asked(
                request,
                new ArrayList<>(told),
                !letters.isEmpty(),
                tools.rules().longestWaitMs(request),
                decisions.readMs()));
    }

    /** Reports the dead letters of a request that is to be decided by this task, or was. */
    private void judgeDeadLetters(Request request, List<AuditedDeadLetter> letters) {
        for (AuditedDeadLetter letter : letters) {
            String note = "it is a request, and a dead letter for " + letter.reason();
            verdicts.report(DecisionVerifier.difference(Kind.DEAD_LETTER, request, letter.place(), note));
        }
    }

    private void take(Asked asked, Placing placing) {
        Request request = asked.request();
        Told first = asked.first();
        if (first == null && mayStillWait(asked)) {
            verdicts.unjudged(request.source(), UnverifiedReason.NOT_YET);
            return;
        }
        if (placing == Placing.IMPOSSIBLE) {
            verdicts.impossibleOrder(request, first);
        }
        Recomputed recomputed = recomputation.of(request, first, placing == Placing.KNOWN);
        if (asked.isOnLimits()) {
            sums.add(request, first, recomputed.shared());
        }
        pairing.request(request, recomputed, asked.told(), first, asked.isDead());
    }

    /** Whether nothing was decided any more when its wait was over. */
    private boolean mayStillWait(Asked asked) {
        return asked.canWait()
                && !asked.isDead()
                && !decisions.mayBeDeleted(asked.request().source())
                && decisions.readMs()
                        <= asked.readMs()
                                + asked.longestWaitMs()
                                + scope.range().lag().toMillis();
    }

    /** A request that was routed here has no decision. */
    private void unanswered(Request request) {
        boolean isRouted = tools.config().requests().misplaced() == WeirConfig.Misplaced.ROUTE;
        if (isRouted && records.deadLettersOf(request.source()).isEmpty()) { // else its own partition judges that
            pairing.undecided(request, true, "it belongs to partition " + scope.partition());
        }
    }

    /** A request that another task decides. */
    private void judgeMisplaced(Request request, int task, long timestampMs, List<AuditedDeadLetter> letters) {
        if (!letters.isEmpty() || tools.config().requests().misplaced() == WeirConfig.Misplaced.DEAD_LETTER) {
            judgeBad(request.source(), timestampMs, Rejection.MISPLACED, letters);
        } else if (misplaced.isUnread(task, scope.partition())) {
            boolean isDue = decisions.isDue(request.source()) && scope.isRoutedDone(task);
            if (!misplaced.isWhole(task) || !isDue) {
                verdicts.unjudged(request.source(), isDue ? UnverifiedReason.NOT_RETAINED : UnverifiedReason.NOT_YET);
            } else {
                String note = "it belongs to partition " + task;
                verdicts.report(DecisionVerifier.difference(Kind.UNDECIDED, request, null, note));
            }
        } else {
            misplaced.add(task, scope.partition());
        }
    }

    private static boolean isRejectedAsAhead(
            ConsumerRecord<byte[], byte[]> record, List<Told> told, List<AuditedDeadLetter> letters) {
        return record.timestampType() == TimestampType.CREATE_TIME
                && told.isEmpty()
                && letters.size() == 1
                && Objects.equals(letters.get(0).reason(), Rejection.TIMESTAMP_AHEAD.name());
    }

    private void judgeBad(
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
            verdicts.unjudged(source, UnverifiedReason.NOT_RETAINED);
        } else if (!decisions.isDue(source)) {
            verdicts.unjudged(source, UnverifiedReason.NOT_YET);
        } else {
            String note = "there is no dead letter for " + rejection;
            verdicts.report(new Mismatch(Kind.DEAD_LETTER, source, null, null, null, List.of(), note));
        }
    }
}
