package dev.weir.shape;

import dev.weir.limit.Gcra;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import java.math.BigInteger;

/**
 * When the requests of a queue may leave: GCRA (ITU-T I.371) in nanoseconds. Over every interval of length t, what
 * leaves costs at most {@code burst + t · rate}, however long the queue stood still: time that passed unused is lost. A
 * request of cost c takes c slots; one that costs more than the burst leaves when the burst is free, and those after it
 * wait until its slots have passed. A moment is a whole nanosecond, rounded up: never early, and where the rate is no
 * whole number of nanoseconds a slot, up to one late.
 *
 * <pre>
 *   100 a second, burst 1:   a at 0 ms (cost 1),  b at 10 ms (cost 3),  c at 40 ms
 * </pre>
 */
public final class Pacing {

    private static final long NANOS_PER_MS = 1_000_000;

    private final Gcra slots;

    private Pacing(Gcra slots) {
        this.slots = slots;
    }

    /**
     * A pace.
     *
     * @param limit how much leaves in {@code perMs}
     * @param perMs 1 ms to 30 days
     * @param burst how much may leave back to back, 1 or more
     * @throws IllegalArgumentException if a number is out of its range or the burst cannot be counted exactly
     */
    public static Pacing of(long limit, long perMs, long burst) {
        if (perMs > 30 * 24 * 60 * 60 * 1000L) {
            throw new IllegalArgumentException("per must be at most 30 days, is " + perMs + " ms");
        }
        return new Pacing(new Gcra(Rate.of(limit, Math.multiplyExact(perMs, NANOS_PER_MS)), burst, false));
    }

    /**
     * The state after a change of pace, from that under the old one: what has been used of the burst stays used, in
     * tokens, and what waits goes on at the new pace from now on.
     */
    public Gcra.Arrival adopt(Pacing old, Gcra.Arrival state, long nowNanos) {
        if (old.slots.rate().equals(slots.rate())) {
            return state;
        }
        long aheadNanos = Math.max(0, state.tatMs() + (state.part() > 0 ? 1 : 0) - nowNanos);
        BigInteger tokensTimesPer = BigInteger.valueOf(aheadNanos)
                .multiply(BigInteger.valueOf(old.slots.rate().tokens()));
        BigInteger scaled =
                tokensTimesPer.multiply(BigInteger.valueOf(slots.rate().perMs()));
        BigInteger divisor = BigInteger.valueOf(old.slots.rate().perMs())
                .multiply(BigInteger.valueOf(slots.rate().tokens()));
        BigInteger roundedUp = scaled.add(divisor).subtract(BigInteger.ONE).divide(divisor);
        return new Gcra.Arrival(
                nowNanos + roundedUp.min(BigInteger.valueOf(Limit.MAX_LEVEL)).longValueExact(), 0);
    }

    /** The state of a queue that has released nothing. */
    public Gcra.Arrival fresh(long nowNanos) {
        return slots.fresh(nowNanos);
    }

    /** The first moment, from now on, at which a request of this cost may leave. */
    public long earliestNanos(Gcra.Arrival state, long cost, long nowNanos) {
        return nowNanos + slots.waitMs(state, Math.min(cost, slots.burst()), nowNanos);
    }

    /** The state once a request of this cost has left at a moment that was {@linkplain #earliestNanos early enough}. */
    public Gcra.Arrival released(Gcra.Arrival state, long cost, long atNanos) {
        return slots.charge(state, cost, atNanos);
    }
}
