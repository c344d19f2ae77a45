package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConcurrencyTest {

    /** Slots that end at one time. */
    private record Held(long endMs, long count) {}

    /** The state under test, its store, and a list of what is in use. */
    private static final class Trial {
        final MapSegments store = new MapSegments();
        final List<Held> held = new ArrayList<>();
        Concurrency limit;
        Slots slots = Slots.NONE;
        int mostWrites;

        Trial(Concurrency limit) {
            this.limit = limit;
        }

        void take(long count, long endMs, long nowMs) {
            store(limit.taken(slots, count, endMs, nowMs));
            held.add(new Held(endMs, count));
        }

        void free(Held one, long nowMs) {
            store(limit.freed(slots, one.count, one.endMs, nowMs));
            held.remove(one);
        }

        private void store(Slots next) {
            mostWrites = Math.max(mostWrites, next.writes().size());
            slots = (Slots) store.store(next);
        }

        long inUse(long nowMs) {
            return held.stream()
                    .filter(one -> one.endMs > nowMs)
                    .mapToLong(Held::count)
                    .sum();
        }

        /** Returns the first end at which at most {@code most} are in use. */
        long freeAtMs(long most, long nowMs) {
            return inUse(nowMs) <= most
                    ? nowMs
                    : held.stream()
                            .mapToLong(Held::endMs)
                            .filter(endMs -> endMs > nowMs && inUse(endMs) <= most)
                            .min()
                            .orElseThrow();
        }

        void check(long nowMs, SplittableRandom random) {
            long inUse = inUse(nowMs);
            assertThat(limit.available(slots, nowMs)).isEqualTo(limit.limit() - inUse);
            assertThat(limit.waitMs(slots, limit.limit(), nowMs)).isEqualTo(freeAtMs(0, nowMs) - nowMs);
            long cost = random.nextLong(limit.limit() + 1);
            assertThat(limit.waitMs(slots, cost, nowMs)).isEqualTo(freeAtMs(limit.limit() - cost, nowMs) - nowMs);
            long laterMs = nowMs + random.nextLong(2 * limit.ttlMs());
            assertThat(limit.available(slots, laterMs)).isEqualTo(limit.limit() - inUse(laterMs));
        }
    }

    @Test
    void slots_are_free_when_they_are_freed_or_end() {
        Concurrency limit = new Concurrency(2, 60_000);
        Slots slots = limit.charge(limit.charge(Slots.NONE, 1, 0), 1, 0);
        assertThat(limit.permits(slots, 1, 5_000)).isFalse();
        assertThat(limit.waitMs(slots, 1, 5_000)).isEqualTo(55_000);
        slots = limit.freed(slots, 1, 60_000, 9_000);
        assertThat(limit.permits(slots, 1, 9_000)).isTrue();
        slots = limit.charge(slots, 1, 9_000);
        assertThat(limit.available(slots, 59_999)).isZero();
        assertThat(limit.available(slots, 60_000)).isEqualTo(1);
        assertThat(limit.waitMs(slots, 2, 60_000)).isEqualTo(9_000);
        assertThat(limit.freed(slots, 1, 60_000, 60_000)).isSameAs(slots);
        assertThat(limit.charge(slots, -1, 61_000)).isSameAs(slots);
        assertThat(limit.expiresAtMs(slots, 60_000)).isEqualTo(69_000);
    }

    @ParameterizedTest
    @CsvSource({
        "1,          1,          1",
        "3,          100,        10",
        "10,         60000,      5000",
        "40,         1000,       3",
        "500,        60000,      200",
        "300,        100000,     1000",
        "400,        86400000,   500000",
        "1000,       2592000000, 3000000",
        "1000000,    3600000,    5000",
    })
    void any_schedule_has_the_slots_of_a_plain_list(long most, long ttlMs, long stepMs) {
        for (int seed = 0; seed < Effort.times(8); seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Trial trial = new Trial(new Concurrency(most, ttlMs));
            long nowMs = 1_000_000 + random.nextLong(1L << 40);
            boolean oneTtl = random.nextBoolean();
            int freesOf10 = random.nextInt(9);
            for (int i = 0; i < 1_500; i++) {
                nowMs += random.nextInt(50) == 0 ? random.nextLong(2 * ttlMs) : random.nextLong(stepMs);
                long now = nowMs;
                trial.held.removeIf(one -> one.endMs <= now);
                if (!trial.held.isEmpty() && random.nextInt(10) < freesOf10) {
                    Held one = trial.held.get(random.nextInt(trial.held.size()));
                    trial.free(one, nowMs);
                    if (random.nextBoolean()) { // renewed
                        trial.take(one.count, nowMs + ttlMs, nowMs);
                    }
                } else {
                    long endMs = nowMs + (oneTtl ? ttlMs : 1 + random.nextLong(ttlMs));
                    long cost = 1 + random.nextLong(Math.max(1, most / 20));
                    if (trial.limit.permits(trial.slots, cost, nowMs)) {
                        trial.take(cost, endMs, nowMs);
                    }
                }
                if (random.nextInt(300) == 0) {
                    trial.limit = new Concurrency(1 + random.nextLong(most), ttlMs);
                }
                trial.check(nowMs, random);
            }
            long endMs = nowMs + 2 * ttlMs;
            trial.held.clear();
            for (int i = 0; i < 3_000 && trial.slots.hasGarbage() || i < 2; i++) {
                trial.take(1, endMs + i + 1, endMs + i);
            }
            assertThat(trial.store.size()).isLessThanOrEqualTo(6);
        }
    }

    @Test
    void the_cost_does_not_depend_on_the_slots_in_use() {
        Trial trial = new Trial(new Concurrency(1_000_000, 3_600_000));
        SplittableRandom random = new SplittableRandom(1);
        List<Held> some = new ArrayList<>();
        int writes = 0;
        int mostReads = 0;
        for (int i = 0; i < 200_000; i++) {
            long nowMs = 18L * i;
            Held one = new Held(nowMs + 3_600_000, 1);
            int puts = trial.store.puts();
            int gets = trial.store.gets();
            trial.store(trial.limit.taken(trial.slots, 1, one.endMs, nowMs));
            some.add(one);
            if (random.nextInt(3) == 0) {
                Held freed = some.remove(random.nextInt(some.size()));
                trial.store(trial.limit.freed(trial.slots, 1, freed.endMs, nowMs));
            }
            writes += trial.store.puts() - puts;
            trial.limit.waitMs(trial.slots, 900_000, nowMs);
            mostReads = Math.max(mostReads, trial.store.gets() - gets);
        }
        assertThat(trial.mostWrites).isLessThanOrEqualTo(12);
        assertThat(mostReads).isLessThanOrEqualTo(120);
        assertThat(writes / 200_000.0).isLessThanOrEqualTo(4);
    }

    @Test
    void a_few_slots_are_all_in_the_state() {
        Trial trial = new Trial(new Concurrency(32, 60_000));
        for (int i = 0; i < 10_000; i++) {
            trial.take(1, 60_000 + i * 2_000, i * 2_000);
        }
        assertThat(trial.store.calls()).isZero();
    }

    @Test
    void retired_slots_are_deleted_step_by_step() {
        Trial trial = new Trial(new Concurrency(1_000_000, 3_600_000));
        for (int i = 0; i < 5_000; i++) {
            trial.take(1, 3_600_000 + i * 100, i);
        }
        assertThat(trial.store.size()).isGreaterThan(100);
        SegmentedState retired = trial.slots.retired();
        for (int i = 0; i < 10_000 && retired.hasGarbage(); i++) {
            SegmentedState next = retired.trimmed();
            assertThat(next.writes()).hasSizeLessThanOrEqualTo(8);
            retired = trial.store.store(next);
        }
        assertThat(trial.store.size()).isZero();
    }

    @Test
    void other_terms_keep_the_ends() {
        Concurrency ten = new Concurrency(10, 60_000);
        LimitAccount<Slots> used = LimitAccount.open(ten, 0).charge(10, 0);
        Concurrency two = new Concurrency(2, 1_000);
        LimitAccount<Slots> lowered = used.migrateTo(two, 1_000);
        assertThat(lowered.state()).isSameAs(used.state());
        assertThat(lowered.remaining(1_000)).isZero();
        assertThat(lowered.waitMs(1, 1_000)).isEqualTo(59_000);
        FixedWindow window = new FixedWindow(10, 60_000, false);
        LimitAccount<AlignedWindow.Window> rate = LimitAccount.open(window, 0).charge(7, 0);
        assertThat(rate.migrateTo(two, 1).used(1)).isZero();
    }

    @Test
    void terms_out_of_range_are_rejected() {
        assertThatThrownBy(() -> new Concurrency(0, 1)).hasMessage("limit must be 1 to 1000000, is 0");
        assertThatThrownBy(() -> new Concurrency(1_000_001, 1)).hasMessage("limit must be 1 to 1000000, is 1000001");
        assertThatThrownBy(() -> new Concurrency(1, 0)).hasMessage("ttl must be 1 ms to 30 d, is 0 ms");
        assertThatThrownBy(() -> new Concurrency(1, 2_592_000_001L))
                .hasMessage("ttl must be 1 ms to 30 d, is 2592000001 ms");
    }
}
