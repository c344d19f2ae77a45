package dev.weir.processor;

import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.QueueRules;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The policies of this process, as the policies topic has them. One thread updates them, all stream threads decide by
 * them; a table is built when it is first asked for after a change.
 */
public final class LivePolicies {

    private final Map<String, Policy> byKey = new HashMap<>();
    private final Map<String, QueueRules> queues = new ConcurrentHashMap<>();
    private volatile long changes;
    private volatile PolicyTable table = PolicyTable.EMPTY;

    /** The policies in force. */
    public PolicyTable table() {
        PolicyTable current = table;
        return current == null ? rebuild() : current;
    }

    /** The rules of a queue, null if there is none. */
    public QueueRules queue(String id) {
        return queues.get(id);
    }

    /** Grows with each change of a queue. */
    public long changes() {
        return changes;
    }

    /** Puts a queue's rules in force. */
    synchronized void put(QueueRules rules) {
        queues.put(rules.id(), rules);
        changes++;
    }

    /** Puts a policy in force. */
    synchronized void put(String key, Policy policy) {
        byKey.put(key, policy);
        table = null;
    }

    /** Takes a policy out of force. */
    synchronized void remove(String key) {
        byKey.remove(key);
        table = null;
    }

    private synchronized PolicyTable rebuild() {
        if (table == null) {
            table = new PolicyTable(byKey.values());
        }
        return table;
    }
}
