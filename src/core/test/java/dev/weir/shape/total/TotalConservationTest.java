package dev.weir.shape.total;

import static dev.weir.shape.QueueHarness.MS;
import static dev.weir.shape.total.PartitionsHarness.T0;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Release;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that a total is a leaky bucket: it serves one request at a time, each for its cost, and does not pause for long
 * while a request waits that its key's pace permits to leave.
 */
@Tag("slow")
class TotalConservationTest {

    private static final long REPORT_INTERVAL_NANOS = 100 * MS;

    /** What one case sends, and by which rules. */
    private static final class Load {
        final PartitionsHarness harness;
        final QueueRules rules;
        final Map<String, List<long[]>> sent = new TreeMap<>(); // by key: arrival in ns, and cost
        long requests;

        Load(long seed, int partitions, long limit, long perMs, long burst, long totalLimit, long totalPerMs) {
            QueueTotal total = new QueueTotal(totalLimit, totalPerMs, QueueRules.MAX_CAPACITY);
            rules = QueueRules.builder("q", limit, perMs)
                    .burst(burst)
                    .capacity(1_000_000)
                    .key(List.of("k"))
                    .total(total)
                    .build();
            harness = new PartitionsHarness(seed, partitions, partitions == 1 ? 1 : 20, rules);
        }

        void offer(String key, long cost) {
            sent.computeIfAbsent(key, name -> new ArrayList<>()).add(new long[] {harness.nowMs * MS, cost});
            requests++;
            harness.offer(key, null, cost);
        }
    }

    /** The pauses of a total while a request could have left, by the definition. */
    private record Pauses(long longestNanos, long sumNanos, long busyNanos) {

        static Pauses of(Load load) {
            QueueTotal total = load.rules.total();
            List<Release> inOrder = new ArrayList<>(load.harness.releases);
            inOrder.sort(Comparator.comparingLong(Release::releaseAtNanos));
            Map<String, Integer> left = new HashMap<>();
            Map<String, Double> arrivals = new HashMap<>(); // of GCRA
            double keyToken = load.rules.perMs() * (double) MS / load.rules.limit();
            double token = total.rate().get().perMs()
                    * (double) MS
                    / total.rate().get().limit();
            double free = 0; // all times are relative to the start, so that doubles are exact enough
            long longest = 0;
            long sum = 0;
            double busy = 0;
            for (Release release : inOrder) {
                double at = release.releaseAtNanos() - T0 * MS;
                assertThat(at).as("%s overlaps", release).isGreaterThan(free - 2);
                double first = Double.MAX_VALUE;
                for (Map.Entry<String, List<long[]>> key : load.sent.entrySet()) {
                    int next = left.getOrDefault(key.getKey(), 0);
                    if (next < key.getValue().size()) {
                        long[] head = key.getValue().get(next);
                        double spare = (load.rules.burst() - Math.min(head[1], load.rules.burst())) * keyToken;
                        double turn = Math.max(head[0] - T0 * MS, arrivals.getOrDefault(key.getKey(), -1e18) - spare);
                        first = Math.min(first, turn);
                    }
                }
                long pause = Math.round(Math.max(0, at - Math.max(free, first)));
                longest = Math.max(longest, pause);
                sum += pause;
                busy += release.cost() * token;
                free = Math.max(free, at) + release.cost() * token;
                String key = release.key().get("k");
                left.merge(key, 1, Integer::sum);
                arrivals.merge(key, at, Math::max);
                arrivals.merge(key, release.cost() * keyToken, Double::sum);
            }
            return new Pauses(longest, sum, Math.round(busy));
        }

        @Override
        public String toString() {
            return String.format(
                    "pauses of %.1f ms in %.1f s, longest %.1f ms",
                    sumNanos / 1e6, busyNanos / 1e9, longestNanos / 1e6);
        }
    }

    /** Keys whose pace nearly divides that of the total, or is nearly as slow. */
    @ParameterizedTest
    @CsvSource({
        "1, 1, 7000, 1, 1000",
        "1, 1, 61000, 1, 60000",
        "2, 3, 1000, 7, 1000",
        "3, 1, 1000, 5, 1000",
        "7, 10, 1000, 71, 1000"
    })
    void each_key_leaves_at_its_own_pace_if_the_total_has_room(
            int keys, long limit, long perMs, long totalLimit, long totalPerMs) {
        Load load = new Load(1, 1, limit, perMs, 1, totalLimit, totalPerMs);
        int each = 20;
        for (int i = 0; i < each * keys; i++) {
            load.offer("k" + i % keys, 1);
        }
        load.harness.run(each * perMs / limit + 2 * totalPerMs);
        assertThat(load.harness.releases).hasSize(each * keys);
        Map<String, List<Long>> times = new TreeMap<>();
        load.harness.releases.forEach(
                release -> times.computeIfAbsent(release.key().get("k"), key -> new ArrayList<>())
                        .add(release.releaseAtNanos()));
        long atPace = (each - 1) * perMs * MS / limit;
        times.forEach((key, at) -> assertThat(at.get(each - 1) - at.get(0))
                .as("%s: %d gaps at its pace of %d/%dms", key, each - 1, limit, perMs)
                .isBetween(atPace, atPace + each));
    }

