package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.decision.Decider;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.DelayedCharge;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.ReservationTable;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.event.Decision;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitOverride;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Charge;
import dev.weir.limit.Concurrency;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Rate;
import dev.weir.limit.SegmentedState;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
import dev.weir.policy.ContentHash;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StateCodecTest {

    /** Stores encoded states and compares each state with its decoded encoding. */
    private static final class EncodingStates implements WritablePolicyStates {
        final Map<StateKey, byte[]> states = new HashMap<>();
        final Map<String, byte[]> segments = new TreeMap<>();
        final ReservationTable reservations = BoundedReservations.inMemory(1_000, 0);
        private final Map<String, SegmentReader> readers = new HashMap<>();

        @Override
        public PolicyState get(StateKey key) {
            byte[] state = states.get(key);
            return state == null ? null : StateCodec.decode(state, logId -> reader(key + "/" + logId + "/"));
        }

        @Override
        public void put(StateKey key, PolicyState state) {
            PolicyState stored = state.stored(log -> store(key + "/" + log.id() + "/", log));
            states.put(key, StateCodec.encode(stored));
            assertThat(get(key)).isEqualTo(stored);
            assertThat(StateCodec.expiresAtMs(states.get(key))).isEqualTo(state.expiresAtMs());
        }

        @Override
        public ReservationTable reservations() {
            return reservations;
        }

        @Override
        public IdempotencyCache.Entry firstAnswer(RequestKey key) {
            throw new AssertionError("no policy uses idempotency");
        }

        @Override
        public void storeAnswer(RequestKey key, ContentHash content, IdempotentAnswer answer, long atMs, long untilMs) {
            throw new AssertionError("no policy uses idempotency");
        }

        private SegmentReader reader(String prefix) {
            return readers.computeIfAbsent(prefix, each -> new SegmentReader() {
                @Override
                public LogSegment get(long number) {
                    return StateCodec.decodeSegment(segments.get(each + number));
                }

                @Override
                public LogSegment node(long number) {
                    return segments.containsKey(each + number) ? get(number) : LogSegment.empty(0);
                }
            });
        }

        private SegmentedState store(String prefix, SegmentedState log) {
            for (SegmentWrite write : log.writes()) {
                if (write instanceof SegmentWrite.Put put) {
                    segments.put(prefix + put.number(), StateCodec.encode(put.segment()));
                    assertThat(reader(prefix).get(put.number())).isEqualTo(put.segment());
                } else if (write instanceof SegmentWrite.Delete delete) {
                    segments.remove(prefix + delete.number());
                }
            }
            return log.stored(reader(prefix));
        }
    }

    @Test
    void every_state_survives_a_round_trip() {
        Random random = new Random(1);
        EncodingStates states = new EncodingStates();
        List<Limit<?>> limits = List.of(
                new FixedWindow(50, 1_000, false),
                new CalendarWindow(500, CalendarPeriod.WEEK, ZoneId.of("America/St_Johns"), true),
                new SlidingWindowLog(90, 1_000, true),
                new SlidingWindowCounter(70, 1_000, true, false),
                new TokenBucket(Rate.of(7, 1_100), 80, false),
                new LeakyBucket(Rate.of(50, 1_000), 50, true),
                new Gcra(Rate.of(70, 1_100), 90, false),
                new IntervalBucket(30, 500, 60, false),
                new Unlimited(),
                new Blocked());
        for (int i = 0; i < limits.size(); i++) { // each limit alone, and together with the ones before
            PolicyTable table = PolicyTable.of(List.of(
                    policy("alone", limits.subList(i, i + 1)),
                    policy("many", limits.subList(0, Math.max(1, Math.min(i, 8))))));
            long nowMs = 1_700_000_000_000L;
            for (int n = 0; n < 1_000; n++) {
                nowMs += random.nextInt(4) == 0 ? random.nextInt(200) : 1;
                boolean settle = random.nextInt(10) == 0;
                Request request = Request.builder("r", "client " + i)
                        .kind(settle ? RequestKind.SETTLE : RequestKind.CONSUME)
                        .cost(settle ? random.nextInt(21) - 10 : random.nextInt(4))
                        .timestampMs(nowMs)
                        .source(0, 0)
                        .build();
                Decider.local(states).decide(request, table);
            }
        }
        assertThat(states.segments).isNotEmpty();
    }

    @Test
    void slots_and_what_reservations_need_survive_a_round_trip() {
        Random random = new Random(3);
        EncodingStates states = new EncodingStates();
        Policy many = policy("slots", List.of(new Concurrency(500, 600_000), new FixedWindow(5_000, 1_000, false)));
        Policy lowered =
                policy("slots", List.of(new Concurrency(100, 100), new TokenBucket(Rate.of(1, 1), 900, false)));
        long nowMs = 1_700_000_000_000L;
        int freed = 0;
        for (int i = 0; i < 6_000; i++) {
            nowMs += random.nextInt(i % 3_000 == 2_999 ? 1_000_000 : 300);
            RequestKind kind = random.nextInt(3) > 0
                    ? RequestKind.CONSUME
                    : i % 700 == 0 ? RequestKind.RESET : random.nextBoolean() ? RequestKind.RELEASE : RequestKind.RENEW;
            int id = kind == RequestKind.CONSUME ? i : Math.max(0, i - random.nextInt(300));
            Request request = Request.builder("r" + id, "c")
                    .kind(kind)
                    .cost(random.nextInt(3))
                    .reserveMs(kind == RequestKind.CONSUME ? (Long) (1L + random.nextInt(400_000)) : null)
                    .timestampMs(nowMs)
                    .build();
            PolicyTable table = PolicyTable.of(List.of(i / 500 % 3 == 2 ? lowered : many));
            Decision decision = (Decision) Decider.local(states).decide(request, table);
            freed += decision.reason() == Reason.RELEASED ? 1 : 0;
        }
        assertThat(freed).isGreaterThan(50);
        assertThat(states.segments).isNotEmpty();
    }

    @Test
    void charges_that_can_be_corrected_survive_a_round_trip() {
        List<Limit<?>> limits = List.of(
                new FixedWindow(5_000, 1_000, false),
                new SlidingWindowLog(5_000, 1_000, true),
                new SlidingWindowCounter(5_000, 1_000, true, false),
                new TokenBucket(Rate.of(7, 1_100), 80, false),
                new LeakyBucket(Rate.of(50, 1_000), 5_000, true),
                new Gcra(Rate.of(7, 1_100), 900, false),
                new IntervalBucket(30, 500, 6_000, false));
        Random random = new Random(2);
        EncodingStates states = new EncodingStates();
        for (Limit<?> limit : limits) {
            StateKey key = new StateKey("c", limit.toString(), List.of());
            long nowMs = 1_700_000_000_000L;
            LimitAccount<?> account = LimitAccount.open(limit, nowMs);
            List<Charge> open = new ArrayList<>();
            for (int i = 0; i < 2_000; i++) {
                nowMs += random.nextInt(3);
                if (random.nextInt(3) > 0) {
                    Charge charge = new Charge(i, nowMs, random.nextInt(4));
                    account = account.chargeReserved(charge);
                    open.add(charge);
                } else if (!open.isEmpty()) {
                    Charge charge = open.remove(random.nextInt(open.size()));
                    account = account.settled(charge, random.nextInt(6), 10_000, nowMs);
                }
                if (random.nextInt(20) == 0) {
                    Limit<?> other = limit instanceof SlidingWindowCounter
                            ? new SlidingWindowCounter(1 + random.nextInt(50), 1_000, true, false)
                            : limit instanceof IntervalBucket
                                    ? new IntervalBucket(30, 500, 1 + random.nextInt(50), false)
                                    : limit;
                    account = account.migrateTo(other, nowMs);
                }
                states.put(key, new PolicyState(nowMs, 0, List.of(account), List.of()));
                account = states.get(key).accounts().get(0);
            }
        }
        assertThat(states.segments.keySet()).anyMatch(key -> key.contains("/-"));
    }

    @Test
    void a_state_without_charges_that_can_be_corrected_is_as_long_as_before_there_were_any() {
        for (Limit<?> limit : List.of(
                new TokenBucket(Rate.of(7, 1_100), 80, false),
                new Gcra(Rate.of(7, 1_100), 80, false),
                new IntervalBucket(30, 500, 60, false),
                new FixedWindow(50, 1_000, false),
                new SlidingWindowLog(50, 1_000, false))) {
            LimitAccount<?> plain = LimitAccount.open(limit, 500).charge(5, 500);
            Charge charge = new Charge(1, 500, 5);
            LimitAccount<?> reserved = LimitAccount.open(limit, 500).chargeReserved(charge);
            assertThat(encoded(reserved.forgotten(charge))).isEqualTo(encoded(plain));
        }
    }

    private static byte[] encoded(LimitAccount<?> account) {
        return StateCodec.encode(new PolicyState(500, 0, List.of(account), List.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "DAY,   UTC,            false, 09 00 c0843d 00 03 555443",
        "WEEK,  UTC,            true,  09 01 c0843d 01 03 555443",
        "MONTH, Africa/Abidjan, false, 09 00 c0843d 02 0e 4166726963612f416269646a616e",
    })
    void a_calendar_window_has_stable_codes(CalendarPeriod period, ZoneId zone, boolean countDenied, String terms) {
        long nowMs = Instant.parse("2026-06-01T00:00:00.005Z").toEpochMilli(); // a Monday
        LimitAccount<?> account = LimitAccount.open(new CalendarWindow(1_000_000, period, zone, countDenied), nowMs)
                .charge(7, nowMs);
        PolicyState state = new PolicyState(nowMs, 0, List.of(account), List.of());

        byte[] bytes = StateCodec.encode(state);

        String started5MsAgo = "05";
        String counted7 = "07";
        String noLogs = "00";
        assertThat(HexFormat.of().formatHex(bytes))
                .endsWith("01" + terms.replace(" ", "") + started5MsAgo + counted7 + noLogs);
        assertThat(StateCodec.decode(bytes, logId -> null)).isEqualTo(state);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 3})
    void charges_of_delayed_requests_survive_a_round_trip(long lastDelayMs) {
        long nowMs = 1_700_000_000_000L;
        LimitAccount<?> account =
                LimitAccount.open(new FixedWindow(9, 60_000, false), nowMs).charge(1, nowMs);
        List<DelayedCharge> delayed = List.of(
                new DelayedCharge(nowMs + 5, 2, null),
                new DelayedCharge(nowMs + 5, 1L << 40, new LimitOverride(0, 60_000)),
                new DelayedCharge(nowMs + 86_400_000, 1, null, 0b101));
        PolicyState state = new PolicyState(nowMs, lastDelayMs, List.of(account), List.of(account), List.of(), delayed);
        byte[] bytes = StateCodec.encode(state);
        assertThat(StateCodec.decode(bytes, logId -> null)).isEqualTo(state);
        assertThat(StateCodec.expiresAtMs(bytes)).isGreaterThan(nowMs + 86_400_000);
    }

    @Test
    void suspended_accounts_survive_a_round_trip() {
        LimitAccount<?> blocked = LimitAccount.open(new Blocked(), 500);
        LimitAccount<?> window =
                LimitAccount.open(new FixedWindow(9, 1_000, false), 400).charge(3, 450);
        LimitAccount<?> bucket =
                LimitAccount.open(new TokenBucket(Rate.of(1, 9), 9, true), 400).charge(3, 450);
        for (long delayMs : new long[] {0, 7}) {
            PolicyState state =
                    new PolicyState(500, delayMs, List.of(blocked), List.of(window, bucket), List.of(), List.of());
            byte[] bytes = StateCodec.encode(state);
            assertThat(StateCodec.decode(bytes, logId -> null)).isEqualTo(state);
            assertThat(StateCodec.expiresAtMs(bytes)).isEqualTo(1_000);
        }
    }

    @Test
    void a_calendar_window_of_an_unknown_zone_or_period_is_rejected() {
        LimitAccount<?> account =
                LimitAccount.open(new CalendarWindow(5, CalendarPeriod.DAY, ZoneId.of("UTC"), false), 0);
        byte[] state = StateCodec.encode(new PolicyState(0, 0, List.of(account), List.of()));
        int zone = new String(state, StandardCharsets.ISO_8859_1).indexOf("UTC");
        byte[] otherZone = state.clone();
        otherZone[zone] = 'X';
        byte[] otherPeriod = state.clone();
        otherPeriod[zone - 2] = 3;

        assertThatThrownBy(() -> StateCodec.decode(otherZone, logId -> null))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a state has time zone 'XTC', which this JDK does not support");
        assertThatThrownBy(() -> StateCodec.decode(otherPeriod, logId -> null))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a state has unknown calendar period 3");
    }

    @Test
    void bytes_of_another_version_are_rejected() {
        assertThatThrownBy(() -> StateCodec.expiresAtMs(new byte[] {9, 0, 0, 0, 0, 0, 0, 0, 0}))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a state has format version 9, expected 1");
        assertThatThrownBy(() -> StateCodec.decode(new byte[0], logId -> null))
                .hasMessage("a state ends unexpectedly after 0 bytes");
    }

    @Test
    void a_truncated_state_is_rejected() {
        PolicyTable table = PolicyTable.of(List.of(policy("p", List.of(new FixedWindow(5, 1_000, false)))));
        EncodingStates states = new EncodingStates();
        Request request =
                Request.builder("r", "c").timestampMs(1_000).source(0, 0).build();
        Decider.local(states).decide(request, table);
        byte[] state = states.states.values().iterator().next();
        for (int length = 1; length < state.length; length++) {
            byte[] cut = Arrays.copyOf(state, length);
            assertThatThrownBy(() -> StateCodec.decode(cut, logId -> null)).isInstanceOf(IllegalStateException.class);
        }
    }

    private static Policy policy(String id, List<Limit<?>> limits) {
        List<Policy.Term> terms = limits.stream()
                .map(limit -> new Policy.Term(limit.toString(), limit))
                .toList();
        return Policy.builder(id)
                .layer(id)
                .terms(terms)
                .onExceed(OnExceed.OBSERVE)
                .build();
    }
}
