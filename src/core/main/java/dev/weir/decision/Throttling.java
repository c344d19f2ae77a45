package dev.weir.decision;

import dev.weir.event.RequestKind;
import java.util.ArrayList;
import java.util.List;

/**
 * The delay that the throttling policies of a request impose together: until all of their limits permit it, but not
 * before the start of a request that they delayed earlier.
 *
 * @param lastStartMs the latest start of a request that they delayed, or the time of the request if that is later
 * @param waits how long each policy delays the request after that, in their order
 * @param delayMs the delay from the time of the request on; 0 for a request that takes nothing
 * @param mustStartNow whether the request goes to a queue, which cannot keep a delay, so that any delay is too long
 */
record Throttling(long lastStartMs, List<ThrottleWaits> waits, long delayMs, boolean mustStartNow) {

    /** No policy throttles. */
    static final Throttling NONE = new Throttling(0, List.of(), 0, false);

    /**
     * Returns the delay of a request.
     *
     * @param usages the usages of the throttling policies
     * @param nowMs the time of the request
     */
    static Throttling of(List<KeyUsage> usages, long nowMs) {
        long lastStartMs = nowMs;
        for (KeyUsage usage : usages) {
            lastStartMs = usage.of().clockMs(lastStartMs);
        }
        List<ThrottleWaits> waits = new ArrayList<>(usages.size());
        long waitMs = 0;
        boolean takes = false;
        for (KeyUsage usage : usages) {
            ThrottleWaits one = ThrottleWaits.of(usage, checkedAtMs(usage, lastStartMs));
            waits.add(one);
            waitMs = Math.max(waitMs, one.longestMs());
            takes = usage.of().takes();
        }
        return new Throttling(lastStartMs, waits, takes ? lastStartMs - nowMs + waitMs : 0, false);
    }

    /** Returns this delay for a request that may go to a queue. */
    Throttling startingNow(boolean must) {
        return new Throttling(lastStartMs, waits, delayMs, must);
    }

    /** Returns the check of one of the policies, by its index. */
    ThrottleCheck check(int index, KeyUsage usage) {
        return new ThrottleCheck(usage, checkedAtMs(usage, lastStartMs), waits.get(index), this);
    }

    /** Returns when the limits of a policy are checked. A RESET has freed its usage from the time of the request on. */
    private static long checkedAtMs(KeyUsage usage, long lastStartMs) {
        boolean isFreed = usage.of().request.kind() == RequestKind.RESET && usage.of().stored != null;
        return isFreed ? usage.nowMs() : lastStartMs;
    }
}
