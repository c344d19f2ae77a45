package dev.weir.rules;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.Spelling;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.ShadowedPolicy;
import dev.weir.policy.ThrottleConflict.InForce;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What is probably a mistake in valid policies and queues: a policy that never applies, or a field that is misspelled.
 * A warning names the policies and what to do.
 */
public final class PolicyWarnings {

    private PolicyWarnings() {}

    /** Returns the warnings about the policies of a file, without those of the cluster. */
    public static List<String> ofFile(PolicyFile.Contents contents, long nowMs) {
        List<Policy> policies = contents.policies().stream()
                .map(PolicyFile.Definition.PolicyDefinition::policy)
                .toList();
        List<String> warnings = new ArrayList<>(ofAll(
                policies.stream()
                        .map(policy -> new InForce(policy, policy.effectiveUntilMs()))
                        .toList(),
                nowMs));
        policies.forEach(policy -> warnings.addAll(ofKey(policy)));
        contents.queues().forEach(queue -> ofFairBy(queue.queue(), policies).ifPresent(warnings::add));
        return warnings;
    }

    /** Returns the warnings about policies that never apply, up to {@value ShadowedPolicy#MAX_REPORTED}. */
    public static List<String> ofAll(Collection<InForce> policies, long nowMs) {
        return ShadowedPolicy.of(policies, nowMs).stream()
                .map(ShadowedPolicy::message)
                .distinct() // of several versions of a policy
                .toList();
    }

    /**
     * Returns changes with their warnings.
     *
     * @param all the policies in force after the changes
     * @param table the same policies
     */
    public static List<Change> addTo(List<Change> changes, Collection<InForce> all, PolicyTable table, long nowMs) {
        Set<String> ids = new HashSet<>();
        for (Change change : changes) {
            if (isApplied(change)) {
                ids.add(change.id());
            }
        }
        if (ids.isEmpty()) {
            return changes;
        }
        Map<String, List<String>> byId = new HashMap<>();
        for (ShadowedPolicy one : ShadowedPolicy.of(all, table, ids, nowMs)) {
            String id = ids.contains(one.policy().id())
                    ? one.policy().id()
                    : one.by().id();
            byId.computeIfAbsent(id, none -> new ArrayList<>()).add(one.message());
        }
        for (String id : ids) {
            Policy latest = table.latest(id);
            List<String> ofKey = latest == null ? List.of() : ofKey(latest);
            if (!ofKey.isEmpty()) {
                byId.computeIfAbsent(id, none -> new ArrayList<>()).addAll(ofKey);
            }
        }
        return changes.stream()
                .map(change -> isApplied(change) ? change.withWarnings(distinct(byId.get(change.id()))) : change)
                .toList();
    }

    /** Returns each warning once, since several versions of a policy can be in force. */
    private static List<String> distinct(List<String> warnings) {
        return warnings == null ? List.of() : warnings.stream().distinct().toList();
    }

    /** @param missing warnings by the id of the policy */
    public static List<Change> addMissingKeyFields(List<Change> changes, Map<String, List<String>> missing) {
        return changes.stream()
                .map(change -> {
                    List<String> more = isApplied(change) ? missing.getOrDefault(change.id(), List.of()) : List.of();
                    List<String> all = new ArrayList<>(change.warnings());
                    all.addAll(more);
                    return change.withWarnings(all);
                })
                .toList();
    }

    private static boolean isApplied(Change change) {
        return change.kind() == PolicyAvro.Kind.POLICY
                && (change.effect() == Effect.ADDED
                        || change.effect() == Effect.CHANGED
                        || change.effect() == Effect.UNCHANGED);
    }

    /** Returns warnings about key fields that are not matched, but differ little from one that is. */
    private static List<String> ofKey(Policy policy) {
        Set<String> matched = policy.match().conditions().keySet();
        Set<String> known = new HashSet<>(matched);
        known.addAll(List.of("client", "tier"));
        List<String> warnings = new ArrayList<>();
        for (String field : policy.key()) {
            String meant = known.contains(field) ? null : Spelling.nearest(field, known);
            if (meant != null) {
                warnings.add("policy '" + policy.id() + "': its key has '" + field + "', which its match does not have;"
                        + " did you mean \"" + meant + "\"? All requests without '" + field + "' share one count");
            }
        }
        return warnings;
    }

    /** Returns a warning about a {@code fair-by} that differs little from a field that is matched. */
    private static Optional<String> ofFairBy(QueueRules queue, List<Policy> policies) {
        Set<String> known = new HashSet<>(List.of("client", "tier"));
        policies.stream()
                .filter(policy -> queue.id().equals(policy.queue()))
                .forEach(policy -> known.addAll(policy.match().conditions().keySet()));
        String field = queue.fairBy();
        String meant = known.contains(field) ? null : Spelling.nearest(field, known);
        return meant == null
                ? Optional.empty()
                : Optional.of("queue '" + queue.id() + "': its fair-by is '" + field
                        + "', which no policy that sends to it" + " matches; did you mean \"" + meant
                        + "\"? All requests without '" + field + "' share as one");
    }
}
