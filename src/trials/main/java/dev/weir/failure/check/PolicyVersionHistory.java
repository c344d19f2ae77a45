package dev.weir.failure.check;

import dev.weir.audit.history.PolicyTimeline;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All versions of all policies and queues. A version is in force from its {@code effective-from} on, until a later
 * version is in force. A deleted policy is treated as if it had never existed.
 */
final class PolicyVersionHistory {

    private static final Comparator<Policy> BEST_FIRST =
            Comparator.comparingInt(Policy::priority).reversed().thenComparing(Policy::id);

    private final SortedMap<String, List<Version>> policies = new TreeMap<>(); // by id, newest first
    private final SortedMap<String, List<QueueRules>> queues = new TreeMap<>(); // by id, oldest first
    private final PolicyTimeline changes;
    private int changeCount;

    /**
     * A version of a policy.
     *
     * @param limits the limits as written in the definition
     * @param change the number of the change that applied it, from 1
     */
    record Version(Policy policy, List<PolicyTerms> limits, int change) {}

    /** @param history the versions in the order in which they were applied */
    PolicyVersionHistory(List<PolicyAvro.Applied> history) {
        changes = new PolicyTimeline(history.stream()
                .map(one -> new PolicyTimeline.RecordedVersion(one.key(), one, one.appliedAtMs()))
                .toList());
        try {
            for (PolicyAvro.Applied one : history) {
                add(one);
            }
        } catch (FaultsException e) {
            throw new IllegalStateException("the policy history has an invalid policy or queue", e);
        }
    }

    private void add(PolicyAvro.Applied one) throws FaultsException {
        changeCount += one.kind() == PolicyAvro.Kind.POLICY ? 1 : 0;
        if (one.isDeleted()) {
            policies.computeIfPresent(
                    one.id(), (id, versions) -> one.kind() == PolicyAvro.Kind.POLICY ? null : versions);
        } else if (one.kind() == PolicyAvro.Kind.POLICY) {
            Policy policy = PolicyFile.parse(one.key(), one.definition(), one.version());
            policies.computeIfAbsent(one.id(), id -> new ArrayList<>())
                    .add(0, new Version(policy, PolicyTerms.of(one.definition()), changeCount));
        } else {
            queues.computeIfAbsent(one.id(), id -> new ArrayList<>())
                    .add(PolicyFile.parseQueue(one.key(), one.definition(), one.version()));
        }
    }

    /** Returns the changes, in the form that an audit uses. */
    PolicyTimeline changes() {
        return changes;
    }

    /**
     * Returns the number of policy changes before a decision; that of all changes if it is unknown.
     *
     * @param checksum the policies' checksum that the decision records, null if none
     * @param lastCount the number of policy changes before the previous decision
     */
    int countOf(Long checksum, int lastCount) {
        return checksum == null
                ? changeCount
                : changes.changeCount(checksum, lastCount).orElse(changeCount);
    }

    /** Returns the policies as an enforcer looks them up. */
    PolicyTable table() {
        return PolicyTable.of(policies.values().stream()
                .flatMap(List::stream)
                .map(Version::policy)
                .toList());
    }

    /** Returns the policies that apply to a request, in the versions in force at its time. It tries each policy. */
    List<Version> applicable(Request request) {
        return applicable(request, request.timestampMs(), changeCount);
    }

    /**
     * Returns the policies that apply to a request. It tries each policy.
     *
     * @param atMs the time that selects the versions, ms since the epoch
     * @param count the number of policy changes that are made; later ones are ignored
     */
    List<Version> applicable(Request request, long atMs, int count) {
        Map<String, Version> best = new HashMap<>(); // by layer
        for (List<Version> versions : policies.values()) {
            Version holding = heldAt(versions, atMs, count);
            if (holding != null && holding.policy().match().matches(request)) {
                best.merge(
                        holding.policy().layer(),
                        holding,
                        (one, other) -> BEST_FIRST.compare(one.policy(), other.policy()) <= 0 ? one : other);
            }
        }
        return List.copyOf(best.values());
    }

    /** Returns whether shared limits apply to a request. */
    boolean isShared(Request request) {
        return applicable(request).stream().anyMatch(version -> version.policy().isShared());
    }

    /** Returns the versions of each queue, oldest first. */
    SortedMap<String, List<QueueRules>> queues() {
        return queues;
    }

    /** Returns the number of policy versions. */
    long versions() {
        return policies.values().stream().mapToLong(List::size).sum();
    }

    private static Version heldAt(List<Version> newestFirst, long atMs, int count) {
        for (Version version : newestFirst) {
            if (version.change() <= count && version.policy().effectiveFromMs() <= atMs) {
                return atMs < version.policy().effectiveUntilMs() ? version : null;
            }
        }
        return null;
    }
}
