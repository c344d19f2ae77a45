package dev.weir.policy;

import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * All policies, and a lookup of those that apply to a request: in each layer, the matching policy with the highest
 * priority. Immutable. A table in which one policy differs shares everything else with the first one.
 *
 * <p>A policy can have several versions. At the time of a request, its newest version that has taken effect is in
 * force, until its own end. After that, the policy does not apply, whatever its earlier versions are.
 */
public final class PolicyTable {

    /** The table without policies. */
    public static final PolicyTable EMPTY = new PolicyTable(PolicyIndex.EMPTY, RadixTree.empty(), 0);

    private static final long FNV_OFFSET = 0xCBF29CE484222325L;
    private static final long FNV_PRIME = 0x100000001B3L;

    /** The multipliers of MurmurHash3's 64-bit finalizer. */
    private static final long MIX_1 = 0xFF51AFD7ED558CCDL;

    private static final long MIX_2 = 0xC4CEB9FE1A85EC53L;

    private static final Comparator<Policy> NEWEST_FIRST =
            Comparator.comparingLong(Policy::version).reversed();

    /** A time at which some versions take effect or end. */
    private record ChangeTime(long ms, int versions) {}

    private final PolicyIndex index;
    private final RadixTree<ChangeTime> changeTimes; // by the time in hexadecimal, without 0
    private final long checksum;

    private PolicyTable(PolicyIndex index, RadixTree<ChangeTime> changeTimes, long checksum) {
        this.index = index;
        this.changeTimes = changeTimes;
        this.checksum = checksum;
    }

    /**
     * Returns a table of policies.
     *
     * @throws IllegalArgumentException if two policies have the same id and version
     */
    public static PolicyTable of(Collection<Policy> policies) {
        Map<String, List<Policy>> byId = new TreeMap<>();
        policies.forEach(policy ->
                byId.computeIfAbsent(policy.id(), id -> new ArrayList<>(1)).add(policy));
        return EMPTY.with(byId);
    }

    /**
     * Returns a table in which a policy has other versions. What this takes depends on the policy and on those with the
     * same terms in their match, not on how many policies there are.
     *
     * @param versions in any order; none to remove the policy
     * @throws IllegalArgumentException if two versions have the same number, or a version has another id
     */
    public PolicyTable with(String id, Collection<Policy> versions) {
        return with(Map.of(id, versions));
    }

    private PolicyTable with(Map<String, ? extends Collection<Policy>> byId) {
        PolicyIndex.Edit edit = index.edit();
        RadixTree<ChangeTime> times = changeTimes;
        long sum = checksum;
        for (Map.Entry<String, ? extends Collection<Policy>> each : byId.entrySet()) {
            String id = each.getKey();
            List<Policy> versions = new ArrayList<>(each.getValue());
            versions.sort(NEWEST_FIRST);
            requireDistinct(id, versions);
            for (Policy old : versions(id)) {
                times = counted(times, lastChangeMs(old), -1);
                sum -= checksum(old);
            }
            for (Policy version : versions) {
                times = counted(times, lastChangeMs(version), 1);
                sum += checksum(version);
            }
            edit.replace(id, versions);
        }
        return new PolicyTable(edit.index(), times, Integer.toUnsignedLong((int) sum));
    }

    private static void requireDistinct(String id, List<Policy> newestFirst) {
        long last = 0;
        for (Policy policy : newestFirst) {
            if (!policy.id().equals(id)) {
                throw new IllegalArgumentException("the policy " + policy.id() + " is no version of " + id);
            }
            if (policy.version() == last) {
                throw new IllegalArgumentException("two policies have the id " + id + " and the version " + last);
            }
            last = policy.version();
        }
    }

    private static RadixTree<ChangeTime> counted(RadixTree<ChangeTime> times, long ms, int change) {
        if (ms == 0) {
            return times;
        }
        String word = HexFormat.of().toHexDigits(ms);
        ChangeTime old = times.get(word);
        int versions = (old == null ? 0 : old.versions) + change;
        return times.with(word, versions == 0 ? null : new ChangeTime(ms, versions));
    }

    /** Returns the policies that apply to a request: at most one per layer, with layers in alphabetical order. */
    public List<Policy> applicable(Request request) {
        return List.of(applicableAt(request, request.timestampMs()));
    }

    /** Returns when a version takes effect, or when it ends if it does. */
    private static long lastChangeMs(Policy policy) {
        long untilMs = policy.effectiveUntilMs();
        return untilMs == EffectivePeriod.NO_END ? policy.effectiveFromMs() : untilMs;
    }

