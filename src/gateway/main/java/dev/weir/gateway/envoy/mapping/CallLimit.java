package dev.weir.gateway.envoy.mapping;

import dev.weir.gateway.envoy.proto.RateLimitDescriptor.RateLimitOverride;
import java.time.Duration;

/**
 * A limit that a descriptor brings along. It replaces that of policies that allow it.
 *
 * @param requests the hits per window
 * @param window the window: a month has 30 days and a year 365, as in envoyproxy/ratelimit
 */
public record CallLimit(long requests, Duration window) {

    private static final int DAYS_PER_MONTH = 30;
    private static final int DAYS_PER_YEAR = 365;

    /**
     * Returns the limit of a message.
     *
     * @param place the name of the descriptor
     * @throws BadCallException if the unit is unknown
     */
    public static CallLimit of(RateLimitOverride message, String place) throws BadCallException {
        Duration window =
                switch (message.getUnit()) {
                    case SECOND -> Duration.ofSeconds(1);
                    case MINUTE -> Duration.ofMinutes(1);
                    case HOUR -> Duration.ofHours(1);
                    case DAY -> Duration.ofDays(1);
                    case MONTH -> Duration.ofDays(DAYS_PER_MONTH);
                    case YEAR -> Duration.ofDays(DAYS_PER_YEAR);
                    case UNKNOWN, UNRECOGNIZED ->
                        throw BadCallException.invalid(place + ".limit.unit must be SECOND, MINUTE, HOUR, DAY, MONTH or"
                                + " YEAR, is " + message.getUnitValue());
                };
        return new CallLimit(Integer.toUnsignedLong(message.getRequestsPerUnit()), window);
    }
}
