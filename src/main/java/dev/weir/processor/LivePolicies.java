package dev.weir.processor;

import dev.weir.codec.AppliedRules;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.QueueRules;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The policies and queues of this process, as the policies topic has them. One thread updates them, all others read; a
 * table is built when it is first asked for after a change, without keeping the next change waiting.
 */
public final class LivePolicies {

    /** A table and how many changes of policies it has seen. */
    private record Built(PolicyTable table, long changes) {}

    /** With what was deleted; keys sort as policies, then queues, by id. */
    private final Map<String, AppliedRules> byKey = new ConcurrentSkipListMap<>();

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
    public PolicyTable tableWith(List<PolicyFile.Definition.OfPolicy> tried) {
        Set<String> ids = tried.stream().map(PolicyFile.Definition::id).collect(Collectors.toSet());
        Stream<Policy> others = byKey.values().stream()
                .flatMap(rules -> rules.policies().stream())
                .filter(policy -> !ids.contains(policy.id()));
        return new PolicyTable(Stream.concat(
                        others,
                        tried.stream()
                                .map(PolicyFile.Definition.OfPolicy::policy)
                                .map(Policy::always))
                .toList());
    }

    /** {@link #queues} as they would be with these in the places of those that have the same ids. */
    public Map<String, QueueRules> queuesWith(List<PolicyFile.Definition.OfQueue> tried) {
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
        return byKey.values().stream()
                .map(AppliedRules::applied)
                .filter(applied -> !applied.isDeleted())
                .toList();
    }

    /** The policy or queue in force, null if there is none of this id. */
    public PolicyAvro.Applied applied(PolicyAvro.Kind kind, String id) {
        AppliedRules rules = byKey.get(PolicyAvro.key(kind, id));
        return rules == null || rules.applied().isDeleted() ? null : rules.applied();
    }

    /** The version that a record of this key was last of, also a deleted one's; 0 if there is none. */
    long version(String key) {
        AppliedRules rules = byKey.get(key);
        return rules == null ? 0 : rules.applied().version();
    }

    /** Puts a policy or queue in force, or out of it if it was deleted. */
    void put(AppliedRules rules) {
        synchronized (byKey) {
            byKey.put(rules.applied().key(), rules);
        }
        switch (rules.applied().kind()) {
            case POLICY -> policyChanges.incrementAndGet();
            case QUEUE -> {
                if (rules.queue() == null) {
                    removeQueue(rules.applied().id());
                } else {
                    put(rules.queue());
                }
            }
        }
    }

    /** Puts a queue in force. */
    void put(QueueRules queue) {
        queues.put(queue.id(), queue);
        queueChanges.incrementAndGet();
    }

    /** Forgets a policy or queue, and the count of its versions. */
    void remove(String key) {
        AppliedRules rules = byKey.remove(key);
        if (rules == null) {
            return;
        }
        switch (rules.applied().kind()) {
            case POLICY -> policyChanges.incrementAndGet();
            case QUEUE -> removeQueue(rules.applied().id());
        }
    }

    private void removeQueue(String id) {
        if (queues.remove(id) != null) {
            queueChanges.incrementAndGet();
        }
    }

    private synchronized PolicyTable rebuild() {
        long changes = policyChanges.get();
        if (built.changes != changes) {
            List<AppliedRules> all;
            synchronized (
                    byKey) { // a table with a change has all earlier changes too: audit can rebuild no other table
                all = List.copyOf(byKey.values());
            }
            List<Policy> policies =
                    all.stream().flatMap(rules -> rules.policies().stream()).toList();
            built = new Built(new PolicyTable(policies), changes);
        }
        return built.table;
    }
}
