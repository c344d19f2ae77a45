package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.FirstAnswer;
import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.event.Decision;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeasePart;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.storage.codec.ReservationEntry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Bytes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class StoredReservationsTest {

    private static final long HOT_BYTES = 1 << 20;

    private final RecordedStore below = new RecordedStore();
    private WriteBackStore<byte[], ReservationEntry> store;

    private BoundedReservations open(int most, Duration retention, long hotBytes) {
        WeirConfig.State state = WeirConfig.DEFAULTS.state();
        WeirConfig.State config = new WeirConfig.State(
                state.directory(),
                state.memoryBytes(),
                state.hotMemoryBytes(),
                state.cleanupInterval(),
                state.cleanupKeys(),
                retention,
                new WeirConfig.PartitionBounds(1, most));
        store = new WriteBackStore<>(below, new CacheBudget(hotBytes));
        return StoredReservations.open(store, config, size -> {});
    }

    private static RequestKey key(long id) {
        return new RequestKey("c\0" + id % 3, RequestKind.CONSUME, "żółw " + id);
    }

    private static ReservationRecord reservation(long number, long fromMs, long durationMs) {
        Request request = Request.builder("r" + number, "c").cost(number).build();
        IdempotentAnswer answer = number % 2 == 0
                ? Decision.allowed(request, Reason.WITHIN_LIMITS, fromMs)
                : new IdempotentAnswer.SentToQueue(
                        "q", new PolicyVersion("p", 4), LimitStatus.of("10/1s", 10L), List.of("o"));
        HeldCharge held = new HeldCharge.Counted(
                new StateKey("c", "p", List.of("x", "y\0")),
                number % 5 == 0,
                fromMs - 3,
                durationMs,
                List.of(0L, number));
        HeldCharge leased = new HeldCharge.Leased(
                new StateKey(StateKey.NO_CLIENT, "q", List.of()),
                number % 2 == 0,
                fromMs + 4,
                List.of(new LeasePart(number << 20, number, 3), new LeasePart(7, 8, 0)),
                number % 3 == 0
                        ? Optional.empty()
                        : Optional.of(new HeldCharge.LentSlotsEnd(number, fromMs + durationMs)));
        return new ReservationRecord(
                number,
                number % 7 == 0 ? Optional.empty() : Optional.of(FirstAnswer.of(ContentHash.of(request), answer)),
                number,
                fromMs,
                durationMs,
                number % 4 == 0 ? List.of() : List.of(held, leased, held),
                number % 3 == 0
                        ? Optional.of(new ReservationRecord.Ending(RequestKind.SETTLE, 5, fromMs - 1))
                        : Optional.empty());
    }

    @Test
    void a_reservation_is_read_as_it_was_stored() {
        for (int i = 1; i < 50; i++) {
            BoundedReservations reservations = open(100, Duration.ofHours(1), HOT_BYTES);
            ReservationRecord stored = reservation(i, i % 2 == 0 ? -i : 1_700_000_000_000L, i * 1_000L);
            reservations.open(key(i), stored);
            store.flushCache();
            BoundedReservations again = open(100, Duration.ofHours(1), HOT_BYTES);
            assertThat(again.get(key(i))).isEqualTo(stored);
            assertThat(again.nextNumber()).isEqualTo(i + 1);
            assertThat(again.summary()).isEqualTo(reservations.summary());
        }
    }

    @Test
    void what_was_not_committed_is_gone_and_the_rest_continues_as_without_restarts() {
        for (int seed = 0; seed < 20; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            below.content.clear();
            long hotBytes = random.nextInt(3) == 0 ? 0 : 1 << random.nextInt(10, 20);
            BoundedReservations stored = open(200, Duration.ofMillis(5), hotBytes);
            List<Long> committed = new ArrayList<>();
            BoundedReservations unbroken = BoundedReservations.inMemory(200, 5);
            for (int i = 0; i < 50; i++) {
                long nowMs = i * 100L;
                Map<Bytes, byte[]> before = new TreeMap<>(below.content);
                if (random.nextBoolean()) { // a transaction that fails; the task is restored from the changelog
                    run(stored, new SplittableRandom(i), nowMs, new ArrayList<>(committed));
                    below.content.clear();
                    below.content.putAll(before);
                    stored = open(200, Duration.ofMillis(5), hotBytes);
                }
                List<Long> swept = run(stored, new SplittableRandom(i), nowMs, new ArrayList<>(committed));
                assertThat(swept).isEqualTo(run(unbroken, new SplittableRandom(i), nowMs, committed));
                store.flushCache();
                if (random.nextBoolean()) {
                    stored = open(200, Duration.ofMillis(5), hotBytes);
                }
                assertThat(stored.summary()).isEqualTo(unbroken.summary());
            }
            assertThat(committed).isNotEmpty();
            for (long id : committed) {
                assertThat(stored.get(key(id))).isEqualTo(unbroken.get(key(id)));
            }
            for (int i = 0; i < 3_000; i++) {
                stored.sweep(1_000_000);
            }
            store.flushCache();
            assertThat(below.content.size())
                    .as("blocks that are not full, and the summary")
                    .isLessThan(40);
        }
    }

    private static List<Long> run(BoundedReservations on, SplittableRandom random, long fromMs, List<Long> ids) {
        List<Long> swept = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            long nowMs = fromMs + random.nextLong(100);
            long number = on.nextNumber();
            on.open(key(number), reservation(number, nowMs, 1 + random.nextLong(1 << random.nextInt(1, 12))));
            ids.add(number);
            long other = ids.get(random.nextInt(ids.size()));
            ReservationRecord renewed = on.get(key(other));
            if (renewed != null && random.nextBoolean()) {
                on.change(key(other), renewed.renewed(nowMs));
            }
            on.sweep(nowMs).forEach(over -> swept.add(over.number()));
        }
        return swept;
    }

    @Test
    void the_absence_of_a_reservation_is_known_without_a_read_and_its_presence_after_a_restart() {
        BoundedReservations reservations = open(10_000, Duration.ofMillis(1), 0);
        for (int i = 1; i <= 100; i++) {
            reservations.open(key(i), reservation(i, 0, i % 2 == 0 ? 1_000 : 50_000));
        }
        store.flushCache();
        for (int restarts = 0; restarts < 2; restarts++) {
            below.take();
            for (int i = 101; i <= 1_000; i++) {
                assertThat(reservations.get(key(i))).isNull();
            }
            assertThat(below.take()).isEmpty();
            for (int i = 1; i <= 100; i++) {
                assertThat(reservations.get(key(i)).number()).isEqualTo(i);
            }
            reservations = open(10_000, Duration.ofMillis(1), 0);
        }
        for (int i = 0; i < 3_000; i++) {
            reservations.sweep(2_000);
        }
        below.take();
        for (int i = 2; i <= 100; i += 2) {
            assertThat(reservations.get(key(i))).isNull();
        }
        assertThat(below.take()).as("they were deleted").isEmpty();
        assertThat(reservations.get(key(99)).number()).isEqualTo(99);
    }

    @Test
    void a_reservation_that_was_ended_is_deleted_without_being_read() {
        BoundedReservations reservations = open(10_000, Duration.ofMillis(1), HOT_BYTES);
        for (int i = 1; i <= 100; i++) {
            reservations.open(key(i), reservation(i, 0, 1_000));
            reservations.change(
                    key(i), reservations.get(key(i)).ended(new ReservationRecord.Ending(RequestKind.RELEASE, 0, 1)));
        }
        store.flushCache();
        below.take();
        for (int i = 0; i < 2_100; i++) {
            assertThat(reservations.sweep(2_000)).isEmpty();
        }
        assertThat(below.take()).filteredOn(call -> call.contains("żółw")).isEmpty();
        assertThat(reservations.size()).isZero();
    }

    @Test
    void a_reservation_that_is_held_over_commits_is_written_three_times() {
        BoundedReservations reservations = open(10_000, Duration.ofMillis(1), HOT_BYTES);
        int count = 1_600;
        for (int i = 1; i <= count; i++) {
            reservations.open(key(i), reservation(i, 0, 1_000));
        }
        store.flushCache();
        for (int i = 1; i <= count; i++) {
            reservations.change(
                    key(i), reservations.get(key(i)).ended(new ReservationRecord.Ending(RequestKind.RELEASE, 0, 1)));
        }
        store.flushCache();
        for (int i = 1; i <= count; i++) {
            reservations.sweep(1_000_000);
        }
        store.flushCache();
        assertThat(below.content.size())
                .as("two blocks that are not full, and the summary")
                .isLessThan(4);
        assertThat(below.written()).isBetween(3L * count, 3L * count + 2 * count / StoredExpiryQueues.BLOCK_SIZE + 7);
    }
}
