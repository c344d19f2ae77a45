package dev.weir.shape.rules;

import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.policy.DurationsAndSizes;
import java.math.BigInteger;

/**
 * The times at which the requests of a queue can leave: GCRA (ITU-T I.371) in nanoseconds. In each interval of length
 * t, the requests that leave cost at most {@code burst + t · rate}, however long the queue was idle: unused time is
 * lost. A request of cost c takes the time of c tokens. If it costs more than the burst, it leaves when the whole burst
 * is free, and those behind it wait until its time has passed. Times are rounded up to whole nanoseconds, so a request never
 * leaves early, and at most 1 ns late. Each operation takes O(1).
 *
 * <pre>
 *   100 a second, burst 1:   a (cost 1) at 0 ms,  b (cost 3) at 10 ms,  c at 40 ms
 * </pre>
 */
public final class Pacing {

    private static final long NANOS_PER_MS = 1_000_000;
    private static final long MAX_PER_MS = 30 * 24 * 60 * 60 * 1000L;

    /** The latest arrival, in nanoseconds since the epoch: in the year 2223. */
    private static final long MAX_ARRIVAL_NANOS = 8_000_000_000_000_000_000L;

    private final Rate rate; // in nanoseconds, not milliseconds: one nanosecond has rate.unitsPerMs() units
    private final long burst;

    private Pacing(Rate rate, long burst) {
        this.rate = rate;
        this.burst = burst;
    }

    /**
     * The theoretical arrival time: the end of the time that all requests take which have left.
     *
     * @param nanos whole nanoseconds since the epoch
     * @param part the part of the next nanosecond, in units of the rate: 0 to {@code rate.unitsPerMs() − 1}
     */
    public record Arrival(long nanos, long part) {

        /** Returns the first whole nanosecond that is not before this time. */
        public long ceilNanos() {
            return part > 0 ? nanos + 1 : nanos;
        }
    }

    /** The exact duration of some tokens. */
    private record Span(long nanos, long part) {}

    /**
     * Returns the pacing for a rate and a burst.
     *
     * @param limit the tokens that leave per {@code perMs}, 1 to 2<sup>61</sup>
     * @param perMs 1 ms to 30 days
     * @param burst the tokens that can leave back to back, 1 to 2<sup>61</sup>
     * @throws IllegalArgumentException if a number is out of its range
     */
    public static Pacing of(long limit, long perMs, long burst) {
        if (perMs < 1 || perMs > MAX_PER_MS) {
            throw new IllegalArgumentException("per must be 1ms to 30d, is " + DurationsAndSizes.duration(perMs));
        }
        requireTokens("limit", limit);
        requireTokens("burst", burst);
        return new Pacing(Rate.of(limit, perMs * NANOS_PER_MS), burst);
    }

    /** Returns the state of a queue that has released nothing. */
    public Arrival fresh(long nowNanos) {
        return new Arrival(nowNanos, 0);
    }

    /** Returns the first time from {@code nowNanos} on at which a request of this cost can leave. */
    public long earliestNanos(Arrival arrival, long cost, long nowNanos) {
        Span free = span(freeTokens(cost));
        long nanos = arrival.nanos - free.nanos + (arrival.part > free.part ? 1 : 0);
        return Math.max(nanos, nowNanos);
    }

    /** Returns the state after a request of this cost has left at a time not before {@link #earliestNanos}. */
    public Arrival released(Arrival arrival, long cost, long atNanos) {
        Span taken = span(cost);
        boolean idle = arrival.nanos < atNanos;
        long part = (idle ? 0 : arrival.part) + taken.part;
        long carry = part / rate.unitsPerMs();
        long from = (idle ? atNanos : arrival.nanos) + carry;
        long nanos = taken.nanos > MAX_ARRIVAL_NANOS - from ? MAX_ARRIVAL_NANOS : from + taken.nanos;
        return new Arrival(nanos, part % rate.unitsPerMs());
    }

    /** Returns the time that lies the time of {@code tokens} tokens after another. */
    public Arrival after(Arrival arrival, long tokens) {
        return released(arrival, tokens, arrival.nanos);
    }

    /** Returns whether requests leave at the same times as by another pacing. */
    public boolean isSameAs(Pacing other) {
        return burst == other.burst
                && rate.unitsPerToken() == other.rate.unitsPerToken()
                && rate.unitsPerMs() == other.rate.unitsPerMs();
    }

    /** Returns how many whole tokens can leave one after the other in {@code nanos} nanoseconds. */
    public long tokensIn(long nanos) {
        if (Math.multiplyHigh(nanos, rate.unitsPerMs()) == 0 && nanos * rate.unitsPerMs() >= 0) {
            return Math.min(Limit.MAX_LEVEL, nanos * rate.unitsPerMs() / rate.unitsPerToken());
        }
        return BigInteger.valueOf(nanos)
                .multiply(BigInteger.valueOf(rate.unitsPerMs()))
                .divide(BigInteger.valueOf(rate.unitsPerToken()))
                .min(BigInteger.valueOf(Limit.MAX_LEVEL))
                .longValueExact();
    }

