package dev.weir.audit;

import dev.weir.app.PolicyVersions;
import dev.weir.app.RefusedChangeException;
import dev.weir.codec.AppliedRules;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Kind;
import dev.weir.policy.LeasedPolicy;
import dev.weir.policy.Match;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.StateKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * All changes of policies in their order, and the table after each number of them. Which table an enforcer had at a decision
 * nobody has written down: it is one of those between what it must have seen and what it can have seen.
 */
public final class RuleChanges {

    private static final PolicyAvro AVRO = new PolicyAvro();
    private static final int MAX_TABLES = 64;

    /** By how much the clocks of brokers, and of who changes rules, may differ. */
    static final long CLOCKS_MS = 10_000;

    /**
     * A version as it was written.
     *
     * @param applied null if the policy was taken out of force without a version
     * @param writtenMs by the clock of who wrote it, ms since the epoch
     */
    public record Written(String key, PolicyAvro.Applied applied, long writtenMs) {}

    /**
     * What a change put in force.
     *
     * @param appliedAtMs the same for all that were written together
     * @param policies its versions; none if it was deleted
     * @param before the versions that it took over from
     */
    private record Change(String key, long appliedAtMs, List<Policy> policies, List<Policy> before) {}

    /**
     * A time, ms since the epoch, in which the limits of a shared policy were those of this version, wherever somebody decides or lends.
     */
    record Period(Policy policy, long fromMs, long untilMs) {}

    /** Who waits for shared quota, and how long at most. */
    private record Waits(Match match, long maxWaitMs) {}

