package dev.weir.policy;

import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * An index of policies, which finds those that can apply to a request without testing all of them. Immutable. A change
 * of one policy copies what belongs to its own terms, and shares everything else.
 */
// Each policy is filed under the terms of one of its conditions: the one whose most frequent term is the rarest among
// all policies. For each field, a lookup walks down a radix tree by the request's value and tests the policies found
// there, best first. A policy without a condition, or whose globs all start with a wildcard, is tested for each
// request,
// unless a better one was found.
//
// How frequent a term is changes with the other policies. So when a term is twice as frequent as it was when the
// policies filed under it were last compared with their other conditions, they are compared again. That is one
// comparison a change on average. Which terms a policy is filed under affects what a lookup costs, not what it finds.
final class PolicyIndex {

    static final PolicyIndex EMPTY = new PolicyIndex(PolicyCandidates.NONE, Map.of(), RadixTree.empty());

    private static final SortedSet<IndexTerm> NO_TERMS = Collections.emptySortedSet();

    /** The policies filed under a text: as prefix, and as whole value. */
    private record IndexEntry(PolicyCandidates starts, PolicyCandidates whole) {

        static final IndexEntry EMPTY = new IndexEntry(PolicyCandidates.NONE, PolicyCandidates.NONE);

        PolicyCandidates of(IndexTerm term) {
            return term.whole() ? whole : starts;
        }

        /** Returns null if there are no policies. */
        IndexEntry with(IndexTerm term, PolicyCandidates candidates) {
            IndexEntry next = term.whole() ? new IndexEntry(starts, candidates) : new IndexEntry(candidates, whole);
            return next.starts.isEmpty() && next.whole.isEmpty() ? null : next;
        }
    }

    /**
     * How many versions of policies have a term.
     *
     * @param reviewAt the count at which the policies filed under the term are compared with their other conditions
     */
    private record TermUse(int count, int reviewAt) {

        static final TermUse NONE = new TermUse(0, 2);

        TermUse plusOne() {
            return new TermUse(count + 1, count + 1 < reviewAt ? reviewAt : 2 * (count + 1));
        }

        /** Returns null if there are none. */
        TermUse minusOne() {
            return count == 1 ? null : new TermUse(count - 1, reviewAt);
        }
    }

    /**
     * A field.
     *
     * @param filed the policies filed under each text
     * @param uses the uses of each {@link IndexTerm#word}, also of those under which no policy is filed
     */
    private record Field(String name, RadixTree<IndexEntry> filed, RadixTree<TermUse> uses) {

        static Field of(String name) {
            return new Field(name, RadixTree.empty(), RadixTree.empty());
        }

        TermUse use(IndexTerm term) {
            TermUse use = uses.get(term.word());
            return use == null ? TermUse.NONE : use;
        }

        Field withUse(IndexTerm term, TermUse use) {
            return new Field(name, filed, uses.with(term.word(), use));
        }

        PolicyCandidates filed(IndexTerm term) {
            IndexEntry entry = filed.get(term.text());
            return (entry == null ? IndexEntry.EMPTY : entry).of(term);
        }

        Field withFiled(IndexTerm term, PolicyCandidates candidates) {
            IndexEntry entry = filed.get(term.text());
            IndexEntry next = (entry == null ? IndexEntry.EMPTY : entry).with(term, candidates);
            return new Field(name, filed.with(term.text(), next), uses);
        }
    }

    private final PolicyCandidates unindexed;
    private final Field[] searched; // those under whose terms policies are filed
    private final Map<String, Field> fields;
    private final RadixTree<List<PolicyCandidate>> byId;

    private PolicyIndex(PolicyCandidates unindexed, Map<String, Field> fields, RadixTree<List<PolicyCandidate>> byId) {
        this.unindexed = unindexed;
        this.fields = fields;
        this.byId = byId;
        searched =
                fields.values().stream().filter(field -> !field.filed.isEmpty()).toArray(Field[]::new);
    }

    /** Adds the best policies that apply to a request to those that were found. Allocates nothing. */
    void find(Request request, long atMs, PolicyTable.Search found) {
        unindexed.improve(found, request, atMs);
        for (Field field : searched) {
            String value = request.field(field.name);
            for (RadixTree<IndexEntry> at = value == null ? null : field.filed; at != null; at = at.child(value)) {
                if (at.value() != null) {
                    at.value().starts.improve(found, request, atMs);
                    if (at.length() == value.length()) {
                        at.value().whole.improve(found, request, atMs);
                    }
                }
            }
        }
    }

    /** Returns the versions of a policy, newest first. */
    List<PolicyCandidate> versions(String id) {
        List<PolicyCandidate> versions = byId.get(id);
        return versions == null ? List.of() : versions;
    }

