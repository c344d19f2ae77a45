package dev.weir.failure;

import dev.weir.failure.PolicyVersionHistory.Version;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

/** What one key has taken of one policy, under the version that was last in force for it. */
final class PolicyUsageModel {

    private Version version;
    private List<KeyUsageModel> tallies = List.of();
    private long requestedMs;
    private long bookedMs;
    private long refundedMs;

    /** When the last request came that changed what is in use. */
    long requestedMs() {
        return requestedMs;
    }

    /** When the last request came that was to give something back, whether there was anything or not. */
    long refundedMs() {
        return refundedMs;
    }

    /** The time at which a cost is booked: not before the last one. */
    long notBefore(long atMs) {
        return Math.max(atMs, bookedMs);
    }

    /**
     * Counts under a version from now on. Limits whose old one is sure go on from it: the only limit of the policy, or
     * all of them where they have the same different algorithms as before. Others start afresh, which is never stricter
     * than the enforcer. What is in use under the new terms is in use at the time of the change, and time does not go
     * back behind it.
     *
     * @param requestMs when the request came that is decided under the version
     */
    void goBy(Version next, long requestMs, long atMs) {
        if (next.equals(version) || tallies.isEmpty()) {
            version = next;
            return;
        }
        if (tallies.stream().anyMatch(tally -> !tally.isUnused(atMs))) {
            advance(requestMs, atMs);
        }
        boolean paired = arePaired(version.limits(), next.limits());
        List<KeyUsageModel> changed = new ArrayList<>();
        for (int i = 0; i < next.limits().size(); i++) {
            PolicyTerms terms = next.limits().get(i);
            changed.add(
                    paired && version.limits().get(i).counts()
                            ? tallies.get(i).under(terms, atMs)
                            : KeyUsageModel.of(terms, atMs));
        }
        version = next;
        tallies = changed;
    }

    /** Books what is charged whether it fits or not; nothing if there is nothing to give back. */
    void correct(int limit, long cost, boolean isDenial, long requestMs, long atMs) {
        PolicyTerms terms = version.limits().get(limit);
        refundedMs = cost < 0 ? Math.max(refundedMs, requestMs) : refundedMs;
        if (cost == 0 || (cost < 0 && (tallies.isEmpty() || tallies.get(limit).isUnused(atMs)))) {
            return;
        }
        open(atMs);
        long booked = tallies.get(limit).bookBeyond(terms, cost, isDenial, atMs);
        if (booked != 0 && terms.counts()) {
            advance(requestMs, atMs);
        }
    }

    /** Books what was admitted. Returns by how much that was too much; 0 or less if it was not. */
    long admit(int limit, long cost, long requestMs, long atMs) {
        if (cost == 0) {
            return 0;
        }
        open(atMs);
        tallies.get(limit).book(cost, atMs);
        if (version.limits().get(limit).counts()) {
            advance(requestMs, atMs);
        }
        return cost > 0 ? tallies.get(limit).excess(atMs) : 0;
    }

    /** Begins to count with the first charge. */
    private void open(long atMs) {
        if (tallies.isEmpty()) {
            tallies = version.limits().stream()
                    .map(terms -> KeyUsageModel.of(terms, atMs))
                    .toList();
        }
    }

    private void advance(long requestMs, long atMs) {
        requestedMs = Math.max(requestedMs, requestMs);
        bookedMs = Math.max(bookedMs, atMs);
    }

    private static boolean arePaired(List<PolicyTerms> before, List<PolicyTerms> after) {
        List<String> algorithms = after.stream().map(PolicyTerms::algorithm).toList();
        return before.size() == after.size()
                && (after.size() == 1
                        || (before.stream().map(PolicyTerms::algorithm).toList().equals(algorithms)
                                && new HashSet<>(algorithms).size() == algorithms.size()));
    }
}