    @Test
    void a_small_request_does_not_waste_the_time_of_a_large_one() {
        Load load = new Load(1, 1, 50, 1_000, 1, 10, 1_000);
        for (int i = 0; i < 5; i++) {
            load.offer("l" + i, i == 3 ? 1 : 20);
        }
        load.harness.run(12_000);
        assertThat(load.harness.releases).hasSize(5);
        assertThat(Pauses.of(load).longestNanos).isLessThanOrEqualTo(REPORT_INTERVAL_NANOS);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 6})
    void a_total_does_not_pause_while_a_request_may_leave(int partitions) {
        long mostNanos = partitions == 1 ? REPORT_INTERVAL_NANOS : 2 * REPORT_INTERVAL_NANOS; // messages take 20 ms
        for (long seed = 0; seed < Effort.times(6); seed++) {
            Load load = randomLoad(seed, partitions);
            Pauses pauses = Pauses.of(load);
            String context = "seed " + seed + ": " + load.rules + ": " + pauses;
            assertThat(load.harness.releases).as(context).hasSize((int) load.requests);
            assertThat(pauses.longestNanos).as(context).isLessThanOrEqualTo(mostNanos);
            assertThat(pauses.sumNanos).as(context).isLessThanOrEqualTo(pauses.busyNanos / 50 + 5 * mostNanos);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-2_000, 2_000})
    void a_slow_total_is_used_although_the_clocks_of_the_brokers_differ(long aheadMs) {
        Load load = new Load(1, 3, 20, 1_000, 1, 1, 1_000);
        load.harness.aheadMs.put(0, aheadMs); // the ledger's partition
        for (int i = 0; i < 200; i++) {
            load.offer("k" + i % 9, 1);
        }
        load.harness.run(40_000);
        assertThat(load.harness.releasedBetween(10_000, 35_000)).isBetween(23L, 26L);
    }

    /** Requests do not overlap: {@link Pauses#of} checks it. */
    @Test
    void the_sum_never_exceeds_the_total_whatever_is_delayed_lost_repeated_or_withdrawn() {
        for (long seed = 0; seed < Effort.times(12); seed++) {
            Random random = new Random(seed);
            int partitions = 1 + random.nextInt(4);
            long largest = List.of(3, 30, 300).get(random.nextInt(3));
            Load load = new Load(seed, partitions, 20, 1_000, 1 + random.nextInt(3), 10 + random.nextInt(200), 1_000);
            PartitionsHarness harness = load.harness;
            harness.losesMessages = random.nextBoolean();
            harness.repeatsMessages = random.nextBoolean();
            harness.minDelayMs = random.nextInt(2) * 50;
            for (int step = 0; step < 400; step++) {
                String key = "k" + random.nextInt(10);
                if (random.nextInt(4) == 0) {
                    harness.cancel(key, "r" + Math.max(0, harness.requests - 1 - random.nextInt(10)));
                } else {
                    harness.offer(key, null, random.nextInt(4) == 0 ? 1 + random.nextInt((int) largest) : 1);
                }
                if (!harness.repeatsMessages && random.nextInt(60) == 0) {
                    harness.restart(random.nextInt(partitions));
                }
                harness.run(random.nextInt(150));
            }
            harness.run(20_000);
            assertThat(harness.releases).as("seed %d", seed).hasSizeGreaterThan(10);
            Pauses.of(load);
        }
    }

    private static Load randomLoad(long seed, int partitions) {
        Random random = new Random(seed);
        long[] totals = {1, 60_000, 1, 1_000, 10, 1_000, 100, 1_000, 2_000, 1_000};
        int which = 2 * random.nextInt(totals.length / 2);
        long totalLimit = totals[which];
        long totalPerMs = totals[which + 1];
        int keys = 1 + random.nextInt(20);
        long largest = List.of(1, 3, 20, totalLimit < 100 ? 100 : 1_000).get(random.nextInt(4));
        long limit = 1 + random.nextInt(3) * totalLimit / 2;
        Load load = new Load(seed, partitions, limit, totalPerMs, 1 + random.nextInt(3), totalLimit, totalPerMs);
        int requests = 20 + random.nextInt(100);
        double tokenMs = (double) totalPerMs / totalLimit;
        long sent = 0;
        for (int i = 0; i < requests; i++) {
            long cost = random.nextInt(3) == 0 ? 1 + random.nextInt((int) largest) : 1;
            load.offer("k" + random.nextInt(keys), cost);
            sent += cost;
            if (random.nextInt(2) == 0) {
                load.harness.run((long) Math.min(600_000, random.nextDouble() * 3 * cost * tokenMs));
            }
        }
        long restMs = (long) (sent * Math.max(tokenMs, (double) totalPerMs / limit)) + 10_000;
        for (long until = load.harness.nowMs + restMs;
                load.harness.nowMs < until && load.harness.releases.size() < load.requests; ) {
            load.harness.run(Math.min(1_000, until - load.harness.nowMs));
        }
        return load;
    }
}
