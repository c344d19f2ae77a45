package dev.weir.audit.history;

import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.definition.PolicyFold;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.RoundTripEstimator;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestMatcher;
import dev.weir.rules.PolicyVersions;
import dev.weir.rules.RefusedChangeException;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * All changes of policies in order, and the policies in force after each number of changes. Each decision records the
 * checksum of the policies in force.
 */
public final class PolicyTimeline {

    private static final PolicyAvro AVRO = new PolicyAvro();
    private static final String POLICIES = PolicyAvro.key(PolicyAvro.Kind.POLICY, "");
    private static final int MAX_TABLES = 64;
    private static final long CHECKSUM_BITS = 0xFFFF_FFFFL;

    /** The assumed maximum difference between the clocks of brokers and policy writers. */
    public static final long CLOCK_SKEW_MS = 10_000;

    /**
     * A version as it was written.
     *
     * @param applied null if the policy was removed without a deletion record
     * @param writtenMs when it was written, by the writer's clock, ms since the epoch
     */
    public record RecordedVersion(String key, PolicyAvro.Applied applied, long writtenMs) {}

    /**
     * A change of a policy.
     *
     * @param policies the versions that it put in force; empty if the policy was deleted
     */
    private record Change(String id, List<Policy> policies) {}

    /**
     * A time, in ms since the epoch, in which every task, ledger and client used the limits of this version of a
     * shared policy.
     */
    public record Period(Policy policy, long fromMs, long untilMs) {}

    /** The requests that wait for a lease, and their longest wait. */
    private record Waits(RequestMatcher match, long maxWaitMs) {}

