package dev.weir.policy;

import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All policies, and a lookup of those that apply to a request: in each layer, the matching policy with the highest
 * priority. Immutable.
 *
 * <p>A policy can have several versions. At the time of a request, its newest version that has taken effect is in
 * force, until its own end. After that, the policy does not apply, whatever its earlier versions are.
 */
// A request must not be compared with each policy. So each policy is indexed by one of its conditions: the one whose
// terms are the rarest among all policies. An index term is a literal value ("tier = free") or the literal prefix of a
// glob ("endpoint starts with /articles/"). For each field with terms, a lookup walks down a radix tree by the
// request's value and tests the policies found there, best first. A policy without a condition, or with a glob that
// starts with a wildcard, is tested for each request, unless a better one was found.
public final class PolicyTable {

    /** The table without policies. */
    public static final PolicyTable EMPTY = new PolicyTable(List.of());

    private static final long FNV_OFFSET = 0xCBF29CE484222325L;
    private static final long FNV_PRIME = 0x100000001B3L;

    /** The multipliers of MurmurHash3's 64-bit finalizer. */
    private static final long MIX_1 = 0xFF51AFD7ED558CCDL;

    private static final long MIX_2 = 0xC4CEB9FE1A85EC53L;

    private static final Comparator<Policy> BEST_FIRST =
            Comparator.comparingInt(Policy::priority).reversed().thenComparing(Policy::id);

    /** A condition on a field's value: that it equals a text, or starts with it. */
    // Comparable, so that hash maps stay fast even if a client chooses texts whose hash codes collide.
    private record IndexTerm(String field, boolean whole, String text) implements Comparable<IndexTerm> {
        @Override
        public int compareTo(IndexTerm other) {
            int order = text.compareTo(other.text);
            if (order == 0) {
                order = field.compareTo(other.field);
            }
            return order == 0 ? Boolean.compare(whole, other.whole) : order;
        }

        static IndexTerm of(String field, Glob glob) {
            return new IndexTerm(field, glob.isLiteral(), glob.literalPrefix());
        }
    }

    /**
     * A policy and its rank among those of its layer; rank 0 takes precedence over 1.
     *
     * @param untilMs when the version ends or a later version of the policy takes effect
     */
    private record Ranked(int layer, int rank, Policy policy, long untilMs) {
        boolean applies(Request request, long atMs) {
            return atMs >= policy.effectiveFromMs()
                    && atMs < untilMs
                    && policy.match().matches(request);
        }
    }

    /**
     * Policies that are tested together.
     *
     * @param bestFirst those of one layer, best first
     * @param others those of the following layers, null if there are none
     */
    @SuppressWarnings("ArrayRecordComponent") // built once, never compared
    private record Candidates(Ranked[] bestFirst, Candidates others) {

        /** @param ranked ordered by layer, and best first within each layer */
        static Candidates of(List<Ranked> ranked) {
            Candidates all = null;
            for (int end = ranked.size(), begin = end - 1; begin >= 0; begin--) {
                if (begin == 0 || ranked.get(begin - 1).layer != ranked.get(begin).layer) {
                    all = new Candidates(ranked.subList(begin, end).toArray(Ranked[]::new), all);
                    end = begin;
                }
            }
            return all;
        }
    }

    /** The policies indexed by a text: as prefix, and as whole value; null if there are none. */
    private record IndexEntry(Candidates starts, Candidates whole) {}

    /** A builder of an {@link IndexEntry}. */
    private record IndexEntryBuilder(List<Ranked> starts, List<Ranked> whole) {
        IndexEntryBuilder() {
            this(new ArrayList<>(1), new ArrayList<>(1));
        }

        IndexEntry build() {
            return new IndexEntry(Candidates.of(starts), Candidates.of(whole));
        }
    }

    /** A field and the index of its terms. */
    private record Field(String name, RadixTree<IndexEntry> tree) {

