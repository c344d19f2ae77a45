package dev.weir.definition;

import static dev.weir.definition.PolicyFileTest.faults;
import static dev.weir.definition.PolicyFileTest.policy;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.fault.FaultsException;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import java.time.ZoneId;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class LimitReaderTest {

    static Stream<Arguments> limits() {
        return Stream.of(
                row(
                        "algorithm: fixed-window, limit: 500, per: 1 day",
                        "fixed-window 500/1d",
                        new FixedWindow(500, 86_400_000, false)),
                row(
                        "algorithm: fixed-window, limit: 1_000_000, per: 60000ms, count-denied: true",
                        "fixed-window 1000000/1m",
                        new FixedWindow(1_000_000, 60_000, true)),
                row(
                        "algorithm: fixed-window, limit: 1000000, per: 1 month, timezone: Europe/Berlin",
                        "fixed-window 1000000/1 month Europe/Berlin",
                        calendar(1_000_000, CalendarPeriod.MONTH, "Europe/Berlin", false)),
                row(
                        "algorithm: fixed-window, limit: 5, per: 1d, timezone: America/St_Johns, count-denied: true",
                        "fixed-window 5/1 day America/St_Johns",
                        calendar(5, CalendarPeriod.DAY, "America/St_Johns", true)),
                row(
                        "algorithm: fixed-window, limit: 5, per: ' 01 days ', timezone: Etc/GMT+5",
                        "fixed-window 5/1 day Etc/GMT+5",
                        calendar(5, CalendarPeriod.DAY, "Etc/GMT+5", false)),
                row(
                        "algorithm: fixed-window, limit: 5, per: 1w, timezone: UTC",
                        "fixed-window 5/1 week UTC",
                        calendar(5, CalendarPeriod.WEEK, "UTC", false)),
                row(
                        "algorithm: fixed-window, limit: 5, per: 1week",
                        "fixed-window 5/1 week UTC",
                        calendar(5, CalendarPeriod.WEEK, "UTC", false)),
                row(
                        "algorithm: fixed-window, limit: 5, per: ' 1 months '",
                        "fixed-window 5/1 month UTC",
                        calendar(5, CalendarPeriod.MONTH, "UTC", false)),
                row(
                        "algorithm: fixed-window, limit: 5, per: 1d",
                        "fixed-window 5/1d",
                        new FixedWindow(5, 86_400_000, false)),
                row(
                        "algorithm: fixed-window, limit: 0, per: 1 month, timezone: Europe/Berlin",
                        "fixed-window 0",
                        new Blocked()),
                row(
                        "algorithm: sliding-window-log, limit: 2, per: 1m",
                        "sliding-window-log 2/1m",
                        new SlidingWindowLog(2, 60_000, false)),
                row(
                        "algorithm: sliding-window-log, limit: 2, per: 1500ms, count-denied: true",
                        "sliding-window-log 2/1500ms",
                        new SlidingWindowLog(2, 1500, true)),
                row(
                        "algorithm: sliding-window-counter, limit: '7', per: 2h, strict: false",
                        "sliding-window-counter 7/2h",
                        new SlidingWindowCounter(7, 7_200_000, false, false)),
                row(
                        "algorithm: sliding-window-counter, limit: 7, per: 90s, strict: true, count-denied: true",
                        "sliding-window-counter 7/90s strict",
                        new SlidingWindowCounter(7, 90_000, true, true)),
                row(
                        "algorithm: token-bucket, limit: 10, per: 1s",
                        "token-bucket 10/1s",
                        new TokenBucket(Rate.of(10, 1000), 10, false)),
                row(
                        "algorithm: token-bucket, limit: 10, per: 1s, burst: 10, refill: continuous",
                        "token-bucket 10/1s",
                        new TokenBucket(Rate.of(10, 1000), 10, false)),
                row(
                        "algorithm: token-bucket, limit: 3, per: 1s, burst: 7, refill: interval",
                        "token-bucket 3/1s burst 7 interval",
                        new IntervalBucket(3, 1000, 7, false)),
                row(
                        "algorithm: token-bucket, limit: 3, per: 1s, refill: interval, count-denied: true",
                        "token-bucket 3/1s interval",
                        new IntervalBucket(3, 1000, 3, true)),
                row(
                        "algorithm: leaky-bucket, limit: 5, per: 500ms, burst: 10",
                        "leaky-bucket 5/500ms burst 10",
                        new LeakyBucket(Rate.of(5, 500), 10, false)),
                row(
                        "algorithm: gcra, limit: 7, per: 11s, burst: 1, count-denied: true",
                        "gcra 7/11s burst 1",
                        new Gcra(Rate.of(7, 11_000), 1, true)),
                row("algorithm: fixed-window, limit: 0, per: 1m", "fixed-window 0", new Blocked()),
                row("algorithm: token-bucket, limit: 0, burst: 0", "token-bucket 0", new Blocked()),
                row(
                        "algorithm: concurrency, limit: 10, ttl: 60s",
                        "concurrency 10 ttl 1m",
                        new Concurrency(10, 60_000)),
                row(
                        "algorithm: concurrency, limit: 1_000_000, ttl: 30d",
                        "concurrency 1000000 ttl 30d",
                        new Concurrency(1_000_000, 2_592_000_000L)),
                row("algorithm: concurrency, limit: 1, ttl: 1ms", "concurrency 1 ttl 1ms", new Concurrency(1, 1)),
                row("algorithm: concurrency, limit: 0", "concurrency 0", new Blocked()),
                row("algorithm: concurrency, limit: 0, ttl: 1h", "concurrency 0", new Blocked()),
                row("unlimited: true", "unlimited", new Unlimited()),
                row(
                        "unlimited: false, algorithm: gcra, limit: 7, per: 11s",
                        "gcra 7/11s",
                        new Gcra(Rate.of(7, 11_000), 7, false)));
    }

    private static Limit<?> calendar(long limit, CalendarPeriod period, String zone, boolean countDenied) {
        return new CalendarWindow(limit, period, ZoneId.of(zone), countDenied);
    }

    private static Arguments row(String yaml, String label, Limit<?> limit) {
        return Arguments.of(yaml, label, limit);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void reads_every_kind_of_limit(String yaml, String label, Limit<?> limit) throws FaultsException {
        assertThat(policy(withLimit(yaml)).terms()).containsExactly(new Policy.Term(label, limit));
    }

    static Stream<Arguments> faultyLimits() {
        return Stream.of(
                Arguments.of("", "algorithm: is required|limit: is required|per: is required"),
                Arguments.of("unlimited: false", "algorithm: is required|limit: is required|per: is required"),
                Arguments.of(
                        "unlimited: yes, algorithm: gcra, limit: 1, per: 1s",
                        "unlimited: must be true or false, is 'yes'"),
                Arguments.of(
                        "unlimited: true, limit: 5, burst: 0",
                        "limit: must not be set if unlimited is true|burst: must not be set if unlimited is true"),
                Arguments.of(
                        "algorithm: bucket, limit: 5, per: 1m",
                        "algorithm: must be one of fixed-window, sliding-window-log, sliding-window-counter,"
                                + " token-bucket, leaky-bucket, gcra, concurrency, is 'bucket'"),
                Arguments.of(
                        "algorithm: , limit: 5, per: 1m",
                        "algorithm: must be one of fixed-window, sliding-window-log, sliding-window-counter,"
                                + " token-bucket, leaky-bucket, gcra, concurrency, is empty"),
                Arguments.of(
                        "algorithm: gcra, limit: -1, per: 1m", "limit: must be a whole number, 0 or more, is '-1'"),
                Arguments.of(
                        "algorithm: gcra, limit: 1.5, per: 1m",
                        "limit: must be a whole number, 0 or more, is '1.5'; write limit: 3, per: 2m"),
                Arguments.of(
                        "algorithm: gcra, limit: 1152921504606846977, per: 1m",
                        "limit: must be a whole number, at most 1152921504606846976, is '1152921504606846977'"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: soon",
                        "per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'soon'"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 60",
                        "per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '60'"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 0s",
                        "per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0s'"),
                Arguments.of("algorithm: gcra, limit: 5, per: [1s]", "per: must be a single value, is a list"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 1152921504606846977ms",
                        "per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '1152921504606846977ms'"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 999999999999999999d",
                        "per: is too large: '999999999999999999d'"),
                Arguments.of("algorithm: gcra, limit: 5, per: 100000000000d", "per: is too large: '100000000000d'"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 1 week",
                        "per: '1 week' is a calendar period, which gcra does not support; write 7d"),
                Arguments.of(
                        "algorithm: sliding-window-log, limit: 5, per: 1 month",
                        "per: '1 month' is a calendar period, which sliding-window-log does not support; write 30d"),
                Arguments.of(
                        "algorithm: sliding-window-counter, limit: 5, per: ' 2 years '",
                        "per: ' 2 years ' is a calendar period, which sliding-window-counter does not support; write 730d"),
                Arguments.of(
                        "algorithm: gcra, limit: 0, per: 2w",
                        "per: '2w' is a calendar period, which gcra does not support; write 14d"),
                Arguments.of(
                        "algorithm: token-bucket, limit: 5, per: 1d, timezone: Europe/Berlin",
                        "timezone: does not apply to token-bucket"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 2 weeks",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '2 weeks'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 11 months",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '11 months'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 0 weeks",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '0 weeks'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 1 year",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '1 year'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 1M",
                        "per: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '1M'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 2 days, timezone: UTC",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '2 days'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 0, per: 24h, timezone: UTC",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '24h'"),
                Arguments.of("algorithm: fixed-window, limit: 5, timezone: UTC", "per: is required"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 1 month, timezone: ",
                        "timezone: must be a single value, is empty"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 1 month, timezone: [UTC]",
                        "timezone: must be a single value, is a list"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 1h, timezone: +01:00",
                        "per: a calendar period must be 1 day, 1 week or 1 month, is '1h'|timezone: must be a time"
                                + " zone of the tz database such as Europe/Berlin, is '+01:00'"),
                Arguments.of("unlimited: true, timezone: UTC", "timezone: must not be set if unlimited is true"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 1s, burst: 0",
                        "burst: must be a whole number, 1 or more, is '0'"),
                Arguments.of(
                        "algorithm: gcra, limit: 0, per: 1s, burst: 5",
                        "burst: must be 0 or left out if limit is 0, is '5'"),
                Arguments.of(
                        "algorithm: fixed-window, limit: 5, per: 1s, burst: 5",
                        "burst: does not apply to fixed-window"),
                Arguments.of(
                        "algorithm: sliding-window-log, limit: 5, per: 1s, burst: 5",
                        "burst: does not apply to sliding-window-log"),
                Arguments.of(
                        "algorithm: sliding-window-counter, limit: 5, per: 1s, burst: 5",
                        "burst: does not apply to sliding-window-counter"),
                Arguments.of(
                        "algorithm: leaky-bucket, limit: 5, per: 1s, refill: interval",
                        "refill: does not apply to leaky-bucket"),
                Arguments.of(
                        "algorithm: token-bucket, limit: 5, per: 1s, strict: true",
                        "strict: does not apply to token-bucket"),
                Arguments.of(
                        "algorithm: token-bucket, limit: 5, per: 1s, refill: often",
                        "refill: must be one of continuous, interval, is 'often'"),
                Arguments.of(
                        "algorithm: sliding-window-counter, limit: 5, per: 1s, strict: 'true'",
                        "strict: must be true or false without quotes, is 'true'"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, per: 1s, count-denied: 1",
                        "count-denied: must be true or false, is '1'"),
                Arguments.of("algorithm: concurrency, limit: 5", "ttl: is required"),
                Arguments.of("algorithm: concurrency, ttl: 1s", "limit: is required"),
                Arguments.of(
                        "algorithm: concurrency, limit: 1000001, ttl: 1s",
                        "limit: must be a whole number from 0 to 1000000, is '1000001'"),
                Arguments.of(
                        "algorithm: concurrency, limit: 1.5, ttl: 1s",
                        "limit: must be a whole number from 0 to 1000000, is '1.5'"),
                Arguments.of("algorithm: concurrency, limit: 5, ttl: 31d", "ttl: must be 1ms to 30d, is '31d'"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, ttl: 0s",
                        "ttl: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0s'"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, per: 1m",
                        "ttl: is required|per: does not apply to concurrency; set ttl, the longest time that a slot is in"
                                + " use"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, ttl: 1m, burst: 5",
                        "burst: does not apply to concurrency; limit is the most slots in use at once"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, ttl: 1m, count-denied: true",
                        "count-denied: does not apply to concurrency: a denied request takes no slot; add a limit of"
                                + " another algorithm to count it"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, ttl: 1m, timezone: UTC",
                        "timezone: does not apply to concurrency"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, ttl: 1m, strict: true",
                        "strict: does not apply to concurrency"),
                Arguments.of(
                        "algorithm: concurrency, limit: 5, ttl: 1m, refill: interval",
                        "refill: does not apply to concurrency"),
                Arguments.of("algorithm: gcra, limit: 5, per: 1s, ttl: 1m", "ttl: does not apply to gcra"),
                Arguments.of(
                        "algorithm: gcra, limit: 5, pre: 1s",
                        "per: is required|pre: unknown key; did you mean \"per\"?"));
    }

    @ParameterizedTest
    @MethodSource("faultyLimits")
    void reports_every_fault_of_a_limit(String yaml, String messages) {
        assertThat(faults(withLimit(yaml)))
                .containsExactlyInAnyOrderElementsOf(Stream.of(messages.split("\\|"))
                        .map(message -> "policies.yaml:1: policies[0].limits[0]." + message)
                        .toList());
    }

    @ParameterizedTest
    @ValueSource(strings = {"key: model", "lease: client"})
    void reports_slots_that_would_be_shared_with_tokens(String sharing) throws FaultsException {
        String slots = "policies: [{id: a, " + sharing + ", limits: [{algorithm: concurrency, limit: 5, ttl: 1m}";
        assertThat(policy(slots + "]}]").isShared()).isTrue();
        assertThat(faults(slots + ", {algorithm: gcra, limit: 7, per: 1s}]}]"))
                .containsExactly(
                        "policies.yaml:1: policies[0].limits: must all be of concurrency if one is and the quota"
                                + " is shared: a lease covers all limits, and slots return while tokens do not. Move the others"
                                + " to a policy in another layer");
    }

    @Test
    void max_debt_bounds_the_rates_beside_a_limit_of_concurrency() throws FaultsException {
        assertThat(policy("policies: [{id: a, max-debt: 5, limits: [{algorithm: concurrency, limit: 9, ttl: 1m},"
                                + " {algorithm: gcra, limit: 7, per: 1s}]}]")
                        .terms())
                .extracting(Policy.Term::maxDebt)
                .containsExactly(9L, 5L);
    }

    /** The schema does not list the time zones. */
    @ParameterizedTest
    @ValueSource(strings = {"Europe/Berln", "europe/berlin", "CEST", "UTC+1", "Z"})
    void reports_an_unknown_time_zone(String zone) {
        assertThat(faults(withLimit("algorithm: fixed-window, limit: 5, per: 1 month, timezone: " + zone)))
                .containsExactly(
                        "policies.yaml:1: policies[0].limits[0].timezone: must be a time zone of the tz database"
                                + " such as Europe/Berlin, is '" + zone + "'");
    }

    static Stream<Arguments> uncountableLimits() {
        return Stream.of(
                Arguments.of(
                        "algorithm: token-bucket, limit: 7, per: 11s, burst: 1152921504606846976",
                        "a burst of 1152921504606846976 at 7 per 11000 ms is too large to count exactly; the maximum is "
                                + Limit.MAX_CAPACITY / 11_000),
                Arguments.of(
                        "algorithm: sliding-window-counter, limit: 1152921504606846976, per: 2ms",
                        "a limit of 1152921504606846976 per 2 ms is too large to weigh exactly; the maximum is "
                                + Limit.MAX_CAPACITY / 2),
                Arguments.of(
                        "algorithm: token-bucket, limit: 1, per: 10s, burst: 1152921504606846976, refill: interval",
                        "a burst of 1152921504606846976 takes too long to refill at 1 per 10000 ms to be counted exactly"));
    }

    @ParameterizedTest
    @MethodSource("uncountableLimits")
    void reports_a_limit_that_cannot_be_counted(String yaml, String message) {
        assertThat(faults(withLimit(yaml))).containsExactly("policies.yaml:1: policies[0].limits[0]: " + message);
    }

    static String withLimit(String yaml) {
        return "policies: [{id: a, limits: [{" + yaml + "}]}]";
    }
}
