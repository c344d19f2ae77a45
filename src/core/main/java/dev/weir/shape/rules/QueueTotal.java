package dev.weir.shape.rules;

import dev.weir.limit.Limit;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The bounds of all keys of a queue together. There is a rate, a bound of what is in flight, or both.
 *
 * @param rate the tokens that leave per time, 1 to 2<sup>61</sup>; empty for no bound
 * @param inFlight the most slots that released requests occupy until they end, 1 to {@link InFlightRules#MOST}; empty for
 *     no bound
 * @param capacity the most waiting requests, 1 to {@link QueueRules#MAX_CAPACITY}
 */
public record QueueTotal(Optional<TotalRate> rate, OptionalLong inFlight, long capacity) {

    public static final long DEFAULT_CAPACITY = 100_000;

    /** @throws IllegalArgumentException if a part is out of its range; the message starts with the part's name */
    public QueueTotal {
        if (rate.isEmpty() && inFlight.isEmpty()) {
            throw new IllegalArgumentException("total must have limit and per, or max-in-flight");
        }
        requireRange("total.capacity", capacity, QueueRules.MAX_CAPACITY);
        inFlight.ifPresent(most -> requireRange("total.max-in-flight", most, InFlightRules.MOST));
        rate.ifPresent(each -> {
            requireRange("total.limit", each.limit(), Limit.MAX_LEVEL);
            each.pacing();
        });
    }

    /** Creates a total with a rate: the most tokens that leave per {@code perMs}, 1 ms to 30 days. */
    public QueueTotal(long limit, long perMs, long capacity) {
        this(Optional.of(new TotalRate(limit, perMs)), OptionalLong.empty(), capacity);
    }

    /** Returns a total without a rate. */
    public static QueueTotal ofInFlight(long most, long capacity) {
        return new QueueTotal(Optional.empty(), OptionalLong.of(most), capacity);
    }

    /** Returns this total with a bound of what is in flight. */
    public QueueTotal withInFlight(long most) {
        return new QueueTotal(rate, OptionalLong.of(most), capacity);
    }

    private static void requireRange(String part, long value, long most) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(part + " must be 1 to " + most + ", is " + value);
        }
    }

    /** Returns how long {@code tokens} tokens take by the rate, rounded up; 0 without a rate. */
    public long drainMs(long tokens) {
        return rate.map(each ->
                        each.pacing().after(new Pacing.Arrival(0, 0), tokens).ceilNanos())
                .map(nanos -> -Math.floorDiv(-nanos, 1_000_000))
                .orElse(0L);
    }
}
