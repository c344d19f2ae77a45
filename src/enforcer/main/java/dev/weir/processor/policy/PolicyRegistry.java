package dev.weir.processor.policy;

import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFold;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The policies and queues in force in this process, as read from the policies topic. One thread updates them; any
 * thread may read.
 */
public final class PolicyRegistry {

    private final PolicyFold<DecodedPolicyRecord> rules = PolicyFold.ofRules();
    private final AtomicInteger policies = new AtomicInteger();
    private volatile RulesInForce inForce = RulesInForce.NONE;

    /** Returns the policies and queues in force, with all changes up to some point. */
    public RulesInForce inForce() {
        return inForce;
    }

    /** Returns the policies in force, with all changes up to some point. */
    public PolicyTable table() {
        return inForce.policies();
    }

    /** Returns the number of policies or queues in force. */
    public int size(PolicyAvro.Kind kind) {
        return kind == PolicyAvro.Kind.POLICY ? policies.get() : queues().size();
    }

    /** Returns the rules of the queue in force with this id, null if there is none. */
    public QueueRules queue(String id) {
        return inForce.queue(id);
    }

    /** Returns the queues in force by id. */
    public Map<String, QueueRules> queues() {
        return inForce.queues();
    }

    /**
     * Returns {@link #table} with these definitions in place of the ones with the same ids. They are in force at all
     * times: their {@code effective-from} and {@code effective-until} are ignored.
     */
    public PolicyTable tableWith(List<PolicyFile.Definition.PolicyDefinition> tried) {
        PolicyTable with = table();
        for (PolicyFile.Definition.PolicyDefinition one : tried) {
            with = with.with(one.id(), List.of(one.policy().alwaysEffective()));
        }
        return with;
    }

    /** Returns {@link #queues} with these definitions in place of the ones with the same ids. */
    public Map<String, QueueRules> queuesWith(List<PolicyFile.Definition.QueueDefinition> tried) {
        Map<String, QueueRules> with = queues();
        tried.forEach(queue -> with.put(queue.id(), queue.queue()));
        return with;
    }

    /** Returns the number of changes to the queues. */
    public long queueChanges() {
        return inForce.queueChanges();
    }

    /** Returns what is in force: policies first, then queues, each sorted by id. */
    public List<PolicyAvro.Applied> applied() {
        return rules.inForce();
    }

    /** Returns the policies, or the queues, in force, sorted by id. */
    public List<PolicyAvro.Applied> applied(PolicyAvro.Kind kind) {
        return rules.inForce(kind);
    }

    /** Returns the policy or queue in force with this id, null if there is none. */
    public PolicyAvro.Applied applied(PolicyAvro.Kind kind, String id) {
        return rules.get(PolicyAvro.key(kind, id))
                .map(DecodedPolicyRecord::applied)
                .filter(applied -> !applied.isDeleted())
                .orElse(null);
    }

    /** Applies the next record of the policies topic. */
    PolicyFold.Step add(String key, byte[] value) {
        Optional<DecodedPolicyRecord> before = key == null ? Optional.empty() : rules.get(key);
        PolicyFold.Step step = rules.add(key, value);
        if (step instanceof PolicyFold.Step.Put put) {
            changed(put.rules().applied(), put.rules());
        } else if (step instanceof PolicyFold.Step.Remove && before.isPresent()) {
            changed(before.get().applied(), null);
        }
        return step;
    }

    /** @param next null if there is none */
    private void changed(PolicyAvro.Applied applied, DecodedPolicyRecord next) {
        String id = applied.id();
        switch (applied.kind()) {
            case POLICY -> {
                List<Policy> versions = next == null ? List.of() : next.policies();
                policies.addAndGet((versions.isEmpty() ? 0 : 1) - (table().latest(id) == null ? 0 : 1));
                inForce = inForce.withPolicies(table().with(id, versions));
            }
            case QUEUE -> inForce = inForce.withQueue(id, next == null ? null : next.queue());
        }
    }

    /** Puts a queue in force. */
    public void put(QueueRules queue) {
        inForce = inForce.withQueue(queue.id(), queue);
    }
}
