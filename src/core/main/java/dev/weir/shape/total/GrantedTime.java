package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.total.TotalReport.LeasedTime;
import java.util.Optional;

/**
 * The time of a total that a ledger has granted: all up to a point, from which it continues. Each run has a number. The
 * point moves back only if the partition that got the last run returns the end of it.
 */
final class GrantedTime {

    private OutflowState state; // its arrival is the end of the last run, its sequence the number of that run
    private int tailOwner = -1; // the partition that got all runs after tailSince
    private long tailSince;
    private Optional<LeasedTime> pendingReturn = Optional.empty(); // by the tail's owner, with a later run under way

    GrantedTime(OutflowState state) {
        this.state = state;
    }

    OutflowState state() {
        return state;
    }

    /** Returns when the next run can start, in nanoseconds since the epoch. */
    long nextNanos() {
        return state.arrival().ceilNanos();
    }

    /** Skips what lies before a time. */
    void startAt(long nanos) {
        if (nextNanos() < nanos) {
            set(new Pacing.Arrival(nanos, 0), state.lastNanos(), state.sequence());
        }
    }

    /** Skips the rest of a nanosecond, whose parts depend on the pace. */
    void roundUp() {
        set(new Pacing.Arrival(nextNanos(), 0), state.lastNanos(), state.sequence());
    }

    /** Continues at a faster pace, as if what was granted had been counted by it. */
    void adopt(Pacing pacing, Pacing old, long nowNanos) {
        forgetTail();
        set(pacing.adopt(old, state.arrival(), nowNanos), state.lastNanos(), state.sequence() + 1);
    }

    void advanceClock(long nowNanos) {
        state = new OutflowState(state.arrival(), state.lastNanos(), state.sequence(), nowNanos);
    }

    /** Sets the time back, because it was wrong. */
    void moveTo(long nowNanos) {
        state = state.movedTo(nowNanos);
        forgetTail();
    }

    /** Grants a run to a partition, and returns its start. */
    Pacing.Arrival grant(int partition, long tokens, Pacing pacing) {
        if (tailOwner != partition) {
            forgetTail();
            tailOwner = partition;
            tailSince = state.sequence();
        }
        Pacing.Arrival start = state.arrival();
        set(pacing.after(start, tokens), start.ceilNanos(), state.sequence() + 1);
        return start;
    }

    /**
     * Continues from time that a partition returns, unless a run was granted after it. If such a run is still under way
     * to the same partition, continues from there once it is returned too.
     *
     * @param number the number of the last run that the partition has received
     * @return whether the time can be granted again
     */
    boolean takeBack(int partition, long number, LeasedTime time) {
        if (number != state.sequence()) {
            if (partition == tailOwner && number >= tailSince) {
                pendingReturn = Optional.of(time);
            }
            return false;
        }
        long fromNanos = pendingReturn
                .filter(before -> before.untilNanos() == time.fromNanos())
                .map(LeasedTime::fromNanos)
                .orElse(time.fromNanos());
        if (fromNanos >= nextNanos() || time.untilNanos() != nextNanos()) { // not the end of what was granted
            return false;
        }
        forgetTail();
        // another number, so that the same return has no effect if it is repeated
        set(new Pacing.Arrival(fromNanos, 0), state.lastNanos(), state.sequence() + 1);
        return true;
    }

    private void forgetTail() {
        tailOwner = -1;
        pendingReturn = Optional.empty();
    }

    private void set(Pacing.Arrival next, long lastNanos, long number) {
        state = new OutflowState(next, lastNanos, number, state.clockNanos());
    }
}
