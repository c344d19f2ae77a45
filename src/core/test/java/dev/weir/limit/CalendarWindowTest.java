package dev.weir.limit;

import static dev.weir.limit.CalendarPeriod.DAY;
import static dev.weir.limit.CalendarPeriod.MONTH;
import static dev.weir.limit.CalendarPeriod.WEEK;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests where calendar windows start and end. */
@Tag("slow")
class CalendarWindowTest {

    private static final Instant FIRST = Instant.parse("1800-01-01T00:00:00Z");
    private static final Instant LAST = Instant.parse("2100-12-31T00:00:00Z");

    private static CalendarWindow window(CalendarPeriod period, ZoneId zone) {
        return new CalendarWindow(5, period, zone, false);
    }

    private static long ms(String instant) {
        return Instant.parse(instant).toEpochMilli();
    }

    @ParameterizedTest
    @CsvSource({
        // local time in the zone; the end is the start of the next window
        "DAY,   UTC,               2024-02-29T12:00Z, 2024-02-29T00:00Z, 2024-03-01T00:00Z, PT24H",
        "WEEK,  UTC,               2024-02-29T12:00Z, 2024-02-26T00:00Z, 2024-03-04T00:00Z, PT168H",
        "WEEK,  UTC,               1970-01-01T00:00Z, 1969-12-29T00:00Z, 1970-01-05T00:00Z, PT168H",
        "WEEK,  UTC,               2026-01-01T00:00Z, 2025-12-29T00:00Z, 2026-01-05T00:00Z, PT168H",
        "MONTH, UTC,               2024-02-29T23:59Z, 2024-02-01T00:00Z, 2024-03-01T00:00Z, PT696H",
        "MONTH, UTC,               2023-02-28T23:59Z, 2023-02-01T00:00Z, 2023-03-01T00:00Z, PT672H",
        "MONTH, UTC,               2000-02-29T00:00Z, 2000-02-01T00:00Z, 2000-03-01T00:00Z, PT696H",
        "MONTH, UTC,               2100-02-28T23:59Z, 2100-02-01T00:00Z, 2100-03-01T00:00Z, PT672H",
        "MONTH, UTC,               1969-12-31T23:59Z, 1969-12-01T00:00Z, 1970-01-01T00:00Z, PT744H",
        // clocks are set forward or back during the day
        "DAY,   Europe/Berlin,     2026-03-29T12:00Z, 2026-03-28T23:00Z, 2026-03-29T22:00Z, PT23H",
        "DAY,   Europe/Berlin,     2026-10-25T12:00Z, 2026-10-24T22:00Z, 2026-10-25T23:00Z, PT25H",
        "WEEK,  Europe/Berlin,     2026-10-25T22:59Z, 2026-10-18T22:00Z, 2026-10-25T23:00Z, PT169H",
        "MONTH, Europe/Berlin,     2026-03-01T00:00Z, 2026-02-28T23:00Z, 2026-03-31T22:00Z, PT743H",
        "DAY,   Australia/Lord_Howe, 2026-10-04T00:00Z, 2026-10-03T13:30Z, 2026-10-04T13:00Z, PT23H30M",
        // midnight is skipped
        "DAY,   America/Sao_Paulo, 2018-11-04T03:00Z, 2018-11-04T03:00Z, 2018-11-05T02:00Z, PT23H",
        "DAY,   Asia/Beirut,       2024-03-31T12:00Z, 2024-03-30T22:00Z, 2024-03-31T21:00Z, PT23H",
        "DAY,   America/Havana,    2024-03-10T12:00Z, 2024-03-10T05:00Z, 2024-03-11T04:00Z, PT23H",
        "DAY,   America/Toronto,   1919-03-31T12:00Z, 1919-03-31T04:30Z, 1919-04-01T04:00Z, PT23H30M",
        // clocks are set back to midnight, from it, and across it
        "DAY,   America/Havana,    2024-11-03T05:00Z, 2024-11-03T04:00Z, 2024-11-04T05:00Z, PT25H",
        "DAY,   Asia/Beirut,       2024-10-26T21:59Z, 2024-10-25T21:00Z, 2024-10-26T22:00Z, PT25H",
        "DAY,   America/St_Johns,  2006-10-29T02:29Z, 2006-10-28T02:30Z, 2006-10-29T02:30Z, PT24H",
        "DAY,   America/St_Johns,  2006-10-29T02:31Z, 2006-10-29T02:30Z, 2006-10-30T03:30Z, PT25H",
        "WEEK,  America/St_Johns,  2006-10-29T02:31Z, 2006-10-23T02:30Z, 2006-10-30T03:30Z, PT169H",
        // a date that was skipped, and one that occurred twice
        "DAY,   Pacific/Apia,      2011-12-30T09:59Z, 2011-12-29T10:00Z, 2011-12-30T10:00Z, PT24H",
        "DAY,   Pacific/Apia,      2011-12-30T10:00Z, 2011-12-30T10:00Z, 2011-12-31T10:00Z, PT24H",
        "WEEK,  Pacific/Apia,      2011-12-30T10:00Z, 2011-12-26T10:00Z, 2012-01-01T10:00Z, PT144H",
        "MONTH, Pacific/Apia,      2011-12-30T10:00Z, 2011-12-01T10:00Z, 2011-12-31T10:00Z, PT720H",
        "DAY,   America/Juneau,    1867-10-19T12:00Z, 1867-10-18T08:57:41Z, 1867-10-20T08:57:41Z, PT48H",
    })
    void starts_and_ends(CalendarPeriod period, String zone, String now, String start, String end, Duration length) {
        CalendarWindow window = window(period, ZoneId.of(zone));
        long nowMs = ZonedDateTime.parse(now).toInstant().toEpochMilli();

        assertThat(Instant.ofEpochMilli(window.startMs(nowMs)))
                .isEqualTo(ZonedDateTime.parse(start).toInstant());
        assertThat(Instant.ofEpochMilli(window.endMs(nowMs)))
                .isEqualTo(ZonedDateTime.parse(end).toInstant());
        assertThat(window.windowMs(nowMs)).isEqualTo(length.toMillis());
    }