    Edit edit() {
        return new Edit(this);
    }

    /** Changes of an index, which result in another one. */
    static final class Edit {

        private final TreeMap<String, Field> fields;
        private PolicyCandidates unindexed;
        private RadixTree<List<PolicyCandidate>> byId;

        private Edit(PolicyIndex index) {
            fields = new TreeMap<>(index.fields);
            unindexed = index.unindexed;
            byId = index.byId;
        }

        PolicyIndex index() {
            return new PolicyIndex(unindexed, new TreeMap<>(fields), byId);
        }

        /**
         * Replaces all versions of a policy.
         *
         * @param versions newest first; none to remove the policy
         */
        void replace(String id, List<Policy> versions) {
            List<PolicyCandidate> old = byId.get(id);
            if (old != null) {
                old.forEach(this::unfile);
                old.forEach(version -> terms(version.policy()).forEach(this::removeUse));
            }
            SortedSet<IndexTerm> frequent = new TreeSet<>();
            for (Policy version : versions) {
                for (IndexTerm term : terms(version)) {
                    if (addUse(term)) {
                        frequent.add(term);
                    }
                }
            }
            List<PolicyCandidate> filed = new ArrayList<>();
            long earliestMs = Long.MAX_VALUE;
            for (Policy version : versions) {
                long untilMs = Math.min(earliestMs, version.effectiveUntilMs());
                filed.add(file(new PolicyCandidate(version, untilMs, mostSelective(version.match()))));
                earliestMs = Math.min(earliestMs, version.effectiveFromMs());
            }
            byId = byId.with(id, filed.isEmpty() ? null : filed);
            frequent.forEach(this::review);
        }

        private static List<IndexTerm> terms(Policy policy) {
            return IndexTerm.byField(policy.match()).stream()
                    .flatMap(Collection::stream)
                    .toList();
        }

        /** Returns whether the policies filed under the term must be compared with their other conditions. */
        private boolean addUse(IndexTerm term) {
            Field field = field(term);
            TermUse before = field.use(term);
            TermUse after = before.plusOne();
            fields.put(field.name, field.withUse(term, after));
            return after.reviewAt != before.reviewAt;
        }

        private void removeUse(IndexTerm term) {
            Field field = fields.get(term.field());
            Field next = field.withUse(term, field.use(term).minusOne());
            if (next.uses.isEmpty()) {
                fields.remove(next.name); // no policy is filed under a term without uses
            } else {
                fields.put(next.name, next);
            }
        }

        private Field field(IndexTerm term) {
            Field field = fields.get(term.field());
            return field == null ? Field.of(term.field()) : field;
        }

        /** Returns the terms of the condition whose most frequent term is the rarest; none if each value meets all. */
        private SortedSet<IndexTerm> mostSelective(RequestMatcher match) {
            SortedSet<IndexTerm> rarest = NO_TERMS;
            int least = Integer.MAX_VALUE;
            for (SortedSet<IndexTerm> terms : IndexTerm.byField(match)) {
                int most = 0;
                for (IndexTerm term : terms) {
                    most = Math.max(
                            most,
                            term.meetsAll() ? Integer.MAX_VALUE : field(term).use(term).count);
                }
                if (most < least) {
                    least = most;
                    rarest = terms;
                }
            }
            return rarest;
        }

        private PolicyCandidate file(PolicyCandidate candidate) {
            if (candidate.terms().isEmpty()) {
                unindexed = unindexed.with(candidate);
            }
            for (IndexTerm term : candidate.terms()) {
                Field field = field(term);
                fields.put(field.name, field.withFiled(term, field.filed(term).with(candidate)));
            }
            return candidate;
        }

        private void unfile(PolicyCandidate candidate) {
            if (candidate.terms().isEmpty()) {
                unindexed = unindexed.without(candidate);
            }
            for (IndexTerm term : candidate.terms()) {
                Field field = field(term);
                fields.put(field.name, field.withFiled(term, field.filed(term).without(candidate)));
            }
        }

        /** Files policies that are filed under a term by the terms that are the most selective now. */
        private void review(IndexTerm term) {
            List<PolicyCandidate> all = new ArrayList<>();
            field(term).filed(term).forEach(all::add);
            for (PolicyCandidate candidate : all) {
                SortedSet<IndexTerm> terms = mostSelective(candidate.policy().match());
                if (!terms.equals(candidate.terms())) {
                    unfile(candidate);
                    PolicyCandidate moved = file(candidate.with(terms));
                    String id = candidate.policy().id();
                    byId = byId.with(
                            id,
                            byId.get(id).stream()
                                    .map(version -> version == candidate ? moved : version)
                                    .toList());
                }
            }
        }
    }
}
