package dev.weir.processor;

import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFold;
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
 * The policies and queues in force in this process, as read from the policies topic. One thread updates them; any
 * thread may read. The policy table is rebuilt on the first read after a change, which does not block further changes.
 */
public final class PolicyRegistry {

    /** A table and the number of policy changes that it contains. */
    private record Built(PolicyTable table, long changes) {}

    private final PolicyFold<DecodedPolicyRecord> rules = PolicyFold.ofRules();
    private final Map<String, QueueRules> queues = new ConcurrentHashMap<>();
    private final AtomicLong policyChanges = new AtomicLong();
    private final AtomicLong queueChanges = new AtomicLong();
    private volatile Built built = new Built(PolicyTable.EMPTY, 0);

    /** Returns the policies in force. */
    public PolicyTable table() {
        Built current = built;
        return current.changes == policyChanges.get() ? current.table : rebuild();
    }

    /** Returns the rules of the queue in force with this id, null if there is none. */
    public QueueRules queue(String id) {
        return queues.get(id);
    }

    /** Returns the queues in force by id. */
    public Map<String, QueueRules> queues() {
        return Map.copyOf(queues);
    }

    /**
     * Returns {@link #table} with these definitions in place of the ones with the same ids. They are in force at all
     * times: their {@code effective-from} and {@code effective-until} are ignored.
     */
    public PolicyTable tableWith(List<PolicyFile.Definition.PolicyDefinition> tried) {
        Set<String> ids = tried.stream().map(PolicyFile.Definition::id).collect(Collectors.toSet());
        Stream<Policy> others = rules.all().stream()
                .flatMap(one -> one.policies().stream())
                .filter(policy -> !ids.contains(policy.id()));
        return new PolicyTable(Stream.concat(
                        others,
                        tried.stream()
                                .map(PolicyFile.Definition.PolicyDefinition::policy)
                                .map(Policy::alwaysEffective))
                .toList());
    }

    /** Returns {@link #queues} with these definitions in place of the ones with the same ids. */
    public Map<String, QueueRules> queuesWith(List<PolicyFile.Definition.QueueDefinition> tried) {
        Map<String, QueueRules> with = new HashMap<>(queues);
        tried.forEach(queue -> with.put(queue.id(), queue.queue()));
        return with;
    }

    /**
     * Returns the number of changes to the queues. A thread that reads this number first and the queues next finds them
     * with at least that many changes.
     */
    public long changes() {
        return queueChanges.get();
    }

    /** Returns what is in force: policies first, then queues, each sorted by id. */
    public List<PolicyAvro.Applied> applied() {
        return rules.inForce();
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
            changed(put.rules().applied(), put.rules().queue());
        } else if (step instanceof PolicyFold.Step.Remove && before.isPresent()) {
            changed(before.get().applied(), null);
        }
        return step;
    }

    /** @param queue null if the queue was deleted, or if a policy has changed */
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
            // one atomic copy, because audit can rebuild only tables that contain all changes up to some point
            List<Policy> policies =
                    rules.all().stream().flatMap(one -> one.policies().stream()).toList();
            built = new Built(new PolicyTable(policies), changes);
        }
        return built.table;
    }
}
