package dev.weir.envoy;

import java.util.Locale;
import java.util.Map;

/**
 * A unit of envoyproxy/ratelimit. Its windows are aligned to the epoch, also those of a month (30 days) and a year (365
 * days): see {@code UnitToDivider} in its {@code src/utils/utilities.go}.
 */
enum EnvoyUnit {
    SECOND("1s"),
    MINUTE("1m"),
    HOUR("1h"),
    DAY("1d"),
    WEEK("7d"),
    MONTH("30d"),
    YEAR("365d");

    private static final Map<String, EnvoyUnit> BY_NAME = Map.of(
            "SECOND", SECOND, "MINUTE", MINUTE, "HOUR", HOUR, "DAY", DAY, "WEEK", WEEK, "MONTH", MONTH, "YEAR", YEAR);

    private final String per;

    EnvoyUnit(String per) {
        this.per = per;
    }

    /**
     * Returns the unit of a name in any case.
     *
     * @throws IllegalArgumentException if there is no such unit
     */
    static EnvoyUnit of(String name) {
        EnvoyUnit unit = BY_NAME.get(name.toUpperCase(Locale.ROOT));
        if (unit == null) {
            throw new IllegalArgumentException(
                    "must be one of second, minute, hour, day, week, month, year, is '" + name + "'");
        }
        return unit;
    }

    /** Returns the window as the duration of a policy file. */
    String per() {
        return per;
    }
}
