package dev.weir.envoy;

import dev.weir.envoy.EnvoyDescriptor.Limit;
import dev.weir.fault.Fault;
import dev.weir.policy.Glob;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Converts the descriptors of one domain to policies of one layer.
 *
 * <p>For the first entry of a request's descriptor, envoyproxy/ratelimit selects one rule; for the next entry, one of
 * the rules below it; and so on. It never goes back, so a descriptor has no limit if the selected rules do not end in
 * one, although other rules would match. In a layer, the matching policy with the highest priority applies. So each rule
 * with a limit becomes a policy that matches all entries of its path, and priorities order them as rules are selected:
 * <pre>
 *   a=1          selected before a, for all entries that follow
 *     b=2        limit 5     → priority 22: {a: "1", b: "2"}, 5
 *                            → priority 21: {a: "1", b: "**"}, unlimited: a=1 is selected, but no rule below it
 *   a
 *     b          limit 7     → priority 20: {a: "**", b: "**"}, 7
 * </pre>
 * Policies for different keys are independent if requests have an attribute with their keys. Otherwise, a policy also
 * matches descriptors with more entries, so policies for more keys get higher priorities, and a policy without a limit
 * covers the descriptors with exactly these keys that have none.
 */
final class DomainPolicies {

    /** The attribute of requests with the domain of the call. */
    private static final String DOMAIN = "domain";

    private static final int MAX_KEY_LENGTH = 256;
    private static final String ANY = "**";
    private static final Pattern ESCAPED_WILDCARDS = Pattern.compile("(\\\\\\*)+");

    private static final Limit NO_LIMIT = new Limit(0, Optional.empty(), "", false);

    /** The priority above the policies that were placed, and whether one of them, or one below, has a limit. */
    private record Placed(int nextPriority, boolean isLimited) {}

    /** A policy whose priority is relative to those for the same keys. */
    private record Placement(int priority, List<EnvoyDescriptor> path) {}

    private final EnvoyDescriptor root;
    private final EnvoyImport.Options options;
    private final PolicyIds ids;
    private final List<Fault> notConverted;

    /** The descriptors with a convertible limit at or below them, by the keys of the limit's path. */
    private final Map<List<String>, Set<EnvoyDescriptor>> leading = new LinkedHashMap<>();

    /** The first sequence of each set of keys. */
    private final Map<Set<String>, List<String>> firstOfKeys = new HashMap<>();

    private final Map<EnvoyDescriptor, String> patterns = new HashMap<>();
    private final List<EnvoyDescriptor> path = new ArrayList<>();

    /** The keys of each path, also of those without a limit. */
    private final Set<List<String>> sequences = new LinkedHashSet<>();

    private int left;
    private List<String> keys = List.of();
    private Set<EnvoyDescriptor> lead = Set.of();
    private List<Placement> placements = List.of();

    DomainPolicies(EnvoyDescriptor root, EnvoyImport.Options options, PolicyIds ids, List<Fault> notConverted) {
        this.root = root;
        this.options = options;
        this.ids = ids;
        this.notConverted = notConverted;
    }

    /**
     * Returns the policies, those with the same keys together and by descending priority.
     *
     * @param most the most policies
     * @throws IllegalArgumentException if there are more; the message is a predicate
     */
    List<ImportedPolicy> convert(int most) {
        left = most;
        collect(root, new ArrayList<>());
        for (List<String> sequence : sequences) {
            if (options.keysAttribute().isEmpty() && !firstOfKeys.containsKey(Set.copyOf(sequence))) {
                leading.put(sequence, Set.of());
            }
        }
        Map<List<String>, List<Placement>> all = new LinkedHashMap<>();
        int highest = 0;
        for (Map.Entry<List<String>, Set<EnvoyDescriptor>> sequence : leading.entrySet()) {
            keys = sequence.getKey();
            lead = sequence.getValue();
            placements = new ArrayList<>();
            highest = Math.max(highest, placeAll());
            all.put(keys, placements);
        }
        int step = options.keysAttribute().isPresent() ? 0 : powerOfTenAbove(highest);
        List<ImportedPolicy> policies = new ArrayList<>();
        all.forEach((sequence, placed) -> placed.stream()
                .sorted(Comparator.comparingInt(Placement::priority).reversed())
                .forEach(placement ->
                        policies.add(policy(sequence, placement.path, placement.priority + step * sequence.size()))));
        return policies;
    }

    private static int powerOfTenAbove(int number) {
        int power = 10;
        while (power <= number) {
            power *= 10;
        }
        return power;
    }

