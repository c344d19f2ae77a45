package dev.weir.limit;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneRules;
import java.util.List;

/**
 * Calendar window: at most {@code limit} in each day, week or month of a time zone's calendar.
 *
 * <p>A date begins when its midnight comes for the first time, or, where clocks skip midnight, when they have skipped
 * it; it lasts until the next date begins. The date that clocks show does not say which window it is: where they are
 * put back across midnight, they show the day before once more.
 *
 * <pre>
 *   America/St_Johns, 28 October 2006, daily; clocks are put back at 0:01
 *     23:59  window of the 28th
 *      0:00  window of the 29th, for 25 hours
 *     23:01  a minute later, shown as the 28th: window of the 29th
 * </pre>
 *
 * @param limit tokens a window
 * @param period how long a window is
 * @param zone whose calendar
 */
public record CalendarWindow(long limit, CalendarPeriod period, ZoneId zone, boolean countDenied)
        implements AlignedWindow {

    /** @throws IllegalArgumentException if the limit is not positive */
    public CalendarWindow {
        Limit.requireCapacity("limit", limit);
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

    /** The first date of the period that clocks show; the window is this one or the next. */
    private LocalDate firstLocalDate(long nowMs) {
        return period.firstDate(LocalDate.ofInstant(Instant.ofEpochMilli(nowMs), zone));
    }

    /** As {@link LocalDate#atStartOfDay(ZoneId)}, which looks the zone's offset up twice. */
    private long startMs(LocalDate date) {
        LocalDateTime midnight = date.atStartOfDay();
        ZoneRules rules = zone.getRules();
        List<ZoneOffset> offsets = rules.getValidOffsets(midnight); // the one before clocks are put back comes first
        long second = offsets.isEmpty()
                ? rules.getTransition(midnight).toEpochSecond()
                : midnight.toEpochSecond(offsets.get(0));
        return second * 1_000;
    }
}
