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

    /** The units in which durations are written, besides milliseconds. */
    private static final String[] UNITS = {"d", "h", "m", "s"};

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

    /**
     * Returns the duration in the largest unit of which it is a whole multiple: 90,000 ms is {@code 90s}. {@link
     * #durationMs} reads it. {@link #rounded} is for measured times.
     */
    public static String duration(long ms) {
        if (ms == 0) {
            return "0s"; // a whole multiple of all units
        }
        for (String unit : UNITS) {
            if (ms % MS.get(unit) == 0) {
                return ms / MS.get(unit) + unit;
            }
        }
        return ms + "ms";
    }

    /**
     * Returns an approximate duration for people, in at most two units: {@code 70ms}, {@code 2.5s}, {@code 1m 15s} or
     * {@code 3d 2h}. It has three digits at most below 10 s, and is rounded down from there on.
     */
    public static String rounded(long ms) {
        if (ms == 0) {
            return "0s";
        }
        if (ms < 1_000) {
            return ms + "ms";
        }
        if (ms < 10_000) {
            long hundredths = (ms + 5) / 10;
            String fraction = hundredths % 100 == 0
                    ? ""
                    : "." + hundredths / 10 % 10 + (hundredths % 10 == 0 ? "" : String.valueOf(hundredths % 10));
            return hundredths / 100 + fraction + "s";
        }
        for (int i = 0; i < UNITS.length; i++) {
            long size = MS.get(UNITS[i]);
            if (ms >= size) {
                long rest = i + 1 < UNITS.length ? ms % size / MS.get(UNITS[i + 1]) : 0;
                return ms / size + UNITS[i] + (rest == 0 ? "" : " " + rest + UNITS[i + 1]);
            }
        }
        throw new IllegalArgumentException("must not be negative, is " + ms);
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
