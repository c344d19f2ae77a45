package dev.weir.config;

import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;

/** Checks of values. All methods throw IllegalArgumentException if the check fails. */
final class SettingChecks {

    private SettingChecks() {}

    static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }

    static void requireRange(String key, long value, long min, long max) {
        require(value >= min && value <= max, key + " must be " + min + " to " + max + ", is " + value);
    }

    static void requireBytes(String key, long value, long min, long max) {
        require(value >= min && value <= max, key + " must be " + min + " to " + max + " bytes, is " + value);
    }

    static void requireDuration(String key, Duration value, Duration min, Duration max) {
        require(
                value.compareTo(min) >= 0 && value.compareTo(max) <= 0,
                key + " must be " + DurationsAndSizes.duration(min.toMillis()) + " to "
                        + DurationsAndSizes.duration(max.toMillis()) + ", is "
                        + DurationsAndSizes.duration(value.toMillis()));
    }
}
