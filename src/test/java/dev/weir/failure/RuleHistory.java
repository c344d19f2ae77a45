package dev.weir.failure;

import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.shape.QueueRules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All versions of all rules. A version holds for the requests from its effective-from on, until a later version does; what
 * was deleted was never there, for who looks back.
 */
final class RuleHistory {

    private static final Comparator<Policy> BEST_FIRST =
            Comparator.comparingInt(Policy::priority).reversed().thenComparing(Policy::id);

    private final SortedMap<String, List<Version>> policies = new TreeMap<>(); // by id, newest first
    private final SortedMap<String, List<QueueRules>> queues = new TreeMap<>(); // by id, oldest first

    /**
     * A version of a policy.
     *
     * @param limits its limits, as they were written
     */
    record Version(Policy policy, List<Terms> limits) {}

    RuleHistory(List<PolicyAvro.Applied> history) {
        List<PolicyAvro.Applied> applied = history.stream()
                .sorted(Comparator.comparingLong(PolicyAvro.Applied::version))
                .toList();
        try {
            for (PolicyAvro.Applied one : applied) {
                add(one);
            }
        } catch (FaultsException e) {
            throw new IllegalStateException("the history has rules that are none", e);
        }
    }

    private void add(PolicyAvro.Applied one) throws FaultsException {
        if (one.isDeleted()) {
            policies.computeIfPresent(
                    one.id(), (id, versions) -> one.kind() == PolicyAvro.Kind.POLICY ? null : versions);
        } else if (one.kind() == PolicyAvro.Kind.POLICY) {
            Policy policy = PolicyFile.parse(one.key(), one.definition(), one.version());
            policies.computeIfAbsent(one.id(), id -> new ArrayList<>())
                    .add(0, new Version(policy, Terms.of(one.definition())));
        } else {
            queues.computeIfAbsent(one.id(), id -> new ArrayList<>())
                    .add(PolicyFile.parseQueue(one.key(), one.definition(), one.version()));
        }
    }

    /** As the enforcer looks policies up. */
    PolicyTable table() {
        return new PolicyTable(policies.values().stream()
                .flatMap(List::stream)
                .map(Version::policy)
                .toList());
    }

    /** The same by trying one after the other. */
    List<Version> applicable(Request request) {
        Map<String, Version> best = new HashMap<>(); // by layer
        for (List<Version> versions : policies.values()) {
            Version holding = heldAt(versions, request.timestampMs());
            if (holding != null && holding.policy().match().matches(request)) {
                best.merge(
                        holding.policy().layer(),
                        holding,
                        (one, other) -> BEST_FIRST.compare(one.policy(), other.policy()) <= 0 ? one : other);
            }
        }
        return List.copyOf(best.values());
    }

    /** Whether limits that are shared have a part in what is decided of a request. */
    boolean isShared(Request request) {
        return applicable(request).stream().anyMatch(version -> version.policy().isShared());
    }

    /** The versions of each queue, oldest first. */
    SortedMap<String, List<QueueRules>> queues() {
        return queues;
    }

    /** How many versions of policies there are. */
    long versions() {
        return policies.values().stream().mapToLong(List::size).sum();
    }

    private static Version heldAt(List<Version> newestFirst, long timestampMs) {
        for (Version version : newestFirst) {
            if (version.policy().effectiveFromMs() <= timestampMs) {
                return version;
            }
        }
        return null;
    }
}
