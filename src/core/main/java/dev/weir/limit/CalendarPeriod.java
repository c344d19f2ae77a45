package dev.weir.limit;

import java.time.LocalDate;
import java.time.temporal.ChronoUnit;

/** A period of the calendar, used as the length of a {@link CalendarWindow}. */
public enum CalendarPeriod {
    DAY(ChronoUnit.DAYS),
    /** Monday to Sunday, as in ISO 8601. */
    WEEK(ChronoUnit.WEEKS),
    MONTH(ChronoUnit.MONTHS);

    private final ChronoUnit unit;

    CalendarPeriod(ChronoUnit unit) {
        this.unit = unit;
    }

    /** Returns the first date of the period that contains {@code date}. */
    LocalDate firstDate(LocalDate date) {
        return switch (this) {
            case DAY -> date;
            case WEEK -> date.minusDays(date.getDayOfWeek().getValue() - 1);
            case MONTH -> date.withDayOfMonth(1);
        };
    }

    /** Returns the first date of the period that follows the one starting on {@code firstDate}. */
    LocalDate next(LocalDate firstDate) {
        return firstDate.plus(1, unit);
    }
}
