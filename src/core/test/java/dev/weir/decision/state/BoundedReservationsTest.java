package dev.weir.decision.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.BoundedReservations.ExpiryEntry;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BoundedReservationsTest {

    private static final Request REQUEST = Request.builder("r", "c").build();
    private static final Optional<FirstAnswer> FIRST =
            Optional.of(FirstAnswer.of(ContentHash.of(REQUEST), Decision.allowed(REQUEST, Reason.WITHIN_LIMITS, 0)));

    private static RequestKey key(long id) {
        return new RequestKey("c", RequestKind.CONSUME, "r" + id);
    }

    private static ReservationRecord reservation(BoundedReservations table, long fromMs, long durationMs) {
        return new ReservationRecord(table.nextNumber(), FIRST, 1, fromMs, durationMs, List.of(), Optional.empty());
    }

    private static ReservationRecord hidden(ReservationRecord of) {
        return new ReservationRecord(
                of.number(), Optional.empty(), of.cost(), of.fromMs(), of.durationMs(), of.held(), of.ending());
    }

    /** Tables that count calls and survive a restart. */
    private static final class Tables {
        final Map<RequestKey, ReservationRecord> reservations = new HashMap<>();
        final Map<Long, ExpiryEntry> queues = new HashMap<>();
        ReservationSummary summary = ReservationSummary.EMPTY;
        int calls;

        BoundedReservations open(int most, long lateMs) {
            return new BoundedReservations(
                    new BoundedReservations.Storage(table(reservations), table(queues), summary), most, lateMs);
        }

        private <K, V> KeyValueTable<K, V> table(Map<K, V> map) {
            return new KeyValueTable<>() {
                @Override
                public V get(K key) {
                    calls++;
                    return map.get(key);
                }

                @Override
                public void put(K key, V value) {
                    calls++;
                    map.put(key, value);
                }

                @Override
                public void delete(K key) {
                    calls++;
                    map.remove(key);
                }
            };
        }
    }

    @Test
    void a_full_table_takes_no_more_until_some_have_ended() {
        BoundedReservations table = BoundedReservations.inMemory(2, 0);
        for (int i = 0; i < 2; i++) {
            assertThat(table.sweep(0)).isEmpty();
            assertThat(table.isFull()).isFalse();
            table.open(key(i), reservation(table, 0, 1_000));
        }
        table.sweep(500);
        assertThat(table.isFull()).isTrue();
        table.open(key(2), reservation(table, 500, 1_000));
        assertThat(table.get(key(2))).isNull();
        table.sweep(1_000);
        assertThat(table.sweep(1_000)).extracting(ReservationRecord::number).containsExactly(1L, 2L);
        assertThat(table.isFull()).isFalse();
        assertThat(table.nextNumber()).isEqualTo(3);
    }

    @Test
    void hidden_reservations_take_no_place_of_others() {
        BoundedReservations table = BoundedReservations.inMemory(2, 0);
        for (int i = 0; i < 5; i++) {
            table.open(key(i), hidden(reservation(table, 0, 1_000)));
        }
        assertThat(table.get(key(1))).isNotNull();
        assertThat(table.get(key(2))).isNull();
        assertThat(table.isFull()).isFalse();
        table.open(key(7), reservation(table, 0, 1_000));
        assertThat(table.get(key(7))).isNotNull();
    }

    @Test
    void a_renewed_reservation_is_swept_after_its_new_end() {
        BoundedReservations table = BoundedReservations.inMemory(2, 0);
        table.open(key(1), reservation(table, 0, 1_000));
        table.change(key(1), table.get(key(1)).renewed(900));
        table.sweep(1_000);
        assertThat(table.sweep(1_500)).isEmpty();
        table.sweep(1_900);
        assertThat(table.sweep(1_900)).hasSize(1);
        assertThat(table.get(key(1))).isNull();
    }

    @Test
    void an_ended_reservation_stays_until_it_would_have_ended_and_is_not_reported() {
        BoundedReservations table = BoundedReservations.inMemory(2, 0);
        table.open(key(1), reservation(table, 0, 1_000));
        table.change(key(1), table.get(key(1)).ended(new ReservationRecord.Ending(RequestKind.RELEASE, 0, 5)));
        table.sweep(999);
        assertThat(table.get(key(1)).ending()).isPresent();
        table.sweep(1_000);
        assertThat(table.sweep(1_000)).isEmpty();
        assertThat(table.get(key(1))).isNull();
    }

    @Test
    void one_clock_that_runs_ahead_ends_nothing() {
        BoundedReservations table = BoundedReservations.inMemory(10_000, 0);
        table.open(key(1), reservation(table, 0, 1_000));
        table.sweep(0);
        for (int i = 0; i < 1_500; i++) {
            table.sweep(i % 500 == 7 ? 999 : 1_000_000);
        }
        assertThat(table.get(key(1))).isNotNull();
        for (int i = 0; i < 2_000; i++) {
            table.sweep(1_000_000);
        }
        assertThat(table.get(key(1))).isNull();
    }

    /** Returns the id of a reservation whose time is over, also if it was not swept yet; or none. */
    private static OptionalLong reusedId(
            List<Long> ids, BoundedReservations table, long nowMs, SplittableRandom random) {
        if (ids.isEmpty() || random.nextInt(4) > 0) {
            return OptionalLong.empty();
        }
        long id = ids.get(Math.max(0, ids.size() - 1 - random.nextInt(20)));
        ReservationRecord earlier = table.get(key(id));
        return earlier == null || earlier.endMs() <= nowMs ? OptionalLong.of(id) : OptionalLong.empty();
    }

    @Test
    void a_table_of_mixed_ends_is_bounded_sweeps_in_few_calls_and_survives_restarts() {
        for (int seed = 0; seed < Effort.times(20); seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Tables kept = new Tables();
            int most = 1 + random.nextInt(200);
            BoundedReservations table = kept.open(most, 0);
            Tables others = new Tables();
            BoundedReservations unbroken = others.open(most, 0);
            long nowMs = 0;
            List<Long> ids = new ArrayList<>();
            for (int i = 0; i < 3_000; i++) {
                nowMs += random.nextLong(20);
                if (random.nextInt(50) == 0) {
                    kept.summary = table.summary();
                    table = kept.open(most, 0);
                }
                int calls = kept.calls;
                assertThat(table.sweep(nowMs)).isEqualTo(unbroken.sweep(nowMs));
                assertThat(kept.calls - calls).isLessThan(90);
                assertThat(table.isFull()).isEqualTo(unbroken.isFull());
                if (!table.isFull()) {
                    ReservationRecord next =
                            reservation(table, nowMs, 1 + random.nextLong(1L << random.nextInt(1, 13)));
                    long id = reusedId(ids, table, nowMs, random).orElse(next.number());
                    table.open(key(id), next);
                    unbroken.open(key(id), next);
                    ids.add(id);
                }
                if (!ids.isEmpty() && random.nextInt(3) == 0) {
                    long id = ids.get(random.nextInt(ids.size()));
                    ReservationRecord one = table.get(key(id));
                    if (one != null && one.endMs() > nowMs && one.ending().isEmpty()) {
                        ReservationRecord changed = random.nextBoolean()
                                ? one.renewed(nowMs)
                                : one.ended(new ReservationRecord.Ending(RequestKind.RELEASE, 0, nowMs));
                        table.change(key(id), changed);
                        unbroken.change(key(id), changed);
                    }
                }
                assertThat(kept.queues).hasSizeBetween(kept.reservations.size(), most);
                for (ReservationRecord one : kept.reservations.values()) {
                    assertThat(one.number()).isLessThan(table.nextNumber());
                }
            }
            assertThat(kept.reservations).isEqualTo(others.reservations);
            assertThat(table.summary()).isEqualTo(unbroken.summary());
            nowMs += 1L << 30;
            for (int i = 0; i < 5 * most + 2_000; i++) {
                table.sweep(nowMs);
            }
            assertThat(kept.reservations).isEmpty();
            assertThat(kept.queues).isEmpty();
        }
    }
}
