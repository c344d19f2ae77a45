package dev.weir.decision;

import dev.weir.decision.state.PolicyState;

/** The check of a policy that does not throttle, at the start of the request. */
final class LocalCheck extends CountedCheck {

    private final int refusingBits; // one bit per limit: there are at most Policy.MAX_LIMITS

    private LocalCheck(KeyUsage usage, long clockMs, int refusingBits) {
        super(usage, clockMs);
        this.refusingBits = refusingBits;
    }

    /**
     * Checks all limits.
     *
     * @param startMs when the request starts; if the policy's own time is later, that counts
     */
    static LocalCheck of(KeyUsage usage, long startMs) {
        long clockMs = Math.max(startMs, usage.ownMs());
        return new LocalCheck(usage, clockMs, refusingBits(usage, clockMs));
    }

    private static int refusingBits(KeyUsage usage, long clockMs) {
        int bits = 0;
        if (!usage.of().request.kind().isCorrection()) {
            boolean isFull = lacksRoomForDelay(usage, clockMs);
            for (int i = 0; i < usage.size(); i++) {
                boolean permits = isFull ? usage.isUnlimited(i) : usage.permits(i, clockMs);
                bits |= permits ? 0 : 1 << i;
            }
        }
        return bits;
    }

    /** Returns whether another policy delays the request, so that this one charges it later. */
    private static boolean isDelayed(KeyUsage usage, long clockMs) {
        return usage.of().takes() && clockMs > usage.ownMs();
    }

    private static boolean lacksRoomForDelay(KeyUsage usage, long clockMs) {
        return isDelayed(usage, clockMs) && usage.state().delayed().size() >= PolicyState.MAX_DELAYED;
    }

    /**
     * {@inheritDoc} A request that another policy delays is charged later, at its start. Everything else is charged at
     * the policy's own time, so that it delays nothing.
     */
    @Override
    @SuppressWarnings("ReferenceEquality") // an unchanged usage is the same object
    LocalCheck charged(boolean denied, Reserving reserving) {
        if (denied) {
            KeyUsage next = usage.deniedCharged();
            return next == usage ? this : new LocalCheck(next, clockMs(), refusingBits(next, clockMs()));
        }
        KeyUsage next = isDelayed(usage, clockMs())
                ? usage.chargedLater(clockMs(), reserving)
                : usage.charged(usage.ownMs(), reserving);
        return next == usage ? this : new LocalCheck(next, clockMs(), refusingBits);
    }

    @Override
    long chargedAtMs() {
        return isDelayed(usage, clockMs()) ? clockMs() : usage.ownMs();
    }

    @Override
    boolean exceeds() {
        return refusingBits != 0;
    }

    @Override
    boolean refuses(int index) {
        return (refusingBits & 1 << index) != 0;
    }

    @Override
    long retryAfterMs(int index) {
        long permittedMs = lacksRoomForDelay(usage, clockMs())
                ? usage.state().delayed().get(0).startMs()
                : usage.nextPermittedMs(index, clockMs());
        return permittedMs - usage.nowMs();
    }

    /** Returns the first time from {@code fromMs} on at which all limits permit the request, as far as it fits them. */
    long nextPermittedMs(long fromMs) {
        long atMs = Math.max(fromMs, usage.ownMs());
        for (int i = 0; i < usage.size(); i++) {
            atMs = neverFits(i) ? atMs : Math.max(atMs, usage.nextPermittedMs(i, atMs));
        }
        return atMs;
    }
}
