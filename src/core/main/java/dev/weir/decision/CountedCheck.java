package dev.weir.decision;

import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.PolicyState;
import java.util.ArrayList;
import java.util.List;

/** The check of limits that are counted in the decider's own states. */
abstract sealed class CountedCheck extends PolicyCheck permits LocalCheck, ThrottleCheck {

    final KeyUsage usage;
    private final long clockMs;

    /** @param clockMs the time at which the limits are checked, or at which the delayed request starts */
    CountedCheck(KeyUsage usage, long clockMs) {
        super(usage.of());
        this.usage = usage;
        this.clockMs = clockMs;
    }

    /**
     * Returns this check after the request, or its denial, was charged. A limit that counts a denial is checked again,
     * since the request may pass later than before.
     *
     * @param reserving the reservation that the request creates
     */
    abstract CountedCheck charged(boolean denied, Reserving reserving);

    /** Returns the time of the charge, of the check before or after it. */
    abstract long chargedAtMs();

    /** Returns what was charged to a reservation. */
    final HeldCharge held(Reserving reserving) {
        PolicyState state = usage.state();
        List<Long> origins = new ArrayList<>(size());
        for (int i = 0; i < size(); i++) {
            origins.add(state.reserved().origin(i));
        }
        return new HeldCharge.Counted(of.key, observes(), chargedAtMs(), reserving.slotMs(policy()), origins);
    }

    @Override
    final boolean isShared() {
        return false;
    }

    @Override
    final boolean mayBind(int index) {
        return true;
    }

    @Override
    final long clockMs() {
        return clockMs;
    }

    @Override
    Long remaining(int index) {
        return usage.remaining(index, clockMs);
    }

    @Override
    final Long resetAfterMs(int index) {
        return usage.resetAfterMs(index, clockMs);
    }
}
