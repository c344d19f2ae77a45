package dev.weir.audit.history;

import dev.weir.audit.finding.DecisionFields;
import dev.weir.audit.finding.Mismatch.FieldMismatch;
import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The key fields of queues, which verify the recorded keys of requests. The key fields of a queue change only if it is
 * deleted and created again. Decisions do not record which version of the queue was in force, so a key that matches any
 * known version is accepted.
 */
public final class QueueKeyFields {

    private static final String NAME = "queueKey";
    private static final String QUEUES = PolicyAvro.key(PolicyAvro.Kind.QUEUE, "");
    private static final PolicyAvro AVRO = new PolicyAvro();

    /** The known versions of each queue, oldest first. */
    private final Map<String, List<QueueRules>> versions = new HashMap<>();

    /** @param inOrder the versions in the order in which they came into force; policies are ignored */
    QueueKeyFields(List<PolicyTimeline.RecordedVersion> inOrder) {
        for (PolicyTimeline.RecordedVersion written : inOrder) {
            if (written.key().startsWith(QUEUES) && written.applied() != null) {
                add(written);
            }
        }
    }

    private void add(PolicyTimeline.RecordedVersion written) {
        try {
            QueueRules rules = DecodedPolicyRecord.read(written.key(), AVRO.encode(written.applied()), 0)
                    .queue();
            if (rules != null) {
                versions.computeIfAbsent(rules.id(), id -> new ArrayList<>(1)).add(rules);
            }
        } catch (UnreadableException e) {
            // never in force
        }
    }

    /**
     * Returns the fault of the key of a QUEUED decision. Decisions on requests that do not wait may have no key,
     * because their queue was not known yet.
     */
    public List<FieldMismatch> faults(Request request, Decision decision) {
        return decision.outcome() != Outcome.QUEUED
                        || isPossible(
                                decision.queueing().queue(),
                                request,
                                decision.queueing().key())
                ? List.of()
                : fault(
                        decision.queueing().key(),
                        newest(decision.queueing().queue()).keyOf(request));
    }

    /** Returns the fault of the key of a release, given the decision that queued its request. */
    public List<FieldMismatch> faults(Request request, Decision queued, Release release) {
        Map<String, String> key = queued.queueing().key();
        if (release.key().equals(key)) {
            return List.of(); // a wrong key has been reported for the decision
        }
        boolean isDecisionWrong = !isPossible(release.queue(), request, key);
        if (isDecisionWrong && isPossible(release.queue(), request, release.key())) {
            return List.of();
        }
        return fault(release.key(), isDecisionWrong ? newest(release.queue()).keyOf(request) : key);
    }

    private boolean isPossible(String queue, Request request, Map<String, String> key) {
        List<QueueRules> known = versions.getOrDefault(queue, List.of());
        boolean hasUnretained = known.isEmpty() || known.stream().allMatch(rules -> rules.version() > 1);
        return hasUnretained
                || known.stream().anyMatch(rules -> rules.keyOf(request).equals(key));
    }

    private QueueRules newest(String queue) {
        List<QueueRules> known = versions.get(queue);
        return known.get(known.size() - 1);
    }

    private static List<FieldMismatch> fault(Map<String, String> recorded, Map<String, String> expected) {
        return List.of(DecisionFields.of(NAME, new TreeMap<>(recorded), new TreeMap<>(expected)));
    }
}
