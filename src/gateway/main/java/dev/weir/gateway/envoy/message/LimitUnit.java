package dev.weir.gateway.envoy.message;

import dev.weir.gateway.envoy.proto.RateLimitResponse.RateLimit.Unit;
import java.time.Duration;

/** Finds the unit of a window. */
final class LimitUnit {

    private static final long DAY_MS = Duration.ofDays(1).toMillis();

    private LimitUnit() {}

    /**
     * Returns the unit of a limit: {@code MONTH} also for 30 days and {@code YEAR} for 365, as in envoyproxy/ratelimit.
     *
     * @param label the label of the limit, such as {@code fixed-window 10/1 month Europe/Berlin}: the length of a
     *     calendar period varies
     * @param windowMs the window, null if there is none
     * @return {@code UNKNOWN} if the window is none of the units
     */
    static Unit of(String label, Long windowMs) {
        if (windowMs == null) {
            return Unit.UNKNOWN;
        }
        if (label.contains("/1 day ")) {
            return Unit.DAY;
        }
        if (label.contains("/1 week ")) {
            return Unit.WEEK;
        }
        if (label.contains("/1 month ")) {
            return Unit.MONTH;
        }
        if (windowMs % DAY_MS == 0) {
            return switch ((int) Math.min(windowMs / DAY_MS, Integer.MAX_VALUE)) {
                case 1 -> Unit.DAY;
                case 7 -> Unit.WEEK;
                case 30 -> Unit.MONTH;
                case 365 -> Unit.YEAR;
                default -> Unit.UNKNOWN;
            };
        }
        return switch ((int) Math.min(windowMs, Integer.MAX_VALUE)) {
            case 1_000 -> Unit.SECOND;
            case 60_000 -> Unit.MINUTE;
            case 3_600_000 -> Unit.HOUR;
            default -> Unit.UNKNOWN;
        };
    }
}
