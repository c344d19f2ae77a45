package dev.weir.processor;

import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.QueueRules;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The policies and queues of this application, as the policies topic has them. One thread updates them, all stream threads
 * decide by them; a table is built when it is first asked for after a change.
 */
public final class LivePolicies {

    private final Map<String, Policy> policies = new HashMap<>();
    private final Map<String, QueueRules> queues = new ConcurrentHashMap<>();
    private final AtomicLong queueChanges = new AtomicLong();
    private volatile PolicyTable table = PolicyTable.EMPTY;

    /** The policies in force. */
    public PolicyTable table() {
        PolicyTable current = table;
        return current == null ? rebuild() : current;
    }

    /** The rules of a queue in force, null if there is none of this id. */
    public QueueRules queue(String id) {
        return queues.get(id);
    }

    /** Grows after each change of the queues: who reads them after it finds them as new as it, or newer. */
    public long changes() {
        return queueChanges.get();
    }

    /** Puts a policy in force. */
    synchronized void put(Policy policy) {
        policies.put(policy.id(), policy);
        table = null;
    }

    /** Puts a queue in force. */
    void put(QueueRules queue) {
        queues.put(queue.id(), queue);
        queueChanges.incrementAndGet();
    }

    /** Takes a policy out of force. */
    synchronized void removePolicy(String id) {
        policies.remove(id);
        table = null;
    }

    /** Takes a queue out of force. */
    void removeQueue(String id) {
        if (queues.remove(id) != null) {
            queueChanges.incrementAndGet();
        }
    }

    private synchronized PolicyTable rebuild() {
        if (table == null) {
            table = new PolicyTable(policies.values());
        }
        return table;
    }
}
