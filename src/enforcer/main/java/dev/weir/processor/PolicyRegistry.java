package dev.weir.processor;

import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFold;
import dev.weir.definition.PolicyRecordReader;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The policies and queues of this process, as the policies topic has them. One thread updates them, all others read; a
 * table is built when it is first asked for after a change, without keeping the next change waiting.
 */
public final class PolicyRegistry {

    /** A table and how many changes of policies it has seen. */
    private record Built(PolicyTable table, long changes) {}

    private final PolicyFold<PolicyRecordReader> rules = PolicyFold.ofRules();
    private final Map<String, QueueRules> queues = new ConcurrentHashMap<>();
    private final AtomicLong policyChanges = new AtomicLong();
    private final AtomicLong queueChanges = new AtomicLong();
    private volatile Built built = new Built(PolicyTable.EMPTY, 0);

    /** The policies in force. */
    public PolicyTable table() {
        Built current = built;
        return current.changes == policyChanges.get() ? current.table : rebuild();
    }

    /** The rules of a queue in force, null if there is none of this id. */
    public QueueRules queue(String id) {
        return queues.get(id);
    }

    /** The queues in force, by id. */
    public Map<String, QueueRules> queues() {
        return Map.copyOf(queues);
    }

    /** {@link #table} as it would be with these in the places of those that have the same ids, at all times. */
    public PolicyTable tableWith(List<PolicyFile.Definition.PolicyDefinition> tried) {
        Set<String> ids = tried.stream().map(PolicyFile.Definition::id).collect(Collectors.toSet());
        Stream<Policy> others = rules.all().stream()
                .flatMap(one -> one.policies().stream())
                .filter(policy -> !ids.contains(policy.id()));
        return new PolicyTable(Stream.concat(
                        others,
                        tried.stream()
                                .map(PolicyFile.Definition.PolicyDefinition::policy)
                                .map(Policy::withoutEffectiveFrom))
                .toList());
    }

    /** {@link #queues} as they would be with these in the places of those that have the same ids. */
    public Map<String, QueueRules> queuesWith(List<PolicyFile.Definition.QueueDefinition> tried) {
        Map<String, QueueRules> with = new HashMap<>(queues);
        tried.forEach(queue -> with.put(queue.id(), queue.queue()));
        return with;
    }

    /** Grows after each change of the queues: who reads them after it finds them as new as it, or newer. */
    public long changes() {
        return queueChanges.get();
    }

    /** What is in force: policies, then queues, each by id. */
    public List<PolicyAvro.Applied> applied() {
        return rules.inForce();
    }

    /** The policy or queue in force, null if there is none of this id. */
    public PolicyAvro.Applied applied(PolicyAvro.Kind kind, String id) {
        return rules.get(PolicyAvro.key(kind, id))
                .map(PolicyRecordReader::applied)
                .filter(applied -> !applied.isDeleted())
                .orElse(null);
    }

    /** Adds the next record of the policies topic. */
    PolicyFold.Step add(String key, byte[] value) {
        Optional<PolicyRecordReader> before = key == null ? Optional.empty() : rules.get(key);
        PolicyFold.Step step = rules.add(key, value);
        if (step instanceof PolicyFold.Step.Put put) {
            changed(put.rules().applied(), put.rules().queue());
        } else if (step instanceof PolicyFold.Step.Remove && before.isPresent()) {
            changed(before.get().applied(), null);
        }
        return step;
    }

    /** @param queue null if it is out of force, or this is a policy */
    private void changed(PolicyAvro.Applied applied, QueueRules queue) {
        switch (applied.kind()) {
            case POLICY -> policyChanges.incrementAndGet();
            case QUEUE -> {
                if (queue == null) {
                    removeQueue(applied.id());
                } else {
                    put(queue);
                }
            }
        }
    }

    /** Puts a queue in force. */
    void put(QueueRules queue) {
        queues.put(queue.id(), queue);
        queueChanges.incrementAndGet();
    }

    private void removeQueue(String id) {
        if (queues.remove(id) != null) {
            queueChanges.incrementAndGet();
        }
    }

    private synchronized PolicyTable rebuild() {
        long changes = policyChanges.get();
        if (built.changes != changes) {
            List<Policy> policies = rules.all().stream() // audit can rebuild only tables with all earlier changes
                    .flatMap(one -> one.policies().stream())
                    .toList();
            built = new Built(new PolicyTable(policies), changes);
        }
        return built.table;
    }
}
