package dev.weir.policy;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses and formats the durations and sizes of policy files. */
public final class DurationsAndSizes {

    private static final Pattern FORM = Pattern.compile("(\\d{1,18})\\s*([A-Za-z]*)");

    private static final Map<String, Long> MS = Map.ofEntries(
            Map.entry("ms", 1L),
            Map.entry("s", 1_000L),
            Map.entry("second", 1_000L),
            Map.entry("seconds", 1_000L),
            Map.entry("m", 60_000L),
            Map.entry("minute", 60_000L),
            Map.entry("minutes", 60_000L),
            Map.entry("h", 3_600_000L),
            Map.entry("hour", 3_600_000L),
            Map.entry("hours", 3_600_000L),
            Map.entry("d", 86_400_000L),
            Map.entry("day", 86_400_000L),
            Map.entry("days", 86_400_000L));

    private static final Map<String, Long> BYTES = Map.ofEntries(
            Map.entry("", 1L),
            Map.entry("B", 1L),
            Map.entry("KB", 1_000L),
            Map.entry("MB", 1_000_000L),
            Map.entry("GB", 1_000_000_000L),
            Map.entry("KiB", 1L << 10),
            Map.entry("MiB", 1L << 20),
            Map.entry("GiB", 1L << 30));

    private DurationsAndSizes() {}

    /**
     * Returns the milliseconds of a duration such as {@code 500ms}, {@code 10s}, {@code 1m}, {@code 2h} or {@code 1d}.
     *
     * @throws IllegalArgumentException if the text is not a duration, or not positive
     */
    public static long durationMs(String text) {
        return parse(text, MS, "a duration such as 500ms, 10s, 1m, 2h or 1d");
    }

    /**
     * Like {@link #durationMs}, but also accepts {@code 0}, with or without a unit.
     *
     * @throws IllegalArgumentException if the text is not a duration
     */
    public static long durationOrZeroMs(String text) {
        Matcher matcher = FORM.matcher(text.strip());
        boolean unit = matcher.matches() && (matcher.group(2).isEmpty() || MS.containsKey(matcher.group(2)));
        return unit && Long.parseLong(matcher.group(1)) == 0 ? 0 : durationMs(text);
    }

    /**
     * Returns the bytes of a size such as {@code 1500}, {@code 64KiB} or {@code 10MB}.
     *
     * @throws IllegalArgumentException if the text is not a size, or not positive
     */
    public static long sizeBytes(String text) {
        return parse(text, BYTES, "a size such as 1500, 64KiB or 10MB");
    }

    /** Returns the duration in the largest unit of which it is a whole multiple: 90,000 ms is {@code 90s}. */
    public static String duration(long ms) {
        if (ms == 0) {
            return "0s"; // a whole multiple of all units
        }
        for (String unit : new String[] {"d", "h", "m", "s"}) {
            if (ms % MS.get(unit) == 0) {
                return ms / MS.get(unit) + unit;
            }
        }
        return ms + "ms";
    }

    private static long parse(String text, Map<String, Long> units, String expected) {
        Matcher matcher = FORM.matcher(text.strip());
        Long unit = matcher.matches() ? units.get(matcher.group(2)) : null;
        long count = unit == null ? 0 : Long.parseLong(matcher.group(1));
        if (count < 1) {
            throw new IllegalArgumentException("must be " + expected + ", is '" + text + "'");
        }
        if (count > Long.MAX_VALUE / unit) {
            throw new IllegalArgumentException("is too large: '" + text + "'");
        }
        return count * unit;
    }
}