        static Field of(String name, SortedMap<String, IndexEntryBuilder> filings) {
            SortedMap<String, IndexEntry> words = new TreeMap<>();
            filings.forEach((text, filing) -> words.put(text, filing.build()));
            return new Field(name, RadixTree.of(words));
        }
    }

    private final int layers;
    private final Candidates unindexed;
    private final Field[] fields;
    private final Map<String, TreeMap<Long, Policy>> byId = new HashMap<>();
    private final long lastChangeMs;
    private final long checksum;

    /** @throws IllegalArgumentException if two policies have the same id and version */
    public PolicyTable(Collection<Policy> policies) {
        Map<String, List<Policy>> byLayer = new TreeMap<>();
        Map<IndexTerm, Integer> frequency = new HashMap<>();
        for (Policy policy : policies) {
            if (byId.computeIfAbsent(policy.id(), id -> new TreeMap<>()).put(policy.version(), policy) != null) {
                throw new IllegalArgumentException(
                        "two policies have the id " + policy.id() + " and the version " + policy.version());
            }
        }
        checksum = checksum(policies);
        Map<Policy, Long> untilMs = untilMs();
        for (Policy policy : policies) {
            byLayer.computeIfAbsent(policy.layer(), layer -> new ArrayList<>()).add(policy);
            policy.match()
                    .conditions()
                    .forEach((field, globs) ->
                            globs.forEach(glob -> frequency.merge(IndexTerm.of(field, glob), 1, Integer::sum)));
        }
        layers = byLayer.size();
        lastChangeMs =
                policies.stream().mapToLong(PolicyTable::lastChangeMs).max().orElse(0);
        List<Ranked> unfiled = new ArrayList<>();
        Map<String, SortedMap<String, IndexEntryBuilder>> byField = new TreeMap<>();
        int layer = 0;
        for (List<Policy> ofLayer : byLayer.values()) {
            ofLayer.sort(BEST_FIRST);
            for (int rank = 0; rank < ofLayer.size(); rank++) {
                Policy policy = ofLayer.get(rank);
                Ranked ranked = new Ranked(layer, rank, policy, untilMs.getOrDefault(policy, Long.MAX_VALUE));
                Set<IndexTerm> words = mostSelective(policy.match(), frequency);
                if (words.isEmpty()) {
                    unfiled.add(ranked);
                }
                words.forEach(word -> addToIndex(ranked, word, byField));
            }
            layer++;
        }
        unindexed = Candidates.of(unfiled);
        fields = byField.entrySet().stream()
                .map(words -> Field.of(words.getKey(), words.getValue()))
                .toArray(Field[]::new);
    }

    private static void addToIndex(
            Ranked ranked, IndexTerm word, Map<String, SortedMap<String, IndexEntryBuilder>> byField) {
        IndexEntryBuilder filing = byField.computeIfAbsent(word.field, field -> new TreeMap<>())
                .computeIfAbsent(word.text, text -> new IndexEntryBuilder());
        (word.whole ? filing.whole : filing.starts).add(ranked);
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
        return lastChangeMs > atMs;
    }

    /** Returns all versions of a policy. */
    public Collection<Policy> versions(String id) {
        TreeMap<Long, Policy> versions = byId.get(id);
        return versions == null ? List.of() : versions.values();
    }

    /** Like {@link #applicable}, by the versions in force at {@code atMs} instead of the request's own time. */
    public Policy[] applicableAt(Request request, long atMs) {
        Ranked[] best = new Ranked[layers];
        find(request, atMs, best);
        int size = 0;
        for (Ranked ranked : best) {
            size += ranked == null ? 0 : 1;
        }
        Policy[] applying = new Policy[size];
        int next = 0;
        for (Ranked ranked : best) {
            if (ranked != null) {
                applying[next++] = ranked.policy;
            }
        }
        return applying;
    }