    private final Set<Waits> waits = new LinkedHashSet<>();
    private final List<Change> changes = new ArrayList<>();
    private final Map<Long, NavigableSet<Integer>> countsByChecksum = new HashMap<>();
    private final Map<String, List<Policy>> versions = new HashMap<>(); // by id, without duplicates
    private final long[] latestMs;
    private final long[] earliestMs;
    private final Map<Integer, PolicyTable> tables = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, PolicyTable> eldest) {
            return size() > MAX_TABLES;
        }
    };
    private final QueueKeyFields queueKeys;
    private boolean lacksHistory;

    /** @param inOrder the versions in the order in which they came into force */
    public PolicyTimeline(List<RecordedVersion> inOrder) {
        queueKeys = new QueueKeyFields(inOrder);
        PolicyFold<DecodedPolicyRecord> inForce = PolicyFold.ofRules();
        Set<String> seen = new HashSet<>();
        List<Long> times = new ArrayList<>();
        long checksum = PolicyTable.EMPTY.checksum();
        addTable(checksum);
        for (RecordedVersion written : inOrder) {
            String key = written.key();
            if (!key.startsWith(POLICIES)) {
                continue;
            }
            Optional<DecodedPolicyRecord> old = inForce.get(key);
            byte[] value =
                    written.applied() == null ? null : AVRO.encode(withEarlier(written.applied(), old.orElse(null)));
            PolicyFold.Step step = inForce.add(key, value);
            if (step instanceof PolicyFold.Step.Reject) {
                continue; // never in force
            }
            List<Policy> policies =
                    step instanceof PolicyFold.Step.Put put ? put.rules().policies() : List.of();
            lacksHistory |= seen.add(key)
                    && written.applied() != null
                    && written.applied().version() > 1;
            List<Policy> before = old.map(DecodedPolicyRecord::policies).orElse(List.of());
            changes.add(new Change(key.substring(POLICIES.length()), policies));
            times.add(written.writtenMs());
            checksum = checksum - PolicyTable.checksum(before) + PolicyTable.checksum(policies) & CHECKSUM_BITS;
            addTable(checksum);
            policies.forEach(this::addVersion);
            policies.stream()
                    .filter(policy -> policy.isShared() && !policy.observes())
                    .forEach(policy -> waits.add(new Waits(
                            policy.match(), policy.sharing().maxWaitMs().orElse(RoundTripEstimator.MAX_WAIT_MS))));
        }
        latestMs = new long[changes.size()];
        earliestMs = new long[changes.size()];
        for (int i = 0; i < latestMs.length; i++) {
            latestMs[i] = Math.max(times.get(i), i == 0 ? Long.MIN_VALUE : latestMs[i - 1]);
        }
        for (int i = latestMs.length - 1; i >= 0; i--) {
            earliestMs[i] = Math.min(times.get(i), i == latestMs.length - 1 ? Long.MAX_VALUE : earliestMs[i + 1]);
        }
    }

    private void addTable(long checksum) {
        countsByChecksum.computeIfAbsent(checksum, any -> new TreeSet<>()).add(changes.size());
    }

    private void addVersion(Policy policy) {
        List<Policy> known = versions.computeIfAbsent(policy.id(), any -> new ArrayList<>(1));
        if (known.stream().noneMatch(one -> one.version() == policy.version())) {
            known.add(policy);
        }
    }

    private static PolicyAvro.Applied withEarlier(PolicyAvro.Applied applied, DecodedPolicyRecord old) {
        try {
            return applied.isDeleted() || !applied.before().isEmpty()
                    ? applied
                    : PolicyVersions.next(applied, old == null ? null : old.applied(), applied.appliedAtMs());
        } catch (RefusedChangeException e) {
            return applied; // it was written nevertheless
        }
    }

    /**
     * Returns the number of changes after which the policies have a checksum; empty if no known state has it. If there
     * are several, returns the first that is not older than that of the previous decision.
     *
     * @param lastCount the number of changes at the previous decision
     */
    public OptionalInt changeCount(long checksum, int lastCount) {
        NavigableSet<Integer> counts = countsByChecksum.get(checksum);
        if (counts == null) {
            return OptionalInt.empty();
        }
        Integer next = counts.ceiling(lastCount);
        return OptionalInt.of(next == null ? counts.last() : next);
    }

    /**
     * Returns whether the first versions of some policy are unknown, so that unknown policies may have been in force.
     */
    public boolean lacksHistory() {
        return lacksHistory;
    }

    public QueueKeyFields queueKeys() {
        return queueKeys;
    }

    /** Returns all versions of policies that may have decided a request. */
    public List<Policy> matching(Request request) {
        return versions.values().stream()
                .flatMap(List::stream)
                .filter(policy -> policy.match().matches(request))
                .toList();
    }

    /**
     * Returns whether one of the changes after the given number of changes affects a request: a version of the changed
     * policy matches it.
     */
    public boolean isAffectedAfter(int count, Request request) {
        return changes.subList(count, changes.size()).stream()
                .flatMap(change -> versions.getOrDefault(change.id, List.of()).stream())
                .anyMatch(policy -> policy.match().matches(request));
    }

    /** Returns whether this version of a policy is known. */
    public boolean hasVersion(String id, Long version) {
        return version != null
                && versions.getOrDefault(id, List.of()).stream().anyMatch(policy -> policy.version() == version);
    }

    /** Returns whether this version of a policy may have existed before the known ones. */
    public boolean lacksHistory(String id, Long version) {
        return lacksHistory(id)
                && version != null
                && version > 0
                && versions.get(id).stream().allMatch(policy -> version < policy.version());
    }

    /** Returns whether any version of a policy limits concurrency. */
    public boolean everLimitsConcurrency(String id) {
        return versions.getOrDefault(id, List.of()).stream().anyMatch(Policy::limitsConcurrency);
    }

    /** Returns whether the first versions of a policy are unknown. */
    public boolean lacksHistory(String id) {
        return versions.containsKey(id) && versions.get(id).stream().allMatch(policy -> policy.version() > 1);
    }

    /**
     * Returns the keys that a leased client may have charged. Its report names the version in force when it was sent,
     * whose key may differ from that of the version by which the client decided.
     */
    public Set<StateKey> leasedKeys(String id, Map<String, String> values) {
        Set<StateKey> keys = new HashSet<>(2);
        for (Policy policy : versions.getOrDefault(id, List.of())) {
            if (LeasedPolicyDecider.isForClients(policy) && values.keySet().equals(Set.copyOf(policy.key()))) {
                keys.add(policy.sharedKey(values));
            }
        }
        return keys;
    }

    /** Returns the longest delay that a policy ever had for throttled requests. */
    public long longestDelayMs() {
        long longestMs = 0;
        for (Change change : changes) {
            for (Policy policy : change.policies) {
                if (policy.onExceed() instanceof OnExceed.Throttle throttle) {
                    longestMs = Math.max(longestMs, throttle.maxDelayMs());
                }
            }
        }
        return longestMs;
    }

    /**
     * Returns the longest time for which a request may have waited for a ledger, by any version; 0 if it cannot
     * have waited.
     */
    public long longestWaitMs(Request request) {
        long longestMs = 0;
        boolean isPeek = request.kind() == RequestKind.PEEK; // waits also if requests do not wait for leases
        if ((isPeek || request.kind() == RequestKind.CONSUME) && request.cost() > 0) {
            for (Waits one : waits) {
                long waitMs = isPeek && one.maxWaitMs == 0 ? RoundTripEstimator.MAX_WAIT_MS : one.maxWaitMs;
                boolean isLonger = waitMs > longestMs && one.match.matches(request);
                longestMs = isLonger ? waitMs : longestMs;
            }
        }
        return longestMs;
    }

    /**
     * Returns the periods in which the limits of a shared policy did not change, in order of time. Between the periods,
     * the limits were changing.
     *
     * @param settledMs the time after which every process has applied a change, and earlier leases have ended
     */
    public List<Period> periods(String id, long settledMs) {
        List<Period> periods = new ArrayList<>();
        Policy present = null;
        long fromMs = Long.MIN_VALUE;
        for (Start start : starts(id)) {
            Policy policy = start.policy;
            if (present != null && present.terms().equals(policy.terms())) {
                continue;
            }
            if (present != null) {
                periods.add(new Period(present, fromMs, start.earliestMs - CLOCK_SKEW_MS));
            }
            boolean isFirst = present == null && policy.version() == 1;
            fromMs = isFirst ? Long.MIN_VALUE : start.latestMs + CLOCK_SKEW_MS + settledMs;
            present = policy;
        }
        if (present != null) {
            periods.add(new Period(present, fromMs, Long.MAX_VALUE));
        }
        return periods;
    }

    /** The time at which a version comes into force. */
    private record Start(Policy policy, long earliestMs, long latestMs) {}

    private List<Start> starts(String id) {
        List<Start> starts = new ArrayList<>();
        for (int i = 0; i < latestMs.length; i++) {
            if (!changes.get(i).id.equals(id)) {
                continue;
            }
            long writtenMs = latestMs[i];
            starts.removeIf(start -> start.earliestMs > writtenMs); // replaced before their time, or added again below
            TreeMap<Long, Policy> newest = new TreeMap<>();
            for (Policy policy : changes.get(i).policies) {
                newest.merge(
                        Math.max(writtenMs, policy.effectiveFromMs()),
                        policy,
                        (one, other) -> one.version() > other.version() ? one : other);
            }
            long last = 0;
            for (Map.Entry<Long, Policy> start : newest.entrySet()) {
                Policy policy = start.getValue();
                if (policy.version() > last && policy.isShared()) {
                    boolean isNow = start.getKey() == writtenMs;
                    starts.add(new Start(policy, isNow ? earliestMs[i] : start.getKey(), start.getKey()));
                }
                last = Math.max(last, policy.version());
            }
        }
        return starts;
    }

    /** Returns the policies in force after a number of changes. */
    public PolicyTable table(int count) {
        PolicyTable table = tables.get(count);
        if (table == null) {
            int from = tables.keySet().stream()
                    .filter(each -> each < count)
                    .max(Integer::compare)
                    .orElse(0);
            table = from == 0 ? PolicyTable.EMPTY : tables.get(from);
            for (Change change : changes.subList(from, count)) {
                table = table.with(change.id, change.policies);
            }
            tables.put(count, table);
        }
        return table;
    }
}
