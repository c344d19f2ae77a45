package dev.weir.policy;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * All policies in force, and which of them apply to a request: of each layer, the one with the highest priority that
 * matches. Immutable.
 *
 * <p>Of a policy there may be several versions: at a request's time the newest holds whose {@code effectiveFromMs} has
 * come.
 */
// A request must not be held against every policy. Each policy is filed, in its layer, under one of its conditions: the
// one whose words are the rarest over all policies. A word is a literal value ("tier = free") or the literal start of a
// glob ("endpoint starts with /articles/"). A request looks up its own values and their starts, of the lengths that
// occur, and tries what it finds there, best first. A policy without a condition, or whose globs all begin with a
// wildcard, is tried each time, unless a better one was found.
public final class PolicyTable {

    /** The table without policies. */
    public static final PolicyTable EMPTY = new PolicyTable(List.of());

    private static final Comparator<Policy> BEST_FIRST =
            Comparator.comparingInt(Policy::priority).reversed().thenComparing(Policy::id);

    /** Something that a field's value equals, or starts with. */
    // Comparable, so that a map finds words of the same hash, whoever chose them, by their order
    private record Word(String field, boolean whole, String text) implements Comparable<Word> {
        @Override
        public int compareTo(Word other) {
            int order = text.compareTo(other.text);
            if (order == 0) {
                order = field.compareTo(other.field);
            }
            return order == 0 ? Boolean.compare(whole, other.whole) : order;
        }

        static Word of(String field, Glob glob) {
            return new Word(field, glob.isLiteral(), glob.literalPrefix());
        }
    }

    /**
     * A policy and its place among all of its layer: 0 applies before 1.
     *
     * @param untilMs when a later version of it takes over
     */
    private record Ranked(int rank, Policy policy, long untilMs) {
        boolean applies(Request request) {
            return request.timestampMs() >= policy.effectiveFromMs()
                    && request.timestampMs() < untilMs
                    && policy.match().matches(request);
        }
    }

    private static final class Layer {
        final Map<Word, List<Ranked>> byWord = new HashMap<>();
        final List<Ranked> always = new ArrayList<>();
        final List<String> wholeFields = new ArrayList<>();
        final Map<String, int[]> startLengths = new TreeMap<>();

        Layer(List<Policy> policies, Map<Policy, Long> untilMs, Map<Word, Integer> frequency) {
            policies.sort(BEST_FIRST);
            for (int rank = 0; rank < policies.size(); rank++) {
                Ranked ranked =
                        new Ranked(rank, policies.get(rank), untilMs.getOrDefault(policies.get(rank), Long.MAX_VALUE));
                Set<Word> words = rarest(ranked.policy.match(), frequency);
                if (words.isEmpty()) {
                    always.add(ranked);
                }
                for (Word word : words) {
                    byWord.computeIfAbsent(word, w -> new ArrayList<>()).add(ranked);
                }
            }
            Map<String, TreeSet<Integer>> lengths = new TreeMap<>();
            TreeSet<String> fields = new TreeSet<>();
            for (Word word : byWord.keySet()) {
                if (word.whole) {
                    fields.add(word.field);
                } else {
                    lengths.computeIfAbsent(word.field, f -> new TreeSet<>()).add(word.text.length());
                }
            }
            wholeFields.addAll(fields);
            lengths.forEach((field, set) -> startLengths.put(
                    field, set.stream().mapToInt(Integer::intValue).toArray()));
        }

        /** The best policy that matches, null if none does. */
        Policy best(Request request) {
            Ranked best = better(null, always, request);
            for (String field : wholeFields) {
                String value = request.field(field);
                if (value != null) {
                    best = better(best, byWord.get(new Word(field, true, value)), request);
                }
            }
            for (Map.Entry<String, int[]> starts : startLengths.entrySet()) {
                String value = request.field(starts.getKey());
                for (int i = 0; value != null && i < starts.getValue().length; i++) {
                    int length = starts.getValue()[i];
                    if (length > value.length()) {
                        break;
                    }
                    Word word = new Word(starts.getKey(), false, value.substring(0, length));
                    best = better(best, byWord.get(word), request);
                }
            }
            return best == null ? null : best.policy;
        }

        private static Ranked better(Ranked best, List<Ranked> candidates, Request request) {
            if (candidates != null) {
                for (Ranked candidate : candidates) {
                    if (best != null && candidate.rank >= best.rank) {
                        break;
                    }
                    if (candidate.applies(request)) {
                        return candidate;
                    }
                }
            }
            return best;
        }
    }

    private final List<Layer> layers = new ArrayList<>();
    private final Map<String, TreeMap<Long, Policy>> byId = new HashMap<>();

    /** @throws IllegalArgumentException if two policies have the same id and version */
    public PolicyTable(Collection<Policy> policies) {
        Map<String, List<Policy>> byLayer = new TreeMap<>();
        Map<Word, Integer> frequency = new HashMap<>();
        for (Policy policy : policies) {
            if (byId.computeIfAbsent(policy.id(), id -> new TreeMap<>()).put(policy.version(), policy) != null) {
                throw new IllegalArgumentException("two policies have the id " + policy.id());
            }
        }
        Map<Policy, Long> untilMs = untilMs();
        for (Policy policy : policies) {
            byLayer.computeIfAbsent(policy.layer(), layer -> new ArrayList<>()).add(policy);
            policy.match()
                    .conditions()
                    .forEach((field, globs) ->
                            globs.forEach(glob -> frequency.merge(Word.of(field, glob), 1, Integer::sum)));
        }
        byLayer.values().forEach(layer -> layers.add(new Layer(layer, untilMs, frequency)));
    }

    /** The policies that apply to a request: at most one a layer, layers in alphabetical order. */
    public List<Policy> applicable(Request request) {
        List<Policy> applicable = new ArrayList<>(layers.size());
        for (Layer layer : layers) {
            Policy best = layer.best(request);
            if (best != null) {
                applicable.add(best);
            }
        }
        return applicable;
    }

    /** The version of a policy that holds at a time, null if none does. */
    public Policy inForce(String id, long atMs) {
        for (Policy policy :
                byId.getOrDefault(id, new TreeMap<>()).descendingMap().values()) {
            if (policy.effectiveFromMs() <= atMs) {
                return policy;
            }
        }
        return null;
    }

    /** When a later version takes over, of the policies that have one. */
    private Map<Policy, Long> untilMs() {
        Map<Policy, Long> untilMs = new HashMap<>();
        for (TreeMap<Long, Policy> versions : byId.values()) {
            long earliestMs = Long.MAX_VALUE;
            for (Policy policy : versions.descendingMap().values()) {
                if (earliestMs != Long.MAX_VALUE) {
                    untilMs.put(policy, earliestMs);
                }
                earliestMs = Math.min(earliestMs, policy.effectiveFromMs());
            }
        }
        return untilMs;
    }

    /** The words of the condition whose most frequent word is the least frequent; none if no condition has a start. */
    private static Set<Word> rarest(Match match, Map<Word, Integer> frequency) {
        Set<Word> rarest = Set.of();
        int least = Integer.MAX_VALUE;
        for (Map.Entry<String, List<Glob>> condition : match.conditions().entrySet()) {
            Set<Word> words = new LinkedHashSet<>();
            int most = 0;
            for (Glob glob : condition.getValue()) {
                Word word = Word.of(condition.getKey(), glob);
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
