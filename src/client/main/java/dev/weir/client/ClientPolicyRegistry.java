package dev.weir.client;

import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.definition.PolicyFold;
import dev.weir.definition.PolicyRecordReader;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The policies in force, as the policies topic has them; of one that is not good, the last good one stays. One thread
 * updates them, all others read.
 */
final class ClientPolicyRegistry {

    private final LeaseTerms longest;
    private final PolicyFold<PolicyRecordReader> onTopic = PolicyFold.ofRules();
    private Map<List<String>, LeasedKeys> keys = Map.of();
    private volatile Rules rules = new Rules(PolicyTable.EMPTY, new IdentityHashMap<>());

    /**
     * A policy that clients decide by, and what is held of it.
     *
     * @param policy how it is decided
     */
    record Rule(LeasedPolicyDecider policy, LeasedKeys keys) {}

    /**
     * All policies.
     *
     * @param byPolicy those that clients decide by, by the very object
     */
    record Rules(PolicyTable table, IdentityHashMap<Policy, Rule> byPolicy) {

        /** The policy that has this id now, null if there is none, or none that clients decide by. */
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

    /** Takes a record; it is in force from the next {@link #update} on. */
    void read(String key, byte[] value) {
        onTopic.add(key, value); // enforcers report what is rejected
    }

    /** Puts in force what was read. What is held stays, as long as the policy's key has the same fields. */
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
