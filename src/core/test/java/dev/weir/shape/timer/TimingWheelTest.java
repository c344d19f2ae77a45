package dev.weir.shape.timer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.shape.HeapQueueStore;
import dev.weir.shape.rules.BucketId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TimingWheelTest {

    private static final long SECOND = 1_000_000_000L;
    private static final long NOW = 1_795_219_200L * SECOND;

    private final HeapQueueStore<TimerKey, BucketId> table = new HeapQueueStore<>();
    private TimingWheel wheel = new TimingWheel("q", null, table, 0);

    private static BucketId bucket(int number) {
        return new BucketId("q", List.of("k", "v" + number));
    }

    private BucketId next() {
        return wheel.next(new WorkBudget(1_000_000));
    }

    @Test
    void the_example_of_the_documentation_holds() {
        TimerKey a = wheel.add(bucket(1), 10 * SECOND, 0);
        assertThat(1L << a.widthBits()).isEqualTo(67_108_864);
        assertThat(a.startNanos() / 1_000_000).isEqualTo(9_999);
        TimerKey b = wheel.add(bucket(2), 3_600 * SECOND, 0);
        assertThat((1L << b.widthBits()) / SECOND).isEqualTo(17);
        assertThat(b.startNanos() / 100_000_000).isEqualTo((59 * 60 + 50) * 10 + 5);
    }

    /**
     * A bucket that is unloaded again until the start of the interval that it had before must not be read again before
     * time passes.
     */
    @Test
    void a_future_interval_has_not_begun_and_is_early_by_at_most_a_64th() {
        Random random = new Random(1);
        for (int i = 0; i < 100_000; i++) {
            long distance = 1 + (random.nextLong() >>> 1 + random.nextInt(62));
            long now = Math.min(NOW, Long.MAX_VALUE - distance);
            TimerKey key = wheel.add(bucket(i), now + distance, now);
            assertThat(key.startNanos()).isGreaterThan(now).isLessThanOrEqualTo(now + distance);
            assertThat(now + distance - key.startNanos()).isLessThanOrEqualTo(distance / 64);
            wheel.remove(key);
        }
        assertThat(wheel.intervals()).isZero();
        assertThat(wheel.size()).isZero();
        assertThat(table.entries).isEmpty();
    }

    @Test
    void each_entry_is_read_once_in_the_order_of_intervals() {
        Random random = new Random(2);
        Map<BucketId, TimerKey> keys = new HashMap<>();
        for (int i = 0; i < 5_000; i++) {
            keys.put(bucket(i), wheel.add(bucket(i), NOW + (random.nextLong() >>> 20 + random.nextInt(30)), NOW));
        }
        for (int i = 0; i < 5_000; i += 3) {
            wheel.remove(keys.remove(bucket(i)));
        }
        long last = 0;
        while (wheel.dueNanos() < Long.MAX_VALUE) {
            long dueNanos = wheel.dueNanos();
            TimerKey key = keys.remove(next());
            assertThat(key.startNanos()).isEqualTo(dueNanos).isGreaterThanOrEqualTo(last);
            last = dueNanos;
            wheel.remove(key);
        }
        assertThat(keys).isEmpty();
        assertThat(table.entries).isEmpty();
    }

    @Test
    void the_number_of_intervals_is_bounded_whatever_the_number_of_entries() {
        Random random = new Random(3);
        for (int i = 0; i < 200_000; i++) {
            wheel.add(bucket(i), NOW + (random.nextLong() >>> 1 + random.nextInt(62)) / 4, NOW);
        }
        assertThat(wheel.size()).isEqualTo(200_000);
        assertThat(wheel.intervals()).isLessThan(6_000);
    }

    @Test
    void removed_entries_are_skipped_once_with_a_step_each() {
        TimerKey[] keys = new TimerKey[100];
        for (int i = 0; i < 100; i++) {
            keys[i] = wheel.add(bucket(i), NOW + SECOND, NOW);
        }
        for (int i = 0; i < 99; i++) {
            wheel.remove(keys[i]);
        }
        table.calls = 0;
        assertThat(wheel.next(new WorkBudget(60))).isNull();
        assertThat(wheel.next(new WorkBudget(60))).isEqualTo(bucket(99));
        assertThat(table.calls).isEqualTo(100);
    }

    @Test
    void a_restored_wheel_continues_at_its_position() {
        Random random = new Random(4);
        Map<BucketId, TimerKey> keys = new HashMap<>();
        for (int i = 0; i < 1_000; i++) {
            keys.put(bucket(i), wheel.add(bucket(i), NOW + random.nextInt(2_000_000_000), NOW));
        }
        for (int i = 0; i < 100; i++) {
            wheel.remove(keys.remove(next()));
        }
        wheel.startNewEpoch();
        keys.put(bucket(1_000), wheel.add(bucket(1_000), NOW + SECOND, NOW));
        TimingWheel restored = new TimingWheel("q", null, table, wheel.epoch());
        keys.values().forEach(restored::restore);
        assertThat(restored.size()).isEqualTo(901);
        assertThat(restored.intervals()).isEqualTo(wheel.intervals());
        assertThat(restored.hasStale()).isTrue();
        for (int i = 0; i < 900; i++) {
            BucketId id = restored.nextStale(new WorkBudget(1_000));
            restored.remove(keys.remove(id));
        }
        assertThat(restored.hasStale()).isFalse();
        assertThat(keys).containsOnlyKeys(bucket(1_000));
    }

    @Test
    void a_wheel_without_entries_has_no_next_one() {
        assertThat(next()).isNull();
        assertThat(wheel.nextStale(new WorkBudget(1))).isNull();
        wheel.remove(wheel.add(bucket(1), NOW + SECOND, NOW));
        assertThat(next()).isNull();
    }

    @Test
    void entries_that_are_missing_from_the_table_are_reported() {
        wheel.add(bucket(1), NOW + SECOND, NOW);
        table.entries.clear();
        assertThatThrownBy(this::next).hasMessage("1 timers of queue q are missing");
    }
}
