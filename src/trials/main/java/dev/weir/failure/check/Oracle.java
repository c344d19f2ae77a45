package dev.weir.failure.check;

import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The check of the records of a run against all invariants, which hold whatever was killed during the run. */
public final class Oracle {

    /** The name of the invariant of slots and attempts. */
    public static final String SLOTS = QueueInvariants.SLOTS;

    private Oracle() {}

    /** Checks every invariant, and returns a result for each. */
    public static List<Breach> check(Evidence evidence) {
        DecisionsByRequest answers = new DecisionsByRequest(evidence.decisions().committed());
        PolicyVersionHistory rules = new PolicyVersionHistory(evidence.rules());
        QueueInvariants queues = new QueueInvariants(evidence, answers, rules);
        AuditInvariant audited = new AuditInvariant(evidence, rules);
        Set<Request.Source> shared = evidence.shared(rules);
        OrderedDecisions ordered = OrderedDecisions.of(evidence, answers, rules);
        RecordedOrder order = new RecordedOrder(evidence, answers, shared);
        List<Breach> findings = new ArrayList<>(List.of(
                audited.decidedOnce(order.overtaken()),
                audited.asRecomputed(rules.versions()),
                LimitInvariant.check(ordered, rules),
                queues.endedOnce(audited.endedOtherwise()),
                queues.gapFree(),
                queues.atItsPace(),
                AbortedOutputInvariant.check(evidence, answers, shared, order),
                SharedLimitInvariant.check(ordered, rules)));
        findings.addAll(ReservationInvariant.check(ordered, rules));
        findings.add(queues.withinSlots());
        return findings;
    }

    /** Returns whether every request is decided and every queued request has ended. */
    public static boolean isSettled(Evidence evidence) {
        DecisionsByRequest answers = new DecisionsByRequest(evidence.decisions().committed());
        PolicyVersionHistory rules = new PolicyVersionHistory(evidence.rules());
        QueueInvariants queues = new QueueInvariants(evidence, answers, rules);
        AuditInvariant audited = new AuditInvariant(evidence, rules);
        return audited.decidedOnce(List.of()).isOk()
                && queues.endedOnce(audited.endedOtherwise()).isOk();
    }

    static String at(Request.Source source) {
        return "partition " + source.partition() + ", offset " + source.offset();
    }

    static String at(Request request) {
        return at(request.source()) + ", client " + request.client() + ", " + request.kind() + " "
                + request.requestId();
    }
}