    @Test
    void the_previous_day_does_not_return_when_clocks_are_put_back_across_midnight() {
        TrialAccount<?> trial =
                TrialAccount.open(window(DAY, ZoneId.of("America/St_Johns")), ms("2006-10-29T02:29:59.999Z"));
        assertThat(trial.request(5, ms("2006-10-29T02:29:59.999Z")))
                .as("23:59 of the 28th")
                .isTrue();
        assertThat(trial.request(3, ms("2006-10-29T02:30:00Z")))
                .as("0:00 of the 29th")
                .isTrue();
        assertThat(trial.available(ms("2006-10-29T02:31:00Z")))
                .as("23:01 again")
                .isEqualTo(2);
        assertThat(trial.available(ms("2006-10-29T03:30:00Z"))).as("0:00 again").isEqualTo(2);
        assertThat(trial.waitMs(5, ms("2006-10-29T02:30:00Z")))
                .isEqualTo(Duration.ofHours(25).toMillis());
        assertThat(trial.available(ms("2006-10-30T03:30:00Z")))
                .as("0:00 of the 30th")
                .isEqualTo(5);
    }

    /** Returns all clock changes of a zone in the tested years. */
    private static List<Instant> changes(ZoneRules rules) {
        List<Instant> changes = new ArrayList<>();
        ZoneOffsetTransition change = rules.nextTransition(FIRST);
        while (change != null && change.getInstant().isBefore(LAST)) {
            changes.add(change.getInstant());
            change = rules.nextTransition(change.getInstant());
        }
        return changes;
    }

    @Test
    void windows_around_every_clock_change_of_every_zone_are_contiguous_and_equal_the_model() {
        int changes = 0;
        Set<ZoneRules> tested = new HashSet<>(); // zones with other names share rules, on which alone windows depend
        for (String id : ZoneId.getAvailableZoneIds()) {
            ZoneId zone = ZoneId.of(id);
            List<Instant> ofZone = changes(zone.getRules());
            changes += ofZone.size();
            if (!tested.add(zone.getRules())) {
                continue;
            }
            for (Instant change : ofZone) {
                for (CalendarPeriod period : CalendarPeriod.values()) {
                    assertTiles(window(period, zone), change.toEpochMilli());
                }
            }
        }
        assertThat(changes).isGreaterThan(20_000);
    }

