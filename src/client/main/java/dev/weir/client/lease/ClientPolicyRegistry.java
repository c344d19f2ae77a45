package dev.weir.client.lease;

import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.definition.PolicyFold;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.wire.PolicyAvro;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The policies in force, read from the policies topic. If a record is rejected, the last good one of its key stays in
 * force. One thread updates the registry, any thread may read it.
 */
final class ClientPolicyRegistry {

    private static final String POLICIES = PolicyAvro.key(PolicyAvro.Kind.POLICY, "");

    private final LeaseTerms longest;
    private final PolicyFold<DecodedPolicyRecord> onTopic = PolicyFold.ofRules();
    private final Set<String> changed = new TreeSet<>(); // the keys of records that are not in force yet
    private final Map<String, Map<List<String>, LeasedKeys>> keysById = new HashMap<>();
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
        boolean isRejected = onTopic.add(key, value) instanceof PolicyFold.Step.Reject; // enforcers report it
        if (!isRejected && key.startsWith(POLICIES)) {
            changed.add(key);
        }
    }

    /**
     * Puts the records in force that were read. Leases are kept if the key of their policy still has the same fields.
     */
    void update() {
        PolicyTable table = rules.table;
        IdentityHashMap<Policy, Rule> byPolicy = new IdentityHashMap<>(rules.byPolicy);
        for (String key : changed) {
            String id = key.substring(POLICIES.length());
            table.versions(id).forEach(byPolicy::remove);
            List<Policy> versions =
                    onTopic.get(key).map(DecodedPolicyRecord::policies).orElse(List.of());
            byPolicy.putAll(rules(id, versions));
            table = table.with(id, versions);
        }
        changed.clear();
        rules = new Rules(table, byPolicy);
    }

    /** Returns the rules of those versions of a policy that clients decide by leases. */
    private Map<Policy, Rule> rules(String id, List<Policy> versions) {
        Map<List<String>, LeasedKeys> before = keysById.getOrDefault(id, Map.of());
        Map<List<String>, LeasedKeys> next = new HashMap<>();
        Map<Policy, Rule> byPolicy = new IdentityHashMap<>();
        for (Policy policy : versions) {
            if (LeasedPolicyDecider.isForClients(policy)) {
                List<String> fields = policy.key();
                LeasedKeys same = before.get(fields);
                LeasedKeys keys = next.computeIfAbsent(fields, none -> same == null ? new LeasedKeys(fields) : same);
                byPolicy.put(policy, new Rule(new LeasedPolicyDecider(policy, longest), keys));
            }
        }
        if (next.isEmpty()) {
            keysById.remove(id);
        } else {
            keysById.put(id, next);
        }
        return byPolicy;
    }
}