    private final Set<Waits> waits = new LinkedHashSet<>();
    private final List<Change> changes = new ArrayList<>();
    private final Map<String, Integer> lastWith = new HashMap<>(); // by id/version
    private final Map<String, List<Policy>> versions = new HashMap<>(); // by id, each once
    private final long[] latestMs;
    private final long[] earliestMs;
    private final Map<Integer, PolicyTable> tables = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, PolicyTable> eldest) {
            return size() > MAX_TABLES;
        }
    };
    private int wholeFrom;

    /** @param inOrder as they came into force; queues are passed over */
    public RuleChanges(List<Written> inOrder) {
        Map<String, PolicyAvro.Applied> last = new HashMap<>();
        Map<String, List<Policy>> inForce = new HashMap<>();
        List<Long> times = new ArrayList<>();
        for (Written written : inOrder) {
            if (!written.key().startsWith(PolicyAvro.key(PolicyAvro.Kind.POLICY, ""))) {
                continue;
            }
            PolicyAvro.Applied old = last.get(written.key());
            List<Policy> policies = List.of();
            if (written.applied() == null) {
                last.remove(written.key());
            } else {
                try {
                    PolicyAvro.Applied whole = withEarlier(written.applied(), old);
                    policies = AppliedRules.read(written.key(), AVRO.encode(whole), old == null ? 0 : old.version())
                            .policies();
                    last.put(written.key(), whole);
                } catch (UnreadableException e) {
                    continue; // never in force
                }
            }
            boolean hasForgotten = !inForce.containsKey(written.key())
                    && written.applied() != null
                    && written.applied().version() > 1;
            wholeFrom = hasForgotten ? changes.size() + 1 : wholeFrom;
            List<Policy> before = inForce.getOrDefault(written.key(), List.of());
            changes.add(new Change(
                    written.key(),
                    written.applied() == null
                            ? written.writtenMs()
                            : written.applied().appliedAtMs(),
                    policies,
                    before));
            inForce.put(written.key(), policies);
            times.add(written.writtenMs());
            before.forEach(policy -> lastWith.put(name(policy), changes.size() - 1));
            policies.forEach(policy -> lastWith.put(name(policy), Integer.MAX_VALUE));
            policies.forEach(this::addVersion);
            policies.stream()
                    .filter(policy -> policy.isShared() && !policy.observes())
                    .forEach(policy ->
                            waits.add(new Waits(policy.match(), policy.sharing().maxWaitMs())));
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

    private void addVersion(Policy policy) {
        List<Policy> known = versions.computeIfAbsent(policy.id(), any -> new ArrayList<>(1));
        if (known.stream().noneMatch(one -> one.version() == policy.version())) {
            known.add(policy);
        }
    }

    private static PolicyAvro.Applied withEarlier(PolicyAvro.Applied applied, PolicyAvro.Applied old) {
        try {
            return applied.isDeleted() || !applied.before().isEmpty()
                    ? applied
                    : PolicyVersions.next(applied, old, applied.appliedAtMs());
        } catch (RefusedChangeException e) {
            return applied; // was written all the same
        }
    }

    /** From how many changes on all policies are known: before, one had versions that the history has forgotten. */
    int wholeFrom() {
        return wholeFrom;
    }

    /** How many changes were written by a time, whoever's clock is ahead. */
    int seenBy(long atMs) {
        return countUpTo(latestMs, atMs);
    }

    /** How many changes may have been written by a time. */
    int writtenBy(long atMs) {
        return countUpTo(earliestMs, atMs);
    }

    private static int countUpTo(long[] ascending, long atMs) {
        int low = 0;
        int high = ascending.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (ascending[middle] <= atMs) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Whether there ever was this version of a policy. */
    boolean has(String id, Long version) {
        return lastWith.containsKey(id + "/" + version);
    }

    /** Whether there may have been this version of a policy, before those that are known. */
    boolean hasForgotten(String id, Long version) {
        return hasForgotten(id)
                && version != null
                && version > 0
                && versions.get(id).stream().allMatch(policy -> version < policy.version());
    }

    /** Whether the first versions of a policy are not known any more. */
    boolean hasForgotten(String id) {
        return versions.containsKey(id) && versions.get(id).stream().allMatch(policy -> policy.version() > 1);
    }

    /**
     * What a client that holds slices of a policy may count under these values of its key: it names the version in force when it tells
     * of it, which may have another key than the one that it decided by.
     */
    Set<StateKey> leasedKeys(String id, Map<String, String> values) {
        Set<StateKey> keys = new HashSet<>(2);
        for (Policy policy : versions.getOrDefault(id, List.of())) {
            if (LeasedPolicy.isForClients(policy) && values.keySet().equals(Set.copyOf(policy.key()))) {
                keys.add(policy.sharedKey(values));
            }
        }
        return keys;
    }

    /** After how many changes at most this version of a policy was still there; the most that there are if there never was one. */
    int lastWith(String id, Long version) {
        return lastWith.getOrDefault(id + "/" + version, Integer.MAX_VALUE);
    }

    private static String name(Policy policy) {
        return policy.id() + "/" + policy.version();
    }

    /** The longest by which a policy ever put a request off. */
    long longestDelayMs() {
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

    /** For how long a request can have waited for shared quota, whichever rules were in force; 0 if it cannot. */
    long longestWaitMs(Request request) {
        long longestMs = 0;
        if (request.kind() == Kind.CONSUME && request.cost() > 0) {
            for (Waits one : waits) {
                boolean isLonger = one.maxWaitMs > longestMs && one.match.matches(request);
                longestMs = isLonger ? one.maxWaitMs : longestMs;
            }
        }
        return longestMs;
    }

    /**
     * When which limits of a shared policy held, in the order of time; between, they were changing.
     *
     * @param settledMs after how long a change is known to all, and what was lent before has ended
     */
    List<Period> periods(String id, long settledMs) {
        List<Period> periods = new ArrayList<>();
        Policy present = null;
        long fromMs = Long.MIN_VALUE;
        for (Start start : starts(id)) {
            Policy policy = start.policy;
            if (present != null && present.terms().equals(policy.terms())) {
                continue;
            }
            if (present != null) {
                periods.add(new Period(present, fromMs, start.earliestMs - CLOCKS_MS));
            }
            boolean isFirst = present == null && policy.version() == 1;
            fromMs = isFirst ? Long.MIN_VALUE : start.latestMs + CLOCKS_MS + settledMs;
            present = policy;
        }
        if (present != null) {
            periods.add(new Period(present, fromMs, Long.MAX_VALUE));
        }
        return periods;
    }

    /** When a version comes into force. */
    private record Start(Policy policy, long earliestMs, long latestMs) {}

    private List<Start> starts(String id) {
        String key = PolicyAvro.key(PolicyAvro.Kind.POLICY, id);
        List<Start> starts = new ArrayList<>();
        for (int i = 0; i < latestMs.length; i++) {
            if (!changes.get(i).key.equals(key)) {
                continue;
            }
            long writtenMs = latestMs[i];
            starts.removeIf(start -> start.earliestMs > writtenMs); // overtaken, or among these again
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

    /** What is in force after so many changes. */
    PolicyTable table(int count) {
        PolicyTable table = tables.get(count);
        if (table == null) {
            Map<String, List<Policy>> inForce = new TreeMap<>();
            changes.subList(0, count).forEach(change -> inForce.put(change.key, change.policies));
            table = new PolicyTable(
                    inForce.values().stream().flatMap(List::stream).toList());
            tables.put(count, table);
        }
        return table;
    }

    /**
     * After how many changes, from the one number to the other, other policies apply to a request than before, the first
     * number among them. What was written together counts as seen together.
     */
    List<Integer> turns(Request request, int from, int to) {
        if (from == to) {
            return List.of(from);
        }
        List<Integer> turns = new ArrayList<>(1);
        Set<List<Policy>> seen = new HashSet<>();
        boolean concerned = true;
        for (int count = from; count <= to; count++) {
            concerned |= count > from && concerns(changes.get(count - 1), request);
            boolean isEnd = count == from
                    || count == changes.size()
                    || changes.get(count - 1).appliedAtMs != changes.get(count).appliedAtMs;
            if (isEnd && concerned) {
                concerned = false;
                if (seen.add(table(count).applicable(request))) {
                    turns.add(count);
                }
            }
        }
        return turns;
    }

    /** As {@link #turns}, with only a part of what was written together: each change that has to do with the request. */
    List<Integer> partialTurns(Request request, int from, int to) {
        List<Integer> turns = new ArrayList<>();
        for (int count = from + 1; count <= to; count++) {
            if (concerns(changes.get(count - 1), request)) {
                turns.add(count);
            }
        }
        return turns;
    }

    private static boolean concerns(Change change, Request request) {
        return matches(change.policies, request) || matches(change.before, request);
    }

    private static boolean matches(List<Policy> policies, Request request) {
        return policies.stream().anyMatch(policy -> policy.match().matches(request));
    }
}
