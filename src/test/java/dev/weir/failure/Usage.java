package dev.weir.failure;

import dev.weir.failure.RuleHistory.Version;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

/** What one key has taken of one policy, under the version that was last in force for it. */
final class Usage {

    private Version version;
    private List<Tally> tallies = List.of();
    private long requestedMs;
    private long bookedMs;

    /** When the last request came that took something. */
    long requestedMs() {
        return requestedMs;
    }

    /** The time at which a cost is booked that is to be at a time: not before the last one. */
    long notBefore(long atMs) {
        return Math.max(atMs, bookedMs);
    }

    /**
     * Goes by a version from a time on. Limits whose old one is sure go on from it: the only limit of the policy, or all of them
     * where they have the same different algorithms as before. Others begin afresh, which holds nothing against the enforcer
     * that is not so.
     */
    void goBy(Version next, long atMs) {
        if (next.equals(version)) {
            return;
        }
        boolean paired = version != null && arePaired(version.limits(), next.limits());
        List<Tally> changed = new ArrayList<>();
        for (int i = 0; i < next.limits().size(); i++) {
            Terms terms = next.limits().get(i);
            changed.add(
                    paired && version.limits().get(i).counts()
                            ? tallies.get(i).under(terms, atMs)
                            : Tally.of(terms, atMs));
        }
        version = next;
        tallies = changed;
    }

    /** Books what is charged whether it fits or not. */
    void correct(int limit, long cost, boolean isDenial, long requestMs, long atMs) {
        tallies.get(limit).bookBeyond(version.limits().get(limit), cost, isDenial, atMs);
        booked(cost, requestMs, atMs);
    }

    private void booked(long cost, long requestMs, long atMs) {
        if (cost != 0) {
            requestedMs = Math.max(requestedMs, requestMs);
            bookedMs = Math.max(bookedMs, atMs);
        }
    }

    /** Books what was admitted; by how much that was too much, 0 or less if it was not. */
    long admit(int limit, long cost, long requestMs, long atMs) {
        tallies.get(limit).book(cost, atMs);
        booked(cost, requestMs, atMs);
        return cost > 0 ? tallies.get(limit).excess(atMs) : 0;
    }

    private static boolean arePaired(List<Terms> before, List<Terms> after) {
        List<String> algorithms = after.stream().map(Terms::algorithm).toList();
        return before.size() == after.size()
                && (after.size() == 1
                        || (before.stream().map(Terms::algorithm).toList().equals(algorithms)
                                && new HashSet<>(algorithms).size() == algorithms.size()));
    }
}
