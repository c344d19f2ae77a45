package dev.weir.limit;

import java.math.BigInteger;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.IsoFields;
import java.util.HashMap;
import java.util.Map;

/**
 * The oracle of a calendar window: one count for each day, week or month by its name, found by iterating over the dates.
 */
final class CalendarOracle extends LimitOracle {

    private static final long DAY_MS = 86_400_000;

    private final CalendarPeriod period;
    private final ZoneId zone;
    private final Map<String, BigInteger> counts = new HashMap<>();

    CalendarOracle(long limit, CalendarPeriod period, ZoneId zone) {
        super(limit);
        this.period = period;
        this.zone = zone;
    }

    @Override
    BigInteger parts(BigInteger nowMs) {
        return counts.getOrDefault(name(dateOf(nowMs.longValueExact())), BigInteger.ZERO);
    }

    @Override
    public void charge(BigInteger cost, BigInteger nowMs) {
        counts.put(name(dateOf(nowMs.longValueExact())), parts(nowMs).add(cost).max(BigInteger.ZERO));
    }

    @Override
    public BigInteger waitMs(BigInteger cost, BigInteger nowMs) {
        return cost.compareTo(available(nowMs)) <= 0
                ? BigInteger.ZERO
                : big(endMs(nowMs.longValueExact())).subtract(nowMs);
    }

    long startMs(long nowMs) {
        LocalDate date = dateOf(nowMs);
        while (name(date.minusDays(1)).equals(name(date))) {
            date = date.minusDays(1);
        }
        return startMs(date);
    }

    long endMs(long nowMs) {
        LocalDate date = dateOf(nowMs);
        LocalDate next = date.plusDays(1);
        while (name(next).equals(name(date))) {
            next = next.plusDays(1);
        }
        return startMs(next);
    }

    private LocalDate dateOf(long nowMs) {
        LocalDate date = LocalDate.ofEpochDay(Math.floorDiv(nowMs, DAY_MS) - 3);
        while (startMs(date.plusDays(1)) <= nowMs) {
            date = date.plusDays(1);
        }
        return date;
    }

    private long startMs(LocalDate date) {
        return date.atStartOfDay(zone).toInstant().toEpochMilli();
    }

    private String name(LocalDate date) {
        return switch (period) {
            case DAY -> date.toString();
            case WEEK -> date.get(IsoFields.WEEK_BASED_YEAR) + "-W" + date.get(IsoFields.WEEK_OF_WEEK_BASED_YEAR);
            case MONTH -> date.getYear() + "-" + date.getMonth();
        };
    }
}