    /**
     * Returns the state after a change of pace. The used part of the burst stays used, in tokens, up to the new burst,
     * and waiting requests continue at the new pace from now on. If the last request cost more than the old burst, its
     * time stays used.
     */
    public Arrival adopt(Pacing old, Arrival arrival, long nowNanos) {
        long aheadNanos = Math.max(0, arrival.ceilNanos() - nowNanos);
        boolean isOfBurst = aheadNanos <= old.spanNanos(old.burst);
        long mostNanos = burst < old.burst && isOfBurst ? spanNanos(burst) : Long.MAX_VALUE;
        boolean isSameRate = old.rate.equals(rate);
        if (isSameRate && aheadNanos <= mostNanos) {
            return arrival;
        }
        long scaledNanos = isSameRate ? aheadNanos : scaledNanos(old, aheadNanos);
        return new Arrival(nowNanos + Math.min(scaledNanos, mostNanos), 0);
    }

    /** Returns the time, rounded up, in which as many tokens leave as in another time at the old pace. */
    private long scaledNanos(Pacing old, long aheadNanos) {
        BigInteger scaled = BigInteger.valueOf(aheadNanos)
                .multiply(BigInteger.valueOf(old.rate.tokens()))
                .multiply(BigInteger.valueOf(rate.perMs()));
        BigInteger divisor = BigInteger.valueOf(old.rate.perMs()).multiply(BigInteger.valueOf(rate.tokens()));
        BigInteger roundedUp = scaled.add(divisor).subtract(BigInteger.ONE).divide(divisor);
        return saturate(roundedUp);
    }

    /** Returns how much of the burst a request of this cost leaves free, in tokens. */
    public long freeTokens(long cost) {
        return burst - Math.min(cost, burst);
    }

    /** Returns by how much a request of this cost can leave before the end of all time taken, rounded down. */
    public long freeNanos(long cost) {
        return spanFloorNanos(freeTokens(cost));
    }

    /** Returns the duration of some tokens, rounded down, at most some 73 years. */
    public long spanFloorNanos(long tokens) {
        return span(tokens).nanos;
    }

    /**
     * Returns an upper bound of the state after several requests have left one behind another, the first at
     * {@code fromNanos} or later.
     *
     * @param tokens their total cost
     * @param leastCost a lower bound of their costs
     * @param largestCost an upper bound of their costs
     */
    public Arrival releasedOneByOne(
            Arrival arrival, long requests, long tokens, long leastCost, long largestCost, long fromNanos) {
        if (requests == 0) {
            return arrival;
        }
        Arrival start = isRounded(largestCost) ? new Arrival(arrival.ceilNanos(), 0) : arrival;
        Arrival after = released(start, tokens, fromNanos);
        return new Arrival(after.nanos + roundingNanos(requests, leastCost, largestCost), after.part);
    }

    /**
     * Returns an upper bound of the delay by rounding, in nanoseconds: how much later several consecutive requests leave
     * than a single request with their total cost. The first one leaves at a whole nanosecond, and the time of each is
     * rounded up.
     */
    public long roundingNanos(long requests, long leastCost, long largestCost) {
        boolean areWhole =
                rate.unitsPerToken() % rate.unitsPerMs() == 0 || leastCost == largestCost && span(leastCost).part == 0;
        return areWhole || !isRounded(largestCost) ? 0 : requests;
    }

    /** Returns whether the time that a request takes may begin later because it is rounded up. */
    private boolean isRounded(long cost) {
        return cost >= burst || rate.unitsPerToken() < rate.unitsPerMs();
    }

    /** Returns the duration of some tokens, rounded up, at most some 73 years. */
    public long spanNanos(long tokens) {
        Span span = span(tokens);
        return span.nanos + (span.part > 0 ? 1 : 0);
    }

    public static boolean isSaturated(long spanNanos) {
        return spanNanos >= Limit.MAX_LEVEL;
    }

    private Span span(long tokens) {
        long units = rate.unitsPerToken();
        if (Math.multiplyHigh(tokens, units) == 0 && tokens * units >= 0) {
            return new Span(
                    Math.min(Limit.MAX_LEVEL, tokens * units / rate.unitsPerMs()), tokens * units % rate.unitsPerMs());
        }
        BigInteger[] parts = BigInteger.valueOf(tokens)
                .multiply(BigInteger.valueOf(units))
                .divideAndRemainder(BigInteger.valueOf(rate.unitsPerMs()));
        return new Span(saturate(parts[0]), parts[1].longValueExact());
    }

    /** Clamps a duration to some 73 years. */
    private static long saturate(BigInteger nanos) {
        return nanos.min(BigInteger.valueOf(Limit.MAX_LEVEL)).longValueExact();
    }

    private static void requireTokens(String part, long tokens) {
        if (tokens < 1 || tokens > Limit.MAX_LEVEL) {
            throw new IllegalArgumentException(part + " must be 1 to " + Limit.MAX_LEVEL + ", is " + tokens);
        }
    }
}
