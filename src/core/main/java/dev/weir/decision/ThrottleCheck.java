package dev.weir.decision;

import dev.weir.policy.OnExceed;

/** The check of a policy that throttles. It refuses a request whose delay would be too long. */
final class ThrottleCheck extends CountedCheck {

    private final ThrottleWaits waits;
    private final Throttling throttling;

    ThrottleCheck(KeyUsage usage, long clockMs, ThrottleWaits waits, Throttling throttling) {
        super(usage, clockMs);
        this.waits = waits;
        this.throttling = throttling;
    }

    /** {@inheritDoc} A delayed request is charged at its start, and advances the policy's time to it. */
    @Override
    @SuppressWarnings("ReferenceEquality") // an unchanged usage is the same object
    ThrottleCheck charged(boolean denied, Reserving reserving) {
        if (denied) {
            KeyUsage next = usage.deniedCharged();
            return next == usage ? this : new ThrottleCheck(next, clockMs(), waits, throttling);
        }
        if (!of.takes()) {
            KeyUsage next = usage.charged(usage.ownMs(), reserving);
            return next == usage ? this : new ThrottleCheck(next, clockMs(), waits, throttling);
        }
        long startMs = usage.nowMs() + throttling.delayMs();
        return new ThrottleCheck(usage.charged(startMs, reserving), startMs, waits, throttling);
    }

    @Override
    long chargedAtMs() {
        return of.takes() ? clockMs() : usage.ownMs();
    }

    private long maxDelayMs() {
        return throttling.mustStartNow() || !(policy().onExceed() instanceof OnExceed.Throttle throttle)
                ? 0
                : throttle.maxDelayMs();
    }

    /** Returns whether the delay would be longer than permitted. */
    @Override
    boolean exceeds() {
        return !of.request.kind().isCorrection() && (waits.neverFits() || throttling.delayMs() > maxDelayMs());
    }

    @Override
    boolean refuses(int index) {
        if (rejects()) {
            return !usage.permits(index, clockMs());
        }
        return exceeds() && (waits.neverFits() ? neverFits(index) : waits.ms(index) == waits.longestMs());
    }

    @Override
    long waitMs(int index) {
        return waits.ms(index);
    }

    @Override
    Long remaining(int index) {
        return clockMs() > usage.nowMs() ? (Long) 0L : super.remaining(index);
    }

    @Override
    long retryAfterMs(int index) {
        return Math.max(0, throttling.delayMs() - maxDelayMs());
    }
}
