package dev.weir.decision;

import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.LimitMatcher;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The effect of a policy change on the usage counted so far, for keys that were last charged before the change.
 *
 * @param sameKey whether usage is carried over at all; false if the id or the key of the policy differs
 * @param limits what each new limit starts from, in the order of the limits
 * @param dropped the labels of the old limits whose counts end, in the order of the limits
 * @param suspended the labels of the old limits whose counts are kept while a limit is unlimited or permits nothing, in
 *     the order of the limits. They continue when the policy counts again
 */
public record CarryOver(boolean sameKey, List<LimitCarryOver> limits, List<String> dropped, List<String> suspended) {

    /** 30 December 1969. The calendar window that follows, whatever its period, is as long as any. */
    private static final long IN_DECEMBER_MS = -172_800_000;

    /** What a limit starts from. */
    public enum Start {
        /** The limit is the same, and its count is kept. */
        UNCHANGED,
        /** The terms differ but are compatible: usage is kept with its times. */
        CONTINUED,
        /** The old limit's tokens in use at the change, rounded up to whole tokens, count as used at the change. */
        CONVERTED,
        /** Nothing is in use. */
        RESET,
        /** If a limit was suspended before, the limit continues its usage. Otherwise nothing is in use. */
        RESUMED,
        /** The limit is unlimited or permits nothing, so nothing is counted. */
        UNCOUNTED
    }

    /**
     * What one limit starts from.
     *
     * @param label the label of the new limit
     * @param start what it starts from
     * @param from the label of the old limit that it continues, null if there is none
     * @param longestWaitMs how long a client that has used up the old limit waits for the next token, if the change
     *     makes that longer; otherwise 0
     */
    public record LimitCarryOver(String label, Start start, String from, long longestWaitMs) {}

    /** Returns the effect of replacing {@code before} with {@code after}. */
    public static CarryOver of(Policy before, Policy after) {
        boolean sameKey = after.sharesStateWith(before);
        List<Policy.Term> counted = before.terms().stream()
                .filter(term -> term.limit().countsUsage())
                .toList();
        List<Limit<?>> old = counted.stream().<Limit<?>>map(Policy.Term::limit).toList();
        Map<Integer, Integer> pairs = sameKey ? LimitMatcher.of(old, after.limits()) : Map.of();
        List<LimitCarryOver> limits = new ArrayList<>();
        Set<Integer> carried = new HashSet<>();
        for (int i = 0; i < after.terms().size(); i++) {
            Policy.Term term = after.terms().get(i);
            Integer index = pairs.get(i);
            if (!term.limit().countsUsage()) {
                limits.add(new LimitCarryOver(term.label(), Start.UNCOUNTED, null, 0));
            } else if (index == null) {
                Start start = sameKey && !before.countsAllUsage() ? Start.RESUMED : Start.RESET;
                limits.add(new LimitCarryOver(term.label(), start, null, 0));
            } else {
                Policy.Term from = counted.get(index);
                long longestWaitMs = longestWaitMs(from.limit(), term);
                limits.add(new LimitCarryOver(
                        term.label(), start(from.limit(), term.limit()), from.label(), longestWaitMs));
                carried.add(index);
            }
        }
        List<String> others = new ArrayList<>();
        for (int j = 0; j < counted.size(); j++) {
            if (!carried.contains(j)) {
                others.add(counted.get(j).label());
            }
        }
        boolean suspends = sameKey && !after.countsAllUsage();
        return new CarryOver(
                sameKey,
                List.copyOf(limits),
                suspends ? List.of() : List.copyOf(others),
                suspends ? List.copyOf(others) : List.of());
    }

    /** Returns whether all counts are unchanged, and none is suspended or resumed. */
    public boolean keepsAllCounts() {
        return dropped.isEmpty()
                && suspended.isEmpty()
                && limits.stream().allMatch(limit -> limit.start == Start.UNCHANGED || limit.start == Start.UNCOUNTED);
    }

    /** Returns whether any limit counts usage. */
    public boolean counts() {
        return limits.stream().anyMatch(limit -> limit.start != Start.UNCOUNTED);
    }

    private static Start start(Limit<?> old, Limit<?> limit) {
        if (old.equals(limit)) {
            return Start.UNCHANGED;
        }
        return limit.isCompatibleWith(old) ? Start.CONTINUED : Start.CONVERTED;
    }

    /** Returns the longest wait, which is that of a limit used up at the start of a window. */
    private static long longestWaitMs(Limit<?> old, Policy.Term term) {
        long atMs = term.limit().windowEndMs(IN_DECEMBER_MS).orElse(0);
        LimitAccount<?> usedUp = LimitAccount.open(old, atMs).charge(old.capacity(), atMs);
        long waitMs = term.migrate(usedUp, atMs).waitMs(1, atMs);
        return waitMs > usedUp.waitMs(1, atMs) ? waitMs : 0;
    }
}
