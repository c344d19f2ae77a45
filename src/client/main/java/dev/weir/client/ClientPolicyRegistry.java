package dev.weir.client;

import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.definition.PolicyFold;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The policies in force, read from the policies topic. If a record is rejected, the last good one of its key stays in
 * force. One thread updates the registry, any thread may read it.
 */
final class ClientPolicyRegistry {

    private final LeaseTerms longest;
    private final PolicyFold<DecodedPolicyRecord> onTopic = PolicyFold.ofRules();
    private Map<List<String>, LeasedKeys> keys = Map.of();
    private volatile Rules rules = new Rules(PolicyTable.EMPTY, new IdentityHashMap<>());

    /**
     * A policy that clients decide by leases, and the leases of its keys.
     *
     * @param policy decides by the policy
     */
    record Rule(LeasedPolicyDecider policy, LeasedKeys keys) {}

    /**
     * All policies in force.
     *
     * @param byPolicy the policies that clients decide by leases, compared by identity
     */
    record Rules(PolicyTable table, IdentityHashMap<Policy, Rule> byPolicy) {

        /** Returns the policy that has an id at a time, or null if there is none or clients do not decide by it. */
        LeasedPolicyDecider now(String id, long nowMs) {
            Policy policy = table.inForce(id, nowMs);
            Rule rule = policy == null ? null : byPolicy.get(policy);
            return rule == null ? null : rule.policy;
        }
    }

    ClientPolicyRegistry(LeaseTerms longest) {
        this.longest = longest;
    }

    Rules rules() {
        return rules;
    }

    /** Reads a record, which takes effect with the next {@link #update}. */
    void read(String key, byte[] value) {
        onTopic.add(key, value); // enforcers report rejected records
    }

    /**
     * Puts the records in force that were read. Leases are kept if the key of their policy still has the same fields.
     */
    void update() {
        List<Policy> policies = onTopic.all().stream()
                .flatMap(applied -> applied.policies().stream())
                .toList();
        IdentityHashMap<Policy, Rule> byPolicy = new IdentityHashMap<>();
        Map<List<String>, LeasedKeys> next = new HashMap<>();
        for (Policy policy : policies) {
            if (LeasedPolicyDecider.isForClients(policy)) {
                List<String> counted = new ArrayList<>(policy.key());
                counted.add(policy.id());
                LeasedKeys before = keys.get(counted);
                LeasedKeys held =
                        next.computeIfAbsent(counted, same -> before == null ? new LeasedKeys(policy.key()) : before);
                byPolicy.put(policy, new Rule(new LeasedPolicyDecider(policy, longest), held));
            }
        }
        keys = next;
        rules = new Rules(new PolicyTable(policies), byPolicy);
    }
}
