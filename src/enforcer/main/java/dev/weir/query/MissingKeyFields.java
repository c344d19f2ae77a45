package dev.weir.query;

import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.fault.Spelling;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Finds key fields that none of the recent requests of a policy has, such as one with a spelling mistake: all of these
 * requests share one count.
 */
public final class MissingKeyFields {

    private static final int MAX_NAMES = 1_000;
    private static final int MAX_SHOWN = 100;

    private final PolicyTable policies;
    private final Set<String> ids;
    private final Map<KeyField, Seen> seen = new TreeMap<>();

    private record KeyField(String policy, String field) implements Comparable<KeyField> {
        @Override
        public int compareTo(KeyField other) {
            int order = policy.compareTo(other.policy);
            return order == 0 ? field.compareTo(other.field) : order;
        }
    }

    private static final class Seen {
        private long requests;
        private long without;
        private final Set<String> names = new TreeSet<>();
    }

    private MissingKeyFields(PolicyTable policies, Set<String> ids) {
        this.policies = policies;
        this.ids = ids;
    }

    /**
     * Returns a warning for each key field that no recent request of its policy has.
     *
     * @param requests recent requests, from a {@link RequestSample}
     * @param policies the policies that apply
     * @param ids the policies that are checked; empty for all
     * @param nowMs the time at which the requests are matched
     * @return the warnings by the id of the policy; none without recent requests: they are a hint, without which
     *     policies can be checked and applied all the same
     */
    public static Map<String, List<String>> of(
            List<Request> requests, PolicyTable policies, Set<String> ids, long nowMs) {
        MissingKeyFields missing = new MissingKeyFields(policies, ids);
        requests.forEach(request -> missing.add(request, nowMs));
        return missing.warnings();
    }

    private void add(Request request, long nowMs) {
        for (Policy policy : policies.applicableAt(request, nowMs)) {
            if (ids.isEmpty() || ids.contains(policy.id())) {
                for (String field : policy.key()) {
                    if (!field.equals("client")) {
                        count(policy, field, request);
                    }
                }
            }
        }
    }

    private void count(Policy policy, String field, Request request) {
        Seen counts = seen.computeIfAbsent(new KeyField(policy.id(), field), none -> new Seen());
        counts.requests++;
        if (request.field(field) == null) {
            counts.without++;
            for (String name : request.attributes().keySet()) {
                if (counts.names.size() < MAX_NAMES) {
                    counts.names.add(name);
                }
            }
        }
    }

    private Map<String, List<String>> warnings() {
        Map<String, List<String>> warnings = new TreeMap<>();
        seen.forEach((of, counts) -> {
            if (counts.without == counts.requests) {
                warnings.computeIfAbsent(of.policy, none -> new ArrayList<>()).add(message(of, counts));
            }
        });
        return warnings;
    }

    private static String message(KeyField of, Seen counts) {
        String meant = Spelling.nearest(of.field, counts.names);
        String requests =
                counts.requests == 1 ? "the last request" : "all of the last " + counts.requests + " requests";
        return "policy '" + of.policy + "': " + requests + " that it applies to had no '" + of.field
                + "', which its key has, so they share one count"
                + (meant == null ? "" : "; did you mean \"" + SafeText.of(meant, MAX_SHOWN) + "\"?");
    }
}
