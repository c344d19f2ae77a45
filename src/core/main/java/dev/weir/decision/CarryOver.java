package dev.weir.decision;

import dev.weir.limit.Blocked;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Unlimited;
import dev.weir.policy.LimitMatcher;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a change of a policy does to what was counted by it before, for whoever was last charged then.
 *
 * @param sameKey whether anything is carried over at all: not if the key, or the id, is another
 * @param limits what each of the new limits starts from, in their order
 * @param dropped the labels of the old limits whose counts end, in their order
 */
public record CarryOver(boolean sameKey, List<LimitCarryOver> limits, List<String> dropped) {

    /** 30 December 1969: of calendar windows, the next one is as long as any. */
    private static final long IN_DECEMBER_MS = -172_800_000;

    /** What a limit starts from. */
    public enum Start {
        /** The limit is the same: its count is as it was. */
        UNCHANGED,
        /** Its terms are others, but count alike: what was used stays used, with its times. */
        CONTINUED,
        /** What is in use of another limit at the change, in whole tokens rounded up, as if taken then. */
        CONVERTED,
        /** Nothing is used. */
        RESET,
        /** It is unlimited, or permits nothing: there is nothing to count. */
        UNCOUNTED
    }

    /**
     * What a limit starts from.
     *
     * @param label the new limit's
     * @param from the label of the old limit that it goes on from, null if there is none
     * @param longestWaitMs how long a client that has used all of the old limit waits for the next token, if that is
     *     longer because of the change; else 0
     */
    public record LimitCarryOver(String label, Start start, String from, long longestWaitMs) {}

    /** What happens where {@code before} was in force and {@code after} takes its place. */
    public static CarryOver of(Policy before, Policy after) {
        boolean sameKey = after.sharesStateWith(before);
        Map<Integer, Integer> pairs = sameKey ? LimitMatcher.of(before.limits(), after.limits()) : Map.of();
        List<LimitCarryOver> limits = new ArrayList<>();
        Set<Integer> carried = new HashSet<>();
        for (int i = 0; i < after.terms().size(); i++) {
            Policy.Term term = after.terms().get(i);
            Integer index = pairs.get(i);
            Policy.Term old = index == null ? null : before.terms().get(index);
            Start start = start(old == null ? null : old.limit(), term.limit());
            boolean goesOn = start != Start.RESET && start != Start.UNCOUNTED;
            long longestWaitMs = goesOn ? longestWaitMs(old.limit(), term.limit()) : 0;
            limits.add(new LimitCarryOver(term.label(), start, goesOn ? old.label() : null, longestWaitMs));
            if (goesOn) {
                carried.add(index);
            }
        }
        List<String> dropped = new ArrayList<>();
        for (int j = 0; j < before.terms().size(); j++) {
            if (!carried.contains(j) && counts(before.terms().get(j).limit())) {
                dropped.add(before.terms().get(j).label());
            }
        }
        return new CarryOver(sameKey, List.copyOf(limits), List.copyOf(dropped));
    }

    /** Whether every count is as it was. */
    public boolean keepsAllCounts() {
        return dropped.isEmpty()
                && limits.stream().allMatch(limit -> limit.start == Start.UNCHANGED || limit.start == Start.UNCOUNTED);
    }

    /** Whether there is anything to count. */
    public boolean counts() {
        return limits.stream().anyMatch(limit -> limit.start != Start.UNCOUNTED);
    }

    /** @param old the limit that it is paired with, null if it is with none */
    private static Start start(Limit<?> old, Limit<?> limit) {
        if (!counts(limit)) {
            return Start.UNCOUNTED;
        }
        if (old == null || !counts(old)) {
            return Start.RESET;
        }
        if (old.equals(limit)) {
            return Start.UNCHANGED;
        }
        return limit.isCompatibleWith(old) ? Start.CONTINUED : Start.CONVERTED;
    }

    /** The wait is longest if the limit was used up at the moment at which a window starts. */
    private static long longestWaitMs(Limit<?> old, Limit<?> limit) {
        long windowMs = limit.windowEndsMs(IN_DECEMBER_MS);
        long atMs = windowMs == Long.MAX_VALUE ? 0 : windowMs;
        LimitAccount<?> usedUp = LimitAccount.open(old, atMs).charge(old.capacity(), atMs);
        long waitMs = usedUp.migrateTo(limit, atMs).waitMs(1, atMs);
        return waitMs > usedUp.waitMs(1, atMs) ? waitMs : 0;
    }

    private static boolean counts(Limit<?> limit) {
        return !(limit instanceof Unlimited) && !(limit instanceof Blocked);
    }
}
