package dev.weir.limit;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneRules;
import java.util.List;

/**
 * A limit on the tokens used in each day, week or month of a time zone's calendar.
 *
 * <p>A date begins at its first midnight, or, where clocks skip midnight, at the moment after the gap. It lasts until
 * the next date begins. The local date alone does not identify the window: when clocks are set back across midnight,
 * the local date returns to the previous date, but the window does not.
 *
 * <pre>
 *   America/St_Johns, 28 October 2006, daily; clocks are set back at 0:01
 *     23:59  window of the 28th
 *      0:00  window of the 29th, for 25 hours
 *     23:01  a minute later, local date the 28th again: window of the 29th
 * </pre>
 *
 * @param limit tokens per window
 * @param period the length of a window
 * @param zone the time zone of the calendar
 * @param countDenied whether denied requests are charged too
 */
public record CalendarWindow(long limit, CalendarPeriod period, ZoneId zone, boolean countDenied)
        implements AlignedWindow {

    /** @throws IllegalArgumentException if the limit is not 1 to {@link Limit#MAX_CAPACITY} */
    public CalendarWindow {
        Limit.requireCapacity("limit", limit);
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof CalendarWindow window && window.period == period && window.zone.equals(zone);
    }

    @Override
    public long startMs(long nowMs) {
        LocalDate shown = firstLocalDate(nowMs);
        long nextMs = startMs(period.next(shown));
        return nextMs <= nowMs ? nextMs : startMs(shown);
    }

    @Override
    public long endMs(long nowMs) {
        LocalDate next = period.next(firstLocalDate(nowMs));
        long nextMs = startMs(next);
        return nextMs <= nowMs ? startMs(period.next(next)) : nextMs;
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof CalendarWindow window && window.period == period && window.zone.equals(zone);
    }

    /**
     * Returns the first date of the period of the current local date. The window starts on this date or one
     * period later.
     */
    private LocalDate firstLocalDate(long nowMs) {
        return period.firstDate(LocalDate.ofInstant(Instant.ofEpochMilli(nowMs), zone));
    }

    /** Equivalent to {@link LocalDate#atStartOfDay(ZoneId)}, but looks up the zone's offset once instead of twice. */
    private long startMs(LocalDate date) {
        LocalDateTime midnight = date.atStartOfDay();
        ZoneRules rules = zone.getRules();
        List<ZoneOffset> offsets = rules.getValidOffsets(midnight); // in an overlap, the earlier offset is first
        long second = offsets.isEmpty()
                ? rules.getTransition(midnight).toEpochSecond()
                : midnight.toEpochSecond(offsets.get(0));
        return second * 1_000;
    }
}