    /** Returns whether some version takes effect or ends after {@code atMs}. */
    public boolean changesAfter(long atMs) {
        ChangeTime last = changeTimes.last();
        return last != null && last.ms > atMs;
    }

    /** Returns all versions of a policy, newest first. */
    public Collection<Policy> versions(String id) {
        return index.versions(id).stream().map(PolicyCandidate::policy).toList();
    }

    /** Returns all versions of a policy with the times until which they are in force, newest first. */
    public List<ThrottleConflict.InForce> inForce(String id) {
        return index.versions(id).stream()
                .map(version -> new ThrottleConflict.InForce(version.policy(), version.untilMs()))
                .toList();
    }

    /** Like {@link #applicable}, by the versions in force at {@code atMs} instead of the request's own time. */
    public Policy[] applicableAt(Request request, long atMs) {
        Search found = new Search();
        find(request, atMs, found);
        Policy[] applying = new Policy[found.size()];
        for (int i = 0; i < applying.length; i++) {
            applying[i] = found.policy(i);
        }
        return applying;
    }

    /** Finds the policies that apply to a request at {@code atMs}, whatever its own time is. Allocates nothing. */
    public void find(Request request, long atMs, Search into) {
        into.clear();
        index.find(request, atMs, into);
    }

    /** A reusable buffer for the policies that apply to a request. Not thread-safe. */
    public static final class Search {

        private PolicyCandidate[] found = new PolicyCandidate[4]; // by layer, in alphabetical order
        private int size;

        private void clear() {
            Arrays.fill(found, 0, size, null);
            size = 0;
        }

        /** Returns the index of the policy of a layer, or -1 - the index at which it belongs if there is none. */
        int index(String layer) {
            int low = 0;
            int high = size;
            while (low < high) {
                int middle = (low + high) >>> 1;
                int order = found[middle].policy().layer().compareTo(layer);
                if (order == 0) {
                    return middle;
                }
                low = order < 0 ? middle + 1 : low;
                high = order < 0 ? high : middle;
            }
            return -1 - low;
        }

        PolicyCandidate candidate(int at) {
            return found[at];
        }

        /** @param at the result of {@link #index} for the layer of the candidate */
        void put(int at, PolicyCandidate candidate) {
            if (at >= 0) {
                found[at] = candidate;
                return;
            }
            found = size == found.length ? Arrays.copyOf(found, 2 * size) : found;
            System.arraycopy(found, -1 - at, found, -at, size - (-1 - at));
            found[-1 - at] = candidate;
            size++;
        }

        /** Returns how many policies apply. */
        public int size() {
            return size;
        }

        /** Returns one of the policies. Layers are in alphabetical order. */
        public Policy policy(int at) {
            return found[at].policy();
        }
    }

    /**
     * Returns a checksum of the ids and versions in this table, whatever the order in which they were added: 0 to 2^32
     * - 1, 0 for an empty table. It is the same on every machine.
     */
    public long checksum() {
        return checksum;
    }

    /** Returns the checksum of a table with these policies: the sum of their own checksums, modulo 2^32. */
    public static long checksum(Collection<Policy> policies) {
        int sum = 0;
        for (Policy policy : policies) {
            sum += (int) checksum(policy);
        }
        return Integer.toUnsignedLong(sum);
    }

    /**
     * Returns a 64-bit FNV-1a hash of the id and the version, mixed so that the sum of checksums depends on all of
     * their bits.
     */
    private static long checksum(Policy policy) {
        long hash = FNV_OFFSET;
        for (int i = 0; i < policy.id().length(); i++) {
            hash = (hash ^ policy.id().charAt(i)) * FNV_PRIME;
        }
        hash = (hash ^ policy.version()) * FNV_PRIME;
        hash = (hash ^ hash >>> 33) * MIX_1;
        hash = (hash ^ hash >>> 33) * MIX_2;
        return hash ^ hash >>> 33;
    }

    /** Returns the version of a policy in force at {@code atMs}, null if there is none. */
    public Policy inForce(String id, long atMs) {
        for (PolicyCandidate version : index.versions(id)) {
            Policy policy = version.policy();
            if (policy.effectiveFromMs() <= atMs) {
                return atMs < policy.effectiveUntilMs() ? policy : null;
            }
        }
        return null;
    }

    /** Returns the latest version of a policy, null if there is none. */
    public Policy latest(String id) {
        List<PolicyCandidate> versions = index.versions(id);
        return versions.isEmpty() ? null : versions.get(0).policy();
    }
}
