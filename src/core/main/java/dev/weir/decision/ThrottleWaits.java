package dev.weir.decision;

import dev.weir.limit.LimitAccount;

/**
 * How long the limits of a throttling policy delay a request.
 *
 * @param waitsMs for each limit, how long until it permits the request; 0 if the request never fits
 * @param neverFits whether the request never fits one of the limits
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record ThrottleWaits(long[] waitsMs, boolean neverFits) {

    /** No waits, for a policy that does not throttle the request. */
    static final ThrottleWaits NONE = new ThrottleWaits(new long[0], false);

    /** Returns the waits from {@code atMs} on. */
    static ThrottleWaits of(LimitAccount<?>[] accounts, long cost, long atMs) {
        long[] waitsMs = new long[accounts.length];
        boolean neverFits = false;
        for (int i = 0; i < accounts.length; i++) {
            if (!accounts[i].limit().fits(cost)) {
                neverFits = true;
            } else if (!accounts[i].permits(cost, atMs)) {
                waitsMs[i] = accounts[i].waitMs(cost, atMs);
            }
        }
        return new ThrottleWaits(waitsMs, neverFits);
    }

    /** Returns the wait of one limit; 0 if there are none. */
    long ms(int index) {
        return waitsMs.length == 0 ? 0 : waitsMs[index];
    }

    long longestMs() {
        long longestMs = 0;
        for (long waitMs : waitsMs) {
            longestMs = Math.max(longestMs, waitMs);
        }
        return longestMs;
    }
}