    /** Finds the limits that can be converted, and reports the others. */
    private void collect(EnvoyDescriptor parent, List<EnvoyDescriptor> above) {
        for (SiblingDescriptors siblings : parent.next().values()) {
            for (EnvoyDescriptor descriptor : siblings.all()) {
                Optional<String> obstacle = obstacle(descriptor);
                if (obstacle.isPresent()) {
                    notConverted.add(descriptor.place().fault("is not converted: " + obstacle.get()));
                    continue;
                }
                above.add(descriptor);
                sequences.add(above.stream().map(EnvoyDescriptor::key).toList());
                if (descriptor.limit().isPresent()) {
                    collectLimit(above);
                }
                collect(descriptor, above);
                above.remove(above.size() - 1);
            }
        }
    }

    /** Returns why neither a descriptor nor those below it can be converted. Otherwise, stores its pattern. */
    private Optional<String> obstacle(EnvoyDescriptor descriptor) {
        String key = descriptor.key();
        if (key.indexOf('*') >= 0) {
            return Optional.of("the key has a wildcard (*); write a descriptor for each key");
        }
        if (key.equals(DOMAIN) || options.keysAttribute().filter(key::equals).isPresent()) {
            return Optional.of("requests of Weir have another attribute " + key
                    + "; rename the key here and in Envoy's rate limit actions");
        }
        if (key.codePointCount(0, key.length()) > MAX_KEY_LENGTH) {
            return Optional.of("the key has more than " + MAX_KEY_LENGTH + " characters; shorten it");
        }
        try {
            patterns.put(descriptor, pattern(descriptor));
            return Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.of("the value is too long: " + e.getMessage() + "; use a wildcard (*)");
        }
    }

    private static String pattern(EnvoyDescriptor descriptor) {
        String pattern = descriptor.matchesAnyValue()
                ? ANY
                : ESCAPED_WILDCARDS.matcher(literal(descriptor.value())).replaceAll(ANY);
        return new Glob(pattern).toString();
    }

    private static String literal(String text) {
        return text.replaceAll("[\\\\*?]", "\\\\$0");
    }

    private void collectLimit(List<EnvoyDescriptor> ofPath) {
        List<String> sequence = ofPath.stream().map(EnvoyDescriptor::key).toList();
        EnvoyDescriptor last = ofPath.get(ofPath.size() - 1);
        Optional<String> obstacle = obstacle(sequence, ofPath);
        if (obstacle.isPresent()) {
            notConverted.add(last.place().fault("is not converted: " + obstacle.get()));
        } else {
            leading.computeIfAbsent(sequence, s -> new LinkedHashSet<>()).addAll(ofPath);
        }
    }

    /** Returns why the limit of a path cannot be converted. */
    private Optional<String> obstacle(List<String> sequence, List<EnvoyDescriptor> ofPath) {
        if (Set.copyOf(sequence).size() < sequence.size()) {
            return Optional.of("the path has a key twice (" + String.join(", ", sequence)
                    + "), and a request of Weir has one value for each; use different keys");
        }
        if (key(ofPath).size() > Policy.MAX_KEY_FIELDS) {
            return Optional.of("it counts by more than " + Policy.MAX_KEY_FIELDS
                    + " fields; use fewer entries without an exact value");
        }
        if (options.keysAttribute().isPresent()) {
            try {
                new Glob(keysPattern(sequence));
            } catch (IllegalArgumentException e) {
                return Optional.of("the keys of the path are too long; shorten them");
            }
        } else {
            List<String> first = firstOfKeys.computeIfAbsent(Set.copyOf(sequence), keySet -> sequence);
            if (!first.equals(sequence)) {
                return Optional.of("other descriptors have the same keys in another order ("
                        + String.join(", ", first) + "), which policies do not distinguish; send the entries in one"
                        + " order, or use --keys-attribute");
            }
        }
        return Optional.empty();
    }

    /** Places the policies for the current keys. Returns the priority above the highest one. */
    private int placeAll() {
        boolean needsOthers = options.keysAttribute().isEmpty() && hasStrictSubset() && !coversAll(root, 0);
        int lowest = 0;
        if (needsOthers) {
            add(lowest++);
        }
        return place(root, 0, lowest, false).nextPriority;
    }

    /** Adds a policy for the current path. */
    private void add(int priority) {
        if (--left < 0) {
            throw new IllegalArgumentException("converts to more policies than a file can have");
        }
        placements.add(new Placement(priority, List.copyOf(path)));
    }

