package dev.weir.failure;

import dev.weir.audit.history.PolicyTimeline;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All versions of all rules. A version is in force from its effective-from on, until a later version is. A policy that
 * was deleted is treated as if it had never existed.
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
     * @param limits its limits, as they were written
     * @param change the number of the change that applied it, from 1
     */
    record Version(Policy policy, List<PolicyTerms> limits, int change) {}

    /** @param history in the order in which the versions were applied */
    PolicyVersionHistory(List<PolicyAvro.Applied> history) {
        changes = new PolicyTimeline(history.stream()
                .map(one -> new PolicyTimeline.RecordedVersion(one.key(), one, one.appliedAtMs()))
                .toList());
        try {
            for (PolicyAvro.Applied one : history) {
                add(one);
            }
        } catch (FaultsException e) {
            throw new IllegalStateException("the history has rules that are none", e);
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

    /** The changes, as an audit takes them. */
    PolicyTimeline changes() {
        return changes;
    }

    /**
     * After how many changes of policies a decision was taken: all of them, if that is not known.
     *
     * @param checksum what the decision records of its policies, null if nothing
     * @param lastCount after how many the decision before was taken
     */
    int countOf(Long checksum, int lastCount) {
        return checksum == null
                ? changeCount
                : changes.changeCount(checksum, lastCount).orElse(changeCount);
    }

    /** As the enforcer looks policies up. */
    PolicyTable table() {
        return new PolicyTable(policies.values().stream()
                .flatMap(List::stream)
                .map(Version::policy)
                .toList());
    }

    /** The policies that apply to a request, in the versions that are in force at its time, found by trying each. */
    List<Version> applicable(Request request) {
        return applicable(request, request.timestampMs(), changeCount);
    }

    /**
     * The policies that apply to a request, found by trying each.
     *
     * @param atMs the time that selects the versions, ms since the epoch
     * @param count how many changes of policies have been made: later ones are ignored
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

    private static Version heldAt(List<Version> newestFirst, long atMs, int count) {
        for (Version version : newestFirst) {
            if (version.change() <= count && version.policy().effectiveFromMs() <= atMs) {
                return version;
            }
        }
        return null;
    }
}
