package dev.weir.failure;

import dev.weir.app.Recomputation;
import dev.weir.codec.DecisionAvro;
import dev.weir.failure.Evidence.Entry;
import dev.weir.policy.Admission;
import dev.weir.policy.Decision;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.Ruling;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The committed decisions are those that the same code takes of the request log, partition by partition, byte for byte. Of
 * what goes to a queue, whose answer depends on the clock, only where it is sent and by which policy.
 */
final class AsRecomputed {

    private static final DecisionAvro AVRO = new DecisionAvro();

    private AsRecomputed() {}

    static Finding check(Evidence evidence, Answers answers, RuleHistory rules) {
        Finding.Notes notes = new Finding.Notes(
                "2 as-recomputed", "decisions byte for byte", "sent to a queue", "versions of policies");
        notes.count("versions of policies", rules.versions());
        long firstMs =
                evidence.requests().stream().mapToLong(Entry::timestampMs).min().orElse(Long.MAX_VALUE);
        rules.changedAtOnceAfter(firstMs)
                .forEach(change -> notes.fault(change.key() + " version " + change.version()
                        + " came into force at once, among the requests: nobody can tell before which"));
        PolicyTable table = rules.table();
        for (List<Entry> partition : evidence.requestsByPartition().values()) {
            Recomputation core = new Recomputation(table, evidence.config().state());
            for (Entry entry : partition) {
                Request request = evidence.request(entry).request();
                if (request != null) {
                    compare(request, core.decide(request), answers.to(entry.place()), notes);
                }
            }
        }
        return notes.done();
    }

    private static void compare(Request request, Ruling expected, List<Entry> told, Finding.Notes notes) {
        for (Entry entry : told) {
            if (expected instanceof Admission admission) {
                notes.count("sent to a queue");
                compare(request, admission, entry.decision(), notes);
            } else {
                notes.count("decisions byte for byte");
                Decision decision = (Decision) expected;
                if (!Arrays.equals(AVRO.encode(decision), entry.value())) {
                    notes.fault(Oracle.at(request) + ", policy " + decision.policyId() + ": is " + entry.decision()
                            + ", should be " + decision);
                }
            }
        }
    }

    private static void compare(Request request, Admission admission, Decision decision, Finding.Notes notes) {
        boolean same = decision.queueing() != null
                && decision.queueing().queue().equals(admission.queue())
                && Objects.equals(decision.policyId(), admission.policyId())
                && Objects.equals(decision.policyVersion(), admission.policyVersion())
                && decision.repeated() == admission.repeated();
        if (!same) {
            notes.fault(Oracle.at(request) + ", policy " + admission.policyId() + " version "
                    + admission.policyVersion() + ": should be sent to " + admission.queue() + ", is " + decision);
        }
    }
}