    /** Returns whether another limit has only some of the current keys. */
    private boolean hasStrictSubset() {
        for (int members = 1; members < (1 << keys.size()) - 1; members++) {
            Set<String> subset = new HashSet<>();
            for (int i = 0; i < keys.size(); i++) {
                if ((members & 1 << i) != 0) {
                    subset.add(keys.get(i));
                }
            }
            if (firstOfKeys.containsKey(subset)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether the descriptors for any value below this one end in a limit, whatever the values are. */
    private boolean coversAll(EnvoyDescriptor parent, int level) {
        if (level == keys.size()) {
            return lead.contains(parent) && parent.limit().isPresent();
        }
        SiblingDescriptors siblings = parent.next().get(keys.get(level));
        return siblings != null && siblings.anyValue().anyMatch(any -> lead.contains(any) && coversAll(any, level + 1));
    }

    /**
     * Places the policies below a descriptor.
     *
     * @param lowest the lowest priority to use
     * @param isLimitedBelow whether a policy with a lower priority has a limit, so that a selected descriptor without
     *     one needs a policy too
     */
    private Placed place(EnvoyDescriptor parent, int level, int lowest, boolean isLimitedBelow) {
        SiblingDescriptors siblings = parent.next().get(keys.get(level));
        Placed below = new Placed(lowest, isLimitedBelow);
        if (siblings == null) {
            return below;
        }
        for (List<EnvoyDescriptor> alike : siblings.byPrecedence()) {
            Placed placed = below;
            for (EnvoyDescriptor descriptor : alike) {
                boolean isRelevant = lead.contains(descriptor) || below.isLimited;
                if (isRelevant && patterns.containsKey(descriptor)) {
                    Placed one = placeSelected(descriptor, level, below);
                    placed = new Placed(
                            Math.max(placed.nextPriority, one.nextPriority), placed.isLimited || one.isLimited);
                }
            }
            below = placed;
        }
        return below;
    }

    /** Places the policies of a descriptor that is selected, and of those below it. */
    private Placed placeSelected(EnvoyDescriptor descriptor, int level, Placed below) {
        path.add(descriptor);
        Placed placed = below;
        boolean isLast = level == keys.size() - 1;
        boolean leads = lead.contains(descriptor);
        if (isLast && leads) {
            add(below.nextPriority);
            boolean isLimited = descriptor.limit().orElseThrow().unit().isPresent();
            placed = new Placed(below.nextPriority + 1, isLimited);
        } else {
            int next = below.nextPriority;
            if (below.isLimited && !coversAll(descriptor, level + 1)) {
                add(next++);
            }
            placed = leads ? place(descriptor, level + 1, next, false) : new Placed(next, false);
        }
        path.remove(path.size() - 1);
        return placed;
    }

    private ImportedPolicy policy(List<String> sequence, List<EnvoyDescriptor> ofPath, int priority) {
        Map<String, String> match = new LinkedHashMap<>();
        match.put(DOMAIN, literal(root.key()));
        options.keysAttribute().ifPresent(attribute -> match.put(attribute, keysPattern(sequence)));
        for (int i = 0; i < sequence.size(); i++) {
            match.put(sequence.get(i), i < ofPath.size() ? patterns.get(ofPath.get(i)) : ANY);
        }
        EnvoyDescriptor last = ofPath.isEmpty() ? root : ofPath.get(ofPath.size() - 1);
        boolean hasLimit = ofPath.size() == sequence.size() && last.limit().isPresent();
        if (!hasLimit) {
            String id = ids.ofOthers(root.key(), ofPath, sequence);
            return new ImportedPolicy(id, Optional.empty(), priority, match, List.of("client"), NO_LIMIT);
        }
        Limit limit = last.limit().get();
        List<String> key = limit.unit().isPresent() ? key(ofPath) : List.of("client");
        return new ImportedPolicy(
                ids.of(root.key(), ofPath, limit), Optional.of(last.place()), priority, match, key, limit);
    }

    private static String keysPattern(List<String> sequence) {
        return literal(String.join(",", sequence));
    }

    /**
     * Returns the fields that count separately: all whose values the policy does not determine. The client is one of
     * them, since the entries determine it, except if the values of an entry are counted together.
     */
    private static List<String> key(List<EnvoyDescriptor> ofPath) {
        List<String> key = new ArrayList<>();
        boolean isShared = ofPath.stream().anyMatch(EnvoyDescriptor::sharesThreshold);
        if (!isShared) {
            key.add("client");
        }
        for (EnvoyDescriptor descriptor : ofPath) {
            boolean isOpen = descriptor.matchesAnyValue() || descriptor.hasWildcards();
            if (isOpen && !descriptor.sharesThreshold() && !key.contains(descriptor.key())) {
                key.add(descriptor.key());
            }
        }
        return key;
    }
}
