package dev.weir.limit;

import java.util.ArrayList;
import java.util.List;

/**
 * The changes of a limit that lowered the count of a window, or could have lowered it, after charges whose cost can be
 * corrected. A refund of such a charge is first taken from what was dropped, since without the charge there would have
 * been less to drop. An immutable value, without content while no charge can be corrected.
 *
 * @param lastMs the time of the last charge whose cost can be corrected
 * @param lastNumber the number of that charge
 * @param changes the changes since, oldest first
 */
public record LimitChanges(long lastMs, long lastNumber, List<Change> changes) {

    static final LimitChanges NONE = new LimitChanges(Long.MIN_VALUE, 0, List.of());

    /** How many changes are distinguished. Beyond it, two count as one, at the later time. */
    private static final int MOST = 8;

    /**
     * A change of a limit.
     *
     * @param atMs when the limit changed
     * @param number the number of the last charge before
     * @param response how the count after the change responds to a change of the count before
     */
    public record Change(long atMs, long number, LevelResponse response) {

        private boolean follows(Charge charge) {
            return charge.atMs() < atMs || (charge.atMs() == atMs && charge.number() <= number);
        }
    }

    /**
     * The effect of a correction.
     *
     * @param change the change of the count now
     * @param changes the changes of the limit, for further corrections
     */
    record Correction(long change, LimitChanges changes) {}

    public LimitChanges {
        changes = List.copyOf(changes);
    }

    /** Returns whether there has been no charge whose cost can be corrected. */
    public boolean isNone() {
        return lastMs == Long.MIN_VALUE;
    }

    /** Returns these changes before another charge whose cost can be corrected. */
    LimitChanges before(Charge charge) {
        return new LimitChanges(charge.atMs(), charge.number(), changes);
    }

    /**
     * Returns these changes and one of now.
     *
     * @param excess by how much the count exceeded the most that is kept; negative by how much it did not
     */
    LimitChanges and(long nowMs, long excess) {
        if (isNone()) {
            return this;
        }
        List<Change> next = new ArrayList<>(changes);
        LevelResponse response = LevelResponse.cappedBy(excess);
        if (next.size() == MOST) {
            response = next.remove(MOST - 1).response.then(response);
        }
        next.add(new Change(nowMs, lastNumber, response));
        return new LimitChanges(lastMs, lastNumber, next);
    }

    /**
     * Corrects a charge.
     *
     * @param change what is added to its cost
     * @param windowEndsMs the end of the window of the charge
     */
    Correction corrected(Charge charge, long change, long windowEndsMs) {
        if (changes.isEmpty()) {
            return new Correction(change, this);
        }
        List<Change> next = new ArrayList<>(changes);
        long left = LevelResponse.bounded(change);
        for (int i = 0; i < next.size(); i++) {
            Change at = next.get(i);
            if (at.follows(charge) && at.atMs < windowEndsMs) {
                next.set(i, new Change(at.atMs, at.number, at.response.after(left)));
                left = at.response.to(left);
            }
        }
        return new Correction(left, new LimitChanges(lastMs, lastNumber, next));
    }

    /** Returns these changes without those before {@code earliestMs}; none if no charge can be corrected since then. */
    LimitChanges since(long earliestMs) {
        if (lastMs < earliestMs) {
            return NONE;
        }
        return changes.isEmpty() || changes.get(0).atMs >= earliestMs
                ? this
                : new LimitChanges(
                        lastMs,
                        lastNumber,
                        changes.stream()
                                .filter(change -> change.atMs >= earliestMs)
                                .toList());
    }
}