    /** Finds the policies that apply to a request at {@code atMs}, whatever its own time is. Allocates nothing. */
    public void find(Request request, long atMs, Search into) {
        into.clear(layers);
        find(request, atMs, into.found);
        into.close();
    }

    /** A reusable buffer for the policies that apply to a request. Not thread-safe. */
    public static final class Search {

        private Ranked[] found = {};
        private int size;

        private void clear(int layers) {
            if (found.length < layers) {
                found = new Ranked[layers];
            }
            Arrays.fill(found, null);
        }

        private void close() {
            size = 0;
            for (Ranked ranked : found) {
                if (ranked != null) {
                    found[size++] = ranked;
                }
            }
        }

        /** Returns how many policies apply. */
        public int size() {
            return size;
        }

        /** Returns one of the policies. Layers are in alphabetical order. */
        public Policy policy(int index) {
            return found[index].policy;
        }
    }

    private void find(Request request, long atMs, Ranked[] best) {
        improve(best, unindexed, request, atMs);
        for (Field field : fields) {
            String value = request.field(field.name);
            for (RadixTree<IndexEntry> at = value == null ? null : field.tree; at != null; at = at.child(value)) {
                if (at.value() != null) {
                    improve(best, at.value().starts, request, atMs);
                    improve(best, at.length() == value.length() ? at.value().whole : null, request, atMs);
                }
            }
        }
    }

    /** Replaces worse policies, by layer, with better candidates that apply. */
    private static void improve(Ranked[] best, Candidates candidates, Request request, long atMs) {
        for (Candidates some = candidates; some != null; some = some.others) {
            Ranked so = best[some.bestFirst[0].layer];
            for (Ranked candidate : some.bestFirst) {
                if (so != null && candidate.rank >= so.rank) {
                    break;
                }
                if (candidate.applies(request, atMs)) {
                    best[candidate.layer] = candidate;
                    break;
                }
            }
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
        for (Policy policy :
                byId.getOrDefault(id, new TreeMap<>()).descendingMap().values()) {
            if (policy.effectiveFromMs() <= atMs) {
                return atMs < policy.effectiveUntilMs() ? policy : null;
            }
        }
        return null;
    }

    /** Returns the latest version of a policy, null if there is none. */
    public Policy latest(String id) {
        TreeMap<Long, Policy> versions = byId.get(id);
        return versions == null ? null : versions.lastEntry().getValue();
    }

    /** Returns until when each version is in force, if it ends or a later one takes effect. */
    private Map<Policy, Long> untilMs() {
        Map<Policy, Long> untilMs = new HashMap<>();
        for (TreeMap<Long, Policy> versions : byId.values()) {
            long earliestMs = Long.MAX_VALUE;
            for (Policy policy : versions.descendingMap().values()) {
                long ownMs = Math.min(earliestMs, policy.effectiveUntilMs());
                if (ownMs != Long.MAX_VALUE) {
                    untilMs.put(policy, ownMs);
                }
                earliestMs = Math.min(earliestMs, policy.effectiveFromMs());
            }
        }
        return untilMs;
    }

    /**
     * Returns the terms of the condition whose most frequent term is the rarest; none if no condition can be indexed.
     */
    private static Set<IndexTerm> mostSelective(RequestMatcher match, Map<IndexTerm, Integer> frequency) {
        Set<IndexTerm> rarest = Set.of();
        int least = Integer.MAX_VALUE;
        for (Map.Entry<String, List<Glob>> condition : match.conditions().entrySet()) {
            Set<IndexTerm> words = new LinkedHashSet<>();
            int most = 0;
            for (Glob glob : condition.getValue()) {
                IndexTerm word = IndexTerm.of(condition.getKey(), glob);
                most = Math.max(most, word.text.isEmpty() && !word.whole ? Integer.MAX_VALUE : frequency.get(word));
                words.add(word);
            }
            if (most < least) {
                least = most;
                rarest = words;
            }
        }
        return rarest;
    }
}
