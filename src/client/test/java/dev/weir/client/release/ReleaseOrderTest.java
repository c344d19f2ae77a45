package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import dev.weir.shape.rules.Pacing;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class ReleaseOrderTest {

    private static final long MS = 1_000_000;
    private static final long TOLERANCE = ReleaseOrder.TOLERANCE_MS * MS;

    /** A release that was handed out. */
    private record Out(Release release, long atNanos) {}

    /** A worker without a broker, which looks for releases each millisecond. */
    private static final class Worker {
        private final ReleaseOrder order;
        private final List<Out> out = new ArrayList<>();
        private long offset;

        Worker(LateReleases late) {
            order = new ReleaseOrder(late);
        }

        Worker() {
            this(LateReleases.PACE);
        }

        void receive(int partition, Release release) {
            order.add(new HeldReleases.Held(partition(partition), offset++, release, null, null));
        }

        void lookAt(long nowNanos) {
            for (Optional<ReleaseOrder.Turn> first = order.first(nowNanos);
                    first.isPresent() && first.get().isDue();
                    first = order.first(nowNanos)) {
                assertThat(first.get().held())
                        .isSameAs(order.first(nowNanos).orElseThrow().held());
                out.add(new Out(order.take(first.get()).release(), nowNanos));
            }
        }

        void run(long fromMs, long untilMs) {
            for (long ms = fromMs; ms <= untilMs; ms++) {
                lookAt(ms * MS);
            }
        }

        /** Returns ids and times in milliseconds, and forgets them. */
        List<String> taken() {
            List<String> texts = out.stream()
                    .map(one -> one.release.requestId() + "@" + one.atNanos / MS)
                    .toList();
            out.clear();
            return texts;
        }
    }

    private static TopicPartition partition(int number) {
        return new TopicPartition("releases", number);
    }

    /** Returns a release of a queue of 5 a second. */
    private static Release.Builder release(String id, long sequence, long atMs) {
        return Release.builder(id, "c", "q")
                .sequence(sequence)
                .releaseAtNanos(atMs * MS)
                .pace(new Release.Pace(200 * MS, 0));
    }

    @Test
    void late_releases_are_handed_out_at_the_pace_of_their_queue() {
        Worker worker = new Worker();
        for (int i = 0; i <= 4; i++) {
            worker.receive(0, release("r" + i, i + 1, 200L * i).build());
        }
        worker.receive(0, release("next", 6, 12_300).build());
        worker.run(12_000, 14_000);
        assertThat(worker.taken())
                .containsExactly("r0@12000", "r1@12200", "r2@12400", "r3@12600", "r4@12800", "next@13000");
    }

    @Test
    void late_releases_are_handed_out_at_once_if_the_worker_wants_them_so() {
        Worker worker = new Worker(LateReleases.AT_ONCE);
        worker.receive(0, release("a", 1, 0).build());
        worker.receive(0, release("b", 2, 200).build());
        worker.lookAt(12_000 * MS);
        assertThat(worker.taken()).containsExactly("a@12000", "b@12000");
    }

    @Test
    void a_release_without_a_pace_is_handed_out_at_once() {
        Worker worker = new Worker();
        worker.receive(0, release("a", 1, 0).pace(Release.Pace.NONE).build());
        worker.receive(0, release("b", 2, 0).pace(Release.Pace.NONE).build());
        worker.lookAt(12_000 * MS);
        assertThat(worker.taken()).containsExactly("a@12000", "b@12000");
    }

    @Test
    void a_burst_on_time_is_not_delayed_even_after_late_releases() {
        Worker worker = new Worker();
        worker.receive(0, release("late", 1, 0).build());
        worker.lookAt(1_000 * MS);
        for (int i = 0; i < 3; i++) {
            worker.receive(0, release("r" + i, i + 2, 1_150).build());
        }
        worker.run(1_001, 2_000);
        assertThat(worker.taken()).containsExactly("late@1000", "r0@1200", "r1@1400", "r2@1600");
        for (int i = 0; i < 3; i++) {
            worker.receive(0, release("s" + i, i + 5, 2_100).build());
        }
        worker.lookAt((2_100 + ReleaseOrder.TOLERANCE_MS) * MS);
        assertThat(worker.taken()).containsExactly("s0@2200", "s1@2200", "s2@2200");
    }

    @Test
    void a_turn_that_was_missed_is_made_up_for_within_the_tolerance() {
        Worker worker = new Worker();
        for (int i = 0; i < 6; i++) {
            worker.receive(0, release("r" + i, i + 1, 0).build());
        }
        worker.lookAt(1_000 * MS);
        worker.lookAt(1_230 * MS);
        worker.lookAt(1_400 * MS);
        worker.lookAt(2_000 * MS); // 400 ms late, of which 300 ms are lost
        worker.run(2_001, 2_400);
        assertThat(worker.taken()).containsExactly("r0@1000", "r1@1230", "r2@1400", "r3@2000", "r4@2100", "r5@2300");
    }

    @Test
    void other_buckets_are_not_delayed() {
        Worker worker = new Worker();
        worker.receive(0, release("a1", 1, 0).key(Map.of("to", "a")).build());
        worker.receive(0, release("a2", 2, 200).key(Map.of("to", "a")).build());
        worker.receive(0, release("b1", 1, 100).key(Map.of("to", "b")).build());
        worker.receive(0, release("c1", 1, 1_100).key(Map.of("to", "c")).build());
        worker.run(1_000, 1_300);
        assertThat(worker.taken()).containsExactly("a1@1000", "b1@1000", "c1@1100", "a2@1200");
    }

    @Test
    void the_total_of_all_keys_is_kept_too() {
        Worker worker = new Worker();
        for (int i = 0; i < 4; i++) {
            Release.Builder release = release("r" + i, 1 + i / 2, 0).pace(new Release.Pace(200 * MS, 50 * MS));
            worker.receive(
                    i % 2, release.key(Map.of("to", i % 2 == 0 ? "a" : "b")).build());
        }
        worker.receive(
                0,
                release("on time", 1, 1_080)
                        .key(Map.of("to", "c"))
                        .pace(new Release.Pace(200 * MS, 50 * MS))
                        .build());
        worker.run(1_000, 1_400);
        assertThat(worker.taken()).containsExactly("r0@1000", "r1@1050", "on time@1100", "r2@1200", "r3@1250");
    }

    @Test
    void workers_that_are_equally_late_keep_the_pace_together() {
        Worker first = new Worker();
        Worker second = new Worker();
        for (int i = 0; i < 40; i++) {
            Worker owner = i % 4 == 0 ? first : second;
            owner.receive(i % 4, release("r" + i, i + 1, 200L * i).build());
        }
        first.run(20_000, 30_000);
        second.run(20_000, 30_000);
        assertThat(first.taken()).startsWith("r0@20000", "r4@20800", "r8@21600").hasSize(10);
        assertThat(second.taken())
                .startsWith("r1@20000", "r2@20200", "r3@20400", "r5@20800")
                .hasSize(30);
    }

    @Test
    void a_partition_does_not_wait_longer_for_others_than_these_took() {
        Worker worker = new Worker();
        worker.receive(
                0,
                release("a", 1, 0)
                        .cost(100)
                        .pace(new Release.Pace(20_000 * MS, 0))
                        .build());
        worker.receive(
                0,
                release("b", 12, 22_000)
                        .cost(100)
                        .pace(new Release.Pace(20_000 * MS, 0))
                        .build());
        worker.run(60_000, 90_000); // ten of cost 1 were released between
        assertThat(worker.taken()).containsExactly("a@60000", "b@82000");
    }

    @Test
    void a_bucket_that_starts_to_count_again_is_paced() {
        Worker worker = new Worker();
        worker.receive(0, release("a", 1_000, 0).build());
        worker.receive(0, release("b", 1, 300).build());
        worker.run(1_000, 1_300);
        assertThat(worker.taken()).containsExactly("a@1000", "b@1200");
    }

    @Test
    void releases_of_a_dropped_partition_are_gone_and_no_longer_delay_others() {
        Worker worker = new Worker();
        for (int i = 0; i < 3; i++) {
            worker.receive(0, release("a" + i, i + 1, 0).build());
        }
        worker.lookAt(1_000 * MS);
        worker.order.drop(List.of(partition(0)));
        worker.run(1_001, 1_200);
        worker.receive(1, release("b1", 4, 1_150).build());
        worker.receive(1, release("b2", 5, 1_150).build());
        worker.run(1_201, 1_300);
        assertThat(worker.taken()).containsExactly("a0@1000", "b1@1201", "b2@1201");
    }

    /**
     * Releases of random buckets at random times, with outages. A worker with all partitions hands each out once, not
     * early, and those of a bucket and partition in order. Over each interval, it hands out at most the burst, the cost
     * of one and the rate × (the interval + the tolerance).
     */
    @Test
    void over_each_interval_the_pace_is_kept_by_the_times_of_handling() {
        int exceededAtOnce = 0;
        for (int seed = 1; seed <= 60; seed++) {
            exceededAtOnce += run(seed, LateReleases.AT_ONCE);
            assertThat(run(seed, LateReleases.PACE)).as("seed %d", seed).isZero();
        }
        assertThat(exceededAtOnce).isGreaterThan(1_000); // otherwise this test shows nothing
    }

    private static int run(int seed, LateReleases late) {
        Random random = new Random(seed);
        long perSecond = 1 + random.nextInt(50);
        long burst = 1 + random.nextInt(4);
        List<Release> all = new ArrayList<>();
        for (String key : List.of("a", "b")) {
            all.addAll(releases(random, Pacing.of(perSecond, 1_000, burst), key));
        }
        all.sort(Comparator.comparingLong(Release::releaseAtNanos));
        Worker worker = new Worker(late);
        int next = 0;
        long nowNanos = 0;
        while (worker.out.size() < all.size()) {
            nowNanos += random.nextInt(20) == 0 ? random.nextInt(3_000) * MS : random.nextInt(20_000_000);
            while (next < all.size() && all.get(next).releaseAtNanos() <= nowNanos + 50 * MS) {
                worker.receive(random.nextInt(2), all.get(next++));
            }
            worker.lookAt(nowNanos);
        }
        assertThat(new HashSet<>(
                        worker.out.stream().map(one -> one.release.requestId()).toList()))
                .hasSize(all.size());
        assertThat(worker.out).allMatch(one -> one.atNanos >= one.release.releaseAtNanos());
        int exceeded = 0;
        for (String key : List.of("a", "b")) {
            List<Out> ofKey = worker.out.stream()
                    .filter(one -> one.release.key().containsValue(key))
                    .toList();
            exceeded += exceeded(ofKey, perSecond, burst);
        }
        return exceeded;
    }

    private static List<Release> releases(Random random, Pacing pacing, String key) {
        List<Release> releases = new ArrayList<>();
        Pacing.Arrival arrival = pacing.fresh(0);
        long atNanos = 0;
        for (int i = 1; i <= 60; i++) {
            long cost = 1 + random.nextInt(3);
            atNanos = pacing.earliestNanos(arrival, cost, atNanos);
            arrival = pacing.released(arrival, cost, atNanos);
            releases.add(Release.builder(key + i, "c", "q")
                    .key(Map.of("to", key))
                    .sequence(i)
                    .releaseAtNanos(atNanos)
                    .cost(cost)
                    .pace(new Release.Pace(pacing.spanNanos(cost), 0))
                    .build());
            atNanos += random.nextInt(8) == 0 ? random.nextInt(2_000) * MS : 0;
        }
        return releases;
    }

    /** Returns in how many intervals more was handed out than the pace permits. */
    private static int exceeded(List<Out> out, long perSecond, long burst) {
        int exceeded = 0;
        for (int i = 0; i < out.size(); i++) {
            long cost = 0;
            long largest = 0;
            for (int j = i; j < out.size(); j++) {
                cost += out.get(j).release.cost();
                largest = Math.max(largest, out.get(j).release.cost());
                long nanos = out.get(j).atNanos - out.get(i).atNanos + TOLERANCE;
                boolean isWithin = (cost - Math.max(burst, largest) - largest) * 1_000 * MS <= perSecond * nanos;
                exceeded += isWithin ? 0 : 1;
            }
        }
        return exceeded;
    }
}