    private static void assertTiles(CalendarWindow window, long aroundMs) {
        long dayMs = Duration.ofDays(1).toMillis();
        CalendarOracle model = new CalendarOracle(5, window.period(), window.zone());
        long startMs = window.startMs(aroundMs - 2 * dayMs);
        boolean tiles = true;
        while (startMs < aroundMs + 2 * dayMs) {
            long endMs = window.endMs(startMs);
            tiles &= startMs < endMs;
            for (long atMs : new long[] {startMs, aroundMs - 1, aroundMs, (startMs + endMs) / 2, endMs - 1}) {
                if (startMs <= atMs && atMs < endMs) {
                    tiles &= window.startMs(atMs) == startMs && window.endMs(atMs) == endMs;
                }
            }
            tiles &= window.startMs(endMs) == endMs;
            tiles &= model.startMs(startMs) == startMs && model.endMs(startMs) == endMs;
            assertThat(tiles)
                    .as("%s at %s", window, Instant.ofEpochMilli(startMs))
                    .isTrue();
            startMs = endMs;
        }
    }

    @ParameterizedTest
    @EnumSource(CalendarPeriod.class)
    void at_any_time_it_is_the_window_of_the_model(CalendarPeriod period) {
        Random random = new Random(3);
        List<String> ids = ZoneId.getAvailableZoneIds().stream().sorted().toList();
        for (int i = 0; i < 20_000; i++) {
            ZoneId zone = ZoneId.of(ids.get(random.nextInt(ids.size())));
            long nowMs = random.nextLong(ms("1850-01-01T00:00:00Z"), ms("2200-01-01T00:00:00Z"));
            CalendarOracle model = new CalendarOracle(5, period, zone);
            assertThat(List.of(
                            window(period, zone).startMs(nowMs),
                            window(period, zone).endMs(nowMs)))
                    .as("%s at %s", zone, Instant.ofEpochMilli(nowMs))
                    .containsExactly(model.startMs(nowMs), model.endMs(nowMs));
        }
    }

    @ParameterizedTest
    @CsvSource({"UTC, 47847", "Europe/Berlin, 47847", "America/St_Johns, 47847", "Pacific/Apia, 47846"})
    void from_1970_to_2100_each_date_that_clocks_do_not_skip_is_one_window(ZoneId zone, int days) {
        CalendarWindow daily = window(DAY, zone);
        CalendarWindow monthly = window(MONTH, zone);
        long endMs = LocalDate.of(2101, 1, 1).atStartOfDay(zone).toInstant().toEpochMilli();
        long startMs = LocalDate.of(1970, 1, 1).atStartOfDay(zone).toInstant().toEpochMilli();
        int windows = 0;
        int months = 0;
        while (startMs < endMs) {
            windows++;
            months += monthly.startMs(startMs) == startMs ? 1 : 0;
            startMs = daily.endMs(startMs);
        }
        assertThat(startMs).isEqualTo(endMs);
        assertThat(windows).isEqualTo(days);
        assertThat(months).isEqualTo(131 * 12);
    }

    @ParameterizedTest
    @EnumSource(CalendarPeriod.class)
    void admits_the_whole_limit_in_each_window_and_no_more(CalendarPeriod period) {
        ZoneId zone = ZoneId.of("America/St_Johns");
        CalendarOracle model = new CalendarOracle(5, period, zone);
        Map<Long, Long> admitted = new TreeMap<>();
        long nowMs = ms("2006-09-30T12:00:00Z");
        TrialAccount<?> trial = TrialAccount.open(window(period, zone), nowMs);
        Random random = new Random(7);
        while (nowMs < ms("2006-12-01T12:00:00Z")) {
            if (trial.request(1, nowMs)) {
                admitted.merge(model.startMs(nowMs), 1L, Long::sum);
            }
            nowMs += random.nextLong(Duration.ofMinutes(40).toMillis());
        }
        assertThat(admitted).hasSize(Map.of(DAY, 63, WEEK, 10, MONTH, 4).get(period));
        assertThat(admitted.values()).containsOnly(5L);
        assertThat(admitted.keySet().stream().map(model::endMs).collect(Collectors.toList()))
                .startsWith(admitted.keySet().stream().skip(1).toArray(Long[]::new));
    }
}
