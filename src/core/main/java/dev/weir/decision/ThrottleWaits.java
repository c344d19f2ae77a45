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

    /** Returns the waits from {@code atMs} on; none for a correction, which is not delayed. */
    static ThrottleWaits of(KeyUsage usage, long atMs) {
        long cost = usage.of().request.cost();
        long[] waitsMs = new long[usage.size()];
        boolean neverFits = false;
        for (int i = 0; i < waitsMs.length && !usage.of().request.kind().isCorrection(); i++) {
            LimitAccount<?> account = usage.accounts()[i];
            if (!account.limit().fits(cost)) {
                neverFits = true;
            } else if (!account.permits(cost, atMs)) {
                waitsMs[i] = account.waitMs(cost, atMs);
            }
        }
        return new ThrottleWaits(waitsMs, neverFits);
    }

    /** Returns the wait of one limit. */
    long ms(int index) {
        return waitsMs[index];
    }

    long longestMs() {
        long longestMs = 0;
        for (long waitMs : waitsMs) {
            longestMs = Math.max(longestMs, waitMs);
        }
        return longestMs;
    }
}
