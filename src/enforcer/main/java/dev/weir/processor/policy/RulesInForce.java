package dev.weir.processor.policy;

import dev.weir.policy.PolicyTable;
import dev.weir.policy.RadixTree;
import dev.weir.shape.rules.QueueRules;
import java.util.HashMap;
import java.util.Map;

/**
 * The policies and queues in force after some record of the policies topic. An immutable snapshot.
 *
 * @param policies the policies
 * @param queuesById the queues by id
 * @param queueChanges how many records have changed a queue
 */
public record RulesInForce(PolicyTable policies, RadixTree<QueueRules> queuesById, long queueChanges) {

    static final RulesInForce NONE = new RulesInForce(PolicyTable.EMPTY, RadixTree.empty(), 0);

    /** Returns the rules of a queue, null if there is none with this id. */
    public QueueRules queue(String id) {
        return queuesById.get(id);
    }

    /** Returns the queues by id. */
    public Map<String, QueueRules> queues() {
        Map<String, QueueRules> queues = new HashMap<>();
        queuesById.forEach(queue -> queues.put(queue.id(), queue));
        return queues;
    }

    RulesInForce withPolicies(PolicyTable others) {
        return new RulesInForce(others, queuesById, queueChanges);
    }

    /** @param rules null to remove the queue */
    RulesInForce withQueue(String id, QueueRules rules) {
        return rules == null && queue(id) == null
                ? this
                : new RulesInForce(policies, queuesById.with(id, rules), queueChanges + 1);
    }
}
