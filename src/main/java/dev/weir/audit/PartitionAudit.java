package dev.weir.audit;

import dev.weir.audit.Answers.Told;
import dev.weir.audit.Difference.Kind;
import dev.weir.audit.InTurn.Asked;
import dev.weir.audit.Recomputation.Recomputed;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;

/**
 * Decides the requests of one partition anew, in the order of their decisions, and holds what was committed against it.
 *
 * <pre>
 *   requests ──▶ InTurn ───▶ Recomputation ──▶ Pairing ──▶ Verdicts ──▶ differences, Totals
 *   decisions, releases, ──▶ Answers ─────────────┘
 *   dead letters
 * </pre>
 */
public final class PartitionAudit {

    private final Tools tools;
    private final Scope scope;
    private final Records records;
    private final Verdicts verdicts;
    private final Answers answers;
    private final Pairing pairing;
    private final InTurn inTurn;
    private final Sums sums;
    private Recomputation recomputation;
    private boolean hasTaken;

    /**
     * Begins.
     *
     * @param sums is told what was taken of shared quota
     * @param differences is told each
     */
    public PartitionAudit(
            Tools tools, Scope scope, Records records, Sums sums, Totals totals, Consumer<Difference> differences) {
        this.tools = tools;
        this.scope = scope;
        this.records = records;
        verdicts = new Verdicts(scope, tools.rules(), totals, differences);
        answers = new Answers(tools, scope, records, verdicts, sums);
        pairing = new Pairing(scope, answers, verdicts);
        inTurn = new InTurn(answers, this::take);
        this.sums = sums;
    }

    /** Judges all. */
    public void run() {
        while (records.requests().hasNext()) {
            ConsumerRecord<byte[], byte[]> record = records.requests().next();
            if (record.offset() >= scope.to()) {
                break;
            }
            if (recomputation == null) {
                answers.begin(record);
                recomputation = new Recomputation(tools, scope, answers, record.timestamp());
            }
            answers.readAhead(record.offset(), this::late);
            judge(record);
            answers.readReleases(pairing::release);
        }
        answers.readAhead(Long.MAX_VALUE, this::late);
        inTurn.end();
        answers.readAllReleases(pairing::release);
        pairing.end();
        answers.end();
        sums.knownFrom(answers.knownFromMs());
    }

    private void late(Told told) {
        if (!inTurn.late(told)) {
            pairing.late(told);
        }
    }

    private void judge(ConsumerRecord<byte[], byte[]> record) {
        List<Told> told = answers.takeDecisions(record.offset());
        List<DeadLetter> letters = answers.takeDeadLetters(record.offset());
        Request.Source source = new Request.Source(record.partition(), record.offset());
        verdicts.addRequest(source, letters.size());
        Request request;
        try {
            request = tools.requests()
                    .read(record.key(), record.value(), record.headers(), Math.max(0, record.timestamp()), source);
        } catch (UnreadableException e) {
            judgeBad(source, record.timestamp(), e.rejection(), letters);
            told.forEach(one -> verdicts.report(
                    Verdicts.difference(Kind.UNASKED, one, e.rejection().name())));
            return;
        }
        for (DeadLetter letter : letters) {
            String note = "it is a request, and a dead letter for " + letter.reason();
            verdicts.report(Verdicts.difference(Kind.DEAD_LETTER, request, letter.place(), note));
        }
        boolean isAppended = record.timestampType() == TimestampType.LOG_APPEND_TIME;
        inTurn.ask(new Asked(
                request,
                new ArrayList<>(told),
                !letters.isEmpty(),
                isAppended ? record.timestamp() : Long.MIN_VALUE,
                tools.rules().longestWaitMs(request),
                answers.readMs()));
    }

    private void take(Asked asked, boolean isPlaced) {
        Request request = asked.request();
        Told first = asked.first();
        recomputation.decidedFrom(asked.decidedFromMs());
        if (first == null && mayStillWait(asked)) {
            verdicts.unjudged(request.source(), Unjudged.NOT_YET);
            return;
        }
        Recomputed recomputed = recomputation.of(request, first, isPlaced);
        if (asked.isOnLimits()) {
            if (!scope.requestsWhole() && !hasTaken) {
                sums.knownFrom(first.timestampMs()); // on a topic of create times the request says nothing of that
            }
            hasTaken = true;
            sums.add(request, first, recomputed.shared());
        }
        pairing.request(request, recomputed, asked.told(), first, asked.isDead());
    }

    /** Whether nothing was decided any more when its wait was over. */
    private boolean mayStillWait(Asked asked) {
        return asked.canWait()
                && !asked.isDead()
                && !answers.mayBeDeleted(asked.offset())
                && answers.readMs()
                        <= asked.readMs()
                                + asked.longestWaitMs()
                                + scope.range().lag().toMillis();
    }

    private void judgeBad(Request.Source source, long timestampMs, Rejection rejection, List<DeadLetter> letters) {
        for (DeadLetter letter : letters) {
            if (!Objects.equals(letter.reason(), rejection.name())) {
                String note = "it is there for " + letter.reason() + ", should be for " + rejection;
                verdicts.report(new Difference(Kind.DEAD_LETTER, source, letter.place(), null, null, List.of(), note));
            }
        }
        if (letters.size() > 1) {
            verdicts.report(new Difference(
                    Kind.DEAD_LETTER, source, letters.get(1).place(), null, null, List.of(), "there is one already"));
        }
        if (!letters.isEmpty()) {
            return;
        }
        if (timestampMs <= scope.deadLettersFromMs()) {
            verdicts.unjudged(source, Unjudged.NOT_RETAINED);
        } else if (!answers.isDue(source)) {
            verdicts.unjudged(source, Unjudged.NOT_YET);
        } else {
            String note = "there is no dead letter for " + rejection;
            verdicts.report(new Difference(Kind.DEAD_LETTER, source, null, null, null, List.of(), note));
        }
    }
}
