package dev.weir.limit;

import java.time.LocalDate;
import java.time.temporal.ChronoUnit;

/** What a calendar divides time into. */
public enum CalendarPeriod {
    DAY(ChronoUnit.DAYS),
    /** From Monday to Sunday, as in ISO 8601. */
    WEEK(ChronoUnit.WEEKS),
    MONTH(ChronoUnit.MONTHS);

    private final ChronoUnit unit;

    CalendarPeriod(ChronoUnit unit) {
        this.unit = unit;
    }

    /** The first date of the period that has {@code date}. */
    LocalDate firstDate(LocalDate date) {
        return switch (this) {
            case DAY -> date;
            case WEEK -> date.minusDays(date.getDayOfWeek().getValue() - 1);
            case MONTH -> date.withDayOfMonth(1);
        };
    }

    /** The first date of the period after the one that begins on {@code firstDate}. */
    LocalDate next(LocalDate firstDate) {
        return firstDate.plus(1, unit);
    }
}
