package dev.weir.limit;

import java.util.ArrayList;
import java.util.List;

/**
 * The charges of a bucket whose cost can still be corrected, oldest first. An immutable value.
 *
 * <p>If a charge had been smaller by x, the level now would be lower by at most x: less if the bucket had then been empty
 * in between. If it had been larger by y, the level would be higher by at most y: less if the bucket was empty in
 * between. With each charge is stored the {@linkplain LevelResponse response} of the level from then until the next
 * stored charge, or until now for the last one. So a correction passes through the responses from its charge on, and
 * each of them remembers it for later corrections.
 *
 * <pre>
 *   burst 10, 10/s   0 s: reserve 5 (a) and 5 (b)    0.5 s: consume 5, level 10    W = 5 just before it
 *                    a costs 0: the level is lowered by min(5, W) = 5, and W to 0
 *                    b costs 0: the level is lowered by min(5, W) = 0
 * </pre>
 *
 * <p>Beyond {@value #MOST_EXACT} charges, neighbours share one response, from the first of them on. Refunds then pass
 * through all of it, and debts through none, which never leaves a lower level than the exact one.
 *
 * @param groups the charges, oldest first
 */
public record OpenCharges(List<Group> groups) {

    /** How many charges are corrected exactly. */
    public static final int MOST_EXACT = 16;

    static final OpenCharges NONE = new OpenCharges(List.of());

    /**
     * Charges that share a response.
     *
     * @param number the number of the charge, if it is alone; otherwise of the first one
     * @param isAlone whether there has only been one charge
     * @param firstMs the time of the first charge
     * @param lastMs the time of the last charge
     * @param size how many of them can still be corrected, 1 or more
     * @param response the response of the level to a change at the first charge
     */
    public record Group(long number, boolean isAlone, long firstMs, long lastMs, int size, LevelResponse response) {

        private Group with(LevelResponse next) {
            return next.equals(response) ? this : new Group(number, isAlone, firstMs, lastMs, size, next);
        }

        private Group without() {
            return new Group(number, isAlone, firstMs, lastMs, size - 1, response);
        }

        private Group joined(Group next) {
            return new Group(number, false, firstMs, next.lastMs, size + next.size, response.then(next.response));
        }

        private boolean isOf(Charge charge) {
            return isAlone && charge.number() == number && charge.atMs() == firstMs;
        }

        private boolean mayHaveSince(Charge refund) {
            return lastMs >= refund.atMs() && (!isAlone || number == refund.number());
        }

        private boolean mayHave(Charge charge) {
            return !isAlone && charge.atMs() >= firstMs && charge.atMs() <= lastMs;
        }
    }

    /**
     * The effect of a correction.
     *
     * @param change the change of the level now
     * @param open the charges that can still be corrected
     */
    record Correction(long change, OpenCharges open) {}

    public OpenCharges {
        groups = List.copyOf(groups);
    }

    boolean isEmpty() {
        return groups.isEmpty();
    }

    /** Returns whether a charge can still be corrected. */
    boolean contains(Charge charge) {
        return indexOf(charge) >= 0;
    }

    /** Returns these charges and one of now, which is the newest. */
    OpenCharges with(Charge charge) {
        List<Group> next = new ArrayList<>(groups);
        next.add(new Group(charge.number(), true, charge.atMs(), charge.atMs(), 1, LevelResponse.SAME));
        if (next.size() > MOST_EXACT) {
            join(next);
        }
        return new OpenCharges(next);
    }

    /** Joins two neighbours: the first that share a millisecond, so that a time identifies a group, or else the smallest. */
    private static void join(List<Group> groups) {
        int best = 0;
        long fewest = Long.MAX_VALUE;
        for (int i = 0; i + 1 < groups.size(); i++) {
            Group one = groups.get(i);
            Group next = groups.get(i + 1);
            long size = one.lastMs == next.firstMs ? 0 : (long) one.size + next.size;
            if (size < fewest) {
                best = i;
                fewest = size;
            }
        }
        groups.set(best, groups.get(best).joined(groups.remove(best + 1)));
    }

    /** Returns these charges after the level responded to something that happened to it. */
    OpenCharges then(LevelResponse response) {
        if (groups.isEmpty()) {
            return this;
        }
        int last = groups.size() - 1;
        List<Group> next = new ArrayList<>(groups);
        next.set(last, groups.get(last).with(groups.get(last).response.then(response)));
        return new OpenCharges(next);
    }

    /**
     * Returns these charges after another charge.
     *
     * @param drained the level before it; negative by what could not flow out
     * @param change the units charged; a refund is negative and can be lost to an empty bucket like an outflow
     */
    OpenCharges charged(long drained, long change) {
        if (groups.isEmpty()) {
            return this;
        }
        OpenCharges before = then(LevelResponse.drained(drained));
        return change < 0 ? before.then(LevelResponse.drained(Math.max(0, drained) + change)) : before;
    }

    /**
     * Returns these charges after the level was lowered to at most {@code most}, if it exceeded that.
     *
     * @param drained the level before; negative by what could not flow out
     */
    OpenCharges loweredTo(long most, long drained) {
        return then(LevelResponse.drained(drained)).then(LevelResponse.cappedBy(Math.max(0, drained) - most));
    }

    /** Returns these charges without one that is final. */
    OpenCharges without(Charge charge) {
        int index = indexOf(charge);
        if (index < 0) {
            return this;
        }
        List<Group> next = new ArrayList<>(groups);
        remove(next, index);
        return new OpenCharges(next);
    }

    private static void remove(List<Group> groups, int index) {
        Group group = groups.get(index);
        if (group.size > 1) {
            groups.set(index, group.without());
            return;
        }
        groups.remove(index);
        if (index > 0) {
            Group before = groups.get(index - 1);
            groups.set(index - 1, before.with(before.response.then(group.response)));
        }
    }

    /**
     * Corrects a charge, which is then final.
     *
     * @param charge one of these charges
     * @param change what is added to its cost, in units of the level
     */
    Correction corrected(Charge charge, long change) {
        int index = indexOf(charge);
        List<Group> next = new ArrayList<>(groups);
        long left = correct(next, change > 0 && !groups.get(index).isAlone ? index + 1 : index, change);
        remove(next, index);
        return new Correction(left, new OpenCharges(next));
    }

    /**
     * Corrects charges with a number from a time on, which can still be corrected. The refund passes through all that
     * happened since the first of them, or since charges that share a response, among which it can be.
     *
     * @param refund the number and the time
     * @param units what is refunded, in units of the level, 0 or more
     */
    Correction refunded(Charge refund, long units) {
        int first = 0;
        while (first < groups.size() && !groups.get(first).mayHaveSince(refund)) {
            first++;
        }
        List<Group> next = new ArrayList<>(groups);
        long left = first == groups.size() ? 0 : correct(next, first, -units);
        return new Correction(left, new OpenCharges(next));
    }

    /** Corrects the responses from a group on, and returns the change of the level now. */
    private static long correct(List<Group> groups, int from, long change) {
        long left = LevelResponse.bounded(change);
        for (int i = from; i < groups.size() && left != 0; i++) {
            LevelResponse response = groups.get(i).response;
            groups.set(i, groups.get(i).with(response.after(left)));
            left = response.to(left);
        }
        return left;
    }

    private int indexOf(Charge charge) {
        int joined = -1;
        for (int i = 0; i < groups.size(); i++) {
            if (groups.get(i).isOf(charge)) {
                return i;
            }
            joined = joined < 0 && groups.get(i).mayHave(charge) ? i : joined;
        }
        return joined;
    }
}
