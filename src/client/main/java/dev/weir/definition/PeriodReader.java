package dev.weir.definition;

import dev.weir.limit.CalendarPeriod;
import dev.weir.policy.DurationsAndSizes;
import java.time.ZoneId;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads {@code per} and {@code timezone}, which makes it a calendar period. */
final class PeriodReader {

    /** The period of a limit. Its string is the text of the period in a label. */
    sealed interface Per {}

    /** A period of a number of milliseconds. */
    record Duration(long ms) implements Per {
        @Override
        public String toString() {
            return DurationsAndSizes.duration(ms);
        }
    }

    /** The days, weeks or months of a time zone. */
    record Calendar(CalendarPeriod period, ZoneId zone) implements Per {
        @Override
        public String toString() {
            return "1 " + period.name().toLowerCase(Locale.ROOT) + " " + zone;
        }
    }

    /** Units that a duration does not have. A day is 24 h, unless there is a time zone. */
    private static final Pattern CALENDAR_UNITS = Pattern.compile("(\\d+)\\s*(w|week|month|year)s?");

    private static final Map<String, Integer> DAYS = Map.of("w", 7, "week", 7, "month", 30, "year", 365);

    private static final Pattern ONE = Pattern.compile("0*1\\s*([a-z]+)");
    private static final Map<String, CalendarPeriod> PERIODS = Map.of(
            "d", CalendarPeriod.DAY,
            "day", CalendarPeriod.DAY,
            "days", CalendarPeriod.DAY,
            "w", CalendarPeriod.WEEK,
            "week", CalendarPeriod.WEEK,
            "weeks", CalendarPeriod.WEEK,
            "month", CalendarPeriod.MONTH,
            "months", CalendarPeriod.MONTH);

    private static final int MAX_DIGITS = 4;

    private static final ZoneId DEFAULT_ZONE = ZoneId.of("UTC");
    private static final Set<String> ZONES = ZoneId.getAvailableZoneIds();

    private PeriodReader() {}

    /** Reads a period that can be a calendar period. Returns null if it is missing or has a fault. */
    static Per read(YamlTree per, YamlTree timezone) {
        if (!timezone.isPresent() && !isInCalendarUnits(per)) {
            return duration(per);
        }
        CalendarPeriod period = per.read(PeriodReader::calendarPeriod);
        ZoneId zone = timezone.isPresent() ? timezone.read(PeriodReader::zone) : DEFAULT_ZONE;
        return period == null || zone == null ? null : new Calendar(period, zone);
    }

    /** Reads a period that cannot be a calendar period. Returns null if it is missing or has a fault. */
    static Duration read(YamlTree per, String whose) {
        if (isInCalendarUnits(per)) {
            Matcher units = CALENDAR_UNITS.matcher(per.text().strip());
            boolean isShort = units.matches() && units.group(1).length() <= MAX_DIGITS;
            per.fault("'" + per.text() + "' is a calendar period, which " + whose + " does not support"
                    + (isShort ? "; write " + DAYS.get(units.group(2)) * Integer.parseInt(units.group(1)) + "d" : ""));
            return null;
        }
        return duration(per);
    }

    private static boolean isInCalendarUnits(YamlTree per) {
        return per.isScalar() && CALENDAR_UNITS.matcher(per.text().strip()).matches();
    }

    private static Duration duration(YamlTree per) {
        Long ms = per.read(LimitReader::windowMs);
        return ms == null ? null : new Duration(ms);
    }

    private static CalendarPeriod calendarPeriod(String text) {
        Matcher one = ONE.matcher(text.strip());
        CalendarPeriod period = one.matches() ? PERIODS.get(one.group(1)) : null;
        if (period == null) {
            throw new IllegalArgumentException("a calendar period must be 1 day, 1 week or 1 month, is '" + text + "'");
        }
        return period;
    }

    private static ZoneId zone(String id) {
        if (!ZONES.contains(id)) {
            throw new IllegalArgumentException(
                    "must be a time zone of the tz database such as Europe/Berlin, is '" + id + "'");
        }
        return ZoneId.of(id);
    }
}
