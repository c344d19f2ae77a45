package dev.weir.shape.total;

import static dev.weir.shape.total.PartitionsHarness.T0;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that the releases in flight of all keys of a queue, on several partitions, never occupy more slots than its total
 * has, and that no slot stays idle, nor a request waits for ever, while slots could be lent.
 */
class TotalInFlightTest {

    private static final long DAY_MS = 86_400_000;

    /** Longer than a report, the loan that follows and the messages take, several times over. */
    private static final long EXCHANGES_MS = 3_000;

    private static QueueRules rules(long most, long ofBucket) {
        return QueueRules.builder("q", new InFlightRules(ofBucket, DAY_MS, DAY_MS, 3, 1_000))
                .capacity(100_000)
                .key(List.of("k"))
                .total(QueueTotal.ofInFlight(most, 100_000))
                .build();
    }

    private static PartitionsHarness harness(long seed, int partitions, QueueRules rules) {
        return new PartitionsHarness(seed, partitions, partitions == 1 ? 1 : 20, rules);
    }

    /** Returns a key of a partition. */
    private static String key(int partition, int number, int partitions) {
        int found = 0;
        for (int i = 0; ; i++) {
            if (Math.floorMod(("k" + i).hashCode(), partitions) == partition && found++ == number) {
                return "k" + i;
            }
        }
    }

    @Test
    void keys_of_all_partitions_share_the_slots() {
        PartitionsHarness queue = harness(1, 4, rules(3, 3));
        for (int i = 0; i < 40; i++) {
            queue.offer("k" + i, null, 1);
        }
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(3);
        assertThat(queue.slotsInFlight()).isEqualTo(3);
        for (int done = 0; done < 40; done++) {
            queue.complete(queue.releases.get(done));
            queue.run(EXCHANGES_MS);
            assertThat(queue.releases).hasSize(Math.min(40, done + 4));
            assertThat(queue.slotsInFlight()).isEqualTo(Math.min(3, 39 - done));
        }
    }

    @Test
    void a_slot_is_kept_while_nobody_else_waits() {
        PartitionsHarness queue = harness(2, 2, rules(2, 2));
        String key = key(1, 0, 2);
        for (int i = 0; i < 5; i++) {
            queue.offer(key, null, 1);
        }
        queue.run(EXCHANGES_MS);
        queue.complete(queue.releases.get(0));
        queue.run(2); // without an exchange of messages
        assertThat(queue.releases).hasSize(3);
    }

    @Test
    void idle_slots_of_a_partition_are_returned_if_another_waits() {
        PartitionsHarness queue = harness(3, 2, rules(4, 4));
        for (int i = 0; i < 4; i++) {
            queue.offer(key(0, 0, 2), null, 1);
        }
        queue.run(EXCHANGES_MS);
        List.copyOf(queue.releases).forEach(queue::complete);
        queue.run(60_000);
        queue.offer(key(1, 0, 2), null, 4);
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(5);
    }

    @Test
    void a_costly_request_gets_slots_that_are_scattered_and_is_not_passed_for_ever() {
        PartitionsHarness queue = harness(4, 3, rules(6, 6));
        for (int i = 0; i < 12; i++) {
            queue.offer(key(i % 2, i, 3), null, 1);
        }
        queue.run(EXCHANGES_MS);
        queue.offer(key(2, 0, 3), "", 6);
        int done = 0;
        while (queue.releases.stream().noneMatch(release -> release.cost() == 6)) {
            assertThat(done).isLessThan(20);
            queue.offer(key(done % 2, done, 3), null, 1); // more keep arriving
            queue.run(EXCHANGES_MS);
            if (done < queue.releases.size()) {
                queue.complete(queue.releases.get(done++));
            }
            queue.run(EXCHANGES_MS);
        }
    }

    @Test
    void costly_requests_on_all_partitions_do_not_block_each_other() {
        PartitionsHarness queue = harness(5, 4, rules(6, 6));
        for (int i = 0; i < 16; i++) {
            queue.offer(key(i % 4, i / 4, 4), null, 4);
        }
        for (int done = 0; done < 16; done++) {
            queue.run(EXCHANGES_MS);
            assertThat(queue.releases).hasSizeGreaterThan(done);
            queue.complete(queue.releases.get(done));
        }
    }

    @Test
    void higher_priorities_on_another_partition_go_first() {
        QueueRules rules = rules(2, 2).toBuilder()
                .tiers(Map.of("gold", new TierShare(1, 1)))
                .build();
        PartitionsHarness queue = harness(6, 2, rules);
        for (int i = 0; i < 10; i++) {
            queue.offer(key(0, i, 2), "free", 1);
        }
        queue.run(EXCHANGES_MS);
        for (int i = 0; i < 3; i++) {
            queue.offer(key(1, i, 2), "gold", 1);
        }
        queue.run(EXCHANGES_MS);
        for (int done = 0; done < 3; done++) {
            queue.complete(queue.releases.get(done));
            queue.run(EXCHANGES_MS);
            assertThat(queue.releases.get(done + 2).tier()).isEqualTo("gold");
        }
    }

    @Test
    void buckets_keep_their_own_slots() {
        PartitionsHarness queue = harness(7, 3, rules(10, 2));
        for (int i = 0; i < 12; i++) {
            queue.offer("k" + i % 3, null, 1);
        }
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(6);
    }

    /** Their key has lent its slots to another one in the meantime. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1})
    void requests_that_are_to_be_repeated_get_all_slots_that_they_need_at_once(long cost) {
        int most = 40; // more than one for each exchange of messages
        PartitionsHarness queue = harness(14, 2, rules(most, most));
        for (int i = 0; i < most; i++) {
            queue.offer(key(0, 0, 2), null, cost);
        }
        queue.run(EXCHANGES_MS);
        List<Release> first = List.copyOf(queue.releases);
        assertThat(first).hasSize(most);
        for (int i = 0; i < most; i++) {
            queue.offer(key(1, 0, 2), null, cost);
        }
        first.forEach(release -> queue.complete(release, Acknowledgement.Result.RETRY));
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(2 * most);
        List.copyOf(queue.releases.subList(most, 2 * most)).forEach(queue::complete);
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(3 * most);
    }

    /** They cannot be evicted. */
    @Test
    void requests_that_are_to_be_repeated_count_for_the_capacity_of_all_priorities() {
        QueueRules rules = rules(3, 3).toBuilder()
                .total(QueueTotal.ofInFlight(3, 3))
                .tiers(Map.of("gold", new TierShare(1, 1)))
                .build();
        PartitionsHarness queue = harness(15, 1, rules);
        for (int i = 0; i < 3; i++) {
            queue.offer("k0", "free", 1);
        }
        queue.run(EXCHANGES_MS);
        List.copyOf(queue.releases).forEach(release -> queue.complete(release, Acknowledgement.Result.RETRY));
        queue.run(EXCHANGES_MS / 10);
        queue.offer("k0", "gold", 1);
        Decision denied = queue.decisions.get(queue.decisions.size() - 1);
        assertThat(denied.reason()).isEqualTo(Reason.QUEUE_FULL);
    }

    @Test
    void a_full_key_is_to_ask_again_after_the_next_grant() {
        QueueRules rules = rules(1, 10).toBuilder().capacity(1).build();
        PartitionsHarness queue = harness(13, 2, rules);
        queue.offer(key(0, 0, 2), null, 1);
        queue.run(EXCHANGES_MS);
        queue.offer(key(1, 0, 2), null, 1);
        queue.offer(key(1, 0, 2), null, 1);
        queue.run(EXCHANGES_MS);
        Decision denied = queue.decisions.get(queue.decisions.size() - 1);
        assertThat(denied.reason()).isEqualTo(Reason.QUEUE_FULL);
        assertThat(denied.retryAfterMs()).isGreaterThanOrEqualTo(TotalLedger.REPORT_INTERVAL_MS);
    }

    @Test
    void a_lower_bound_evicts_nobody_and_lends_nothing_until_enough_ended() {
        PartitionsHarness queue = harness(8, 3, rules(9, 9));
        for (int i = 0; i < 30; i++) {
            queue.offer(key(i % 3, i, 3), null, 1);
        }
        queue.run(EXCHANGES_MS);
        assertThat(queue.slotsInFlight()).isEqualTo(9);
        queue.rules = rules(4, 9).toBuilder().version(2).build();
        queue.refresh();
        queue.run(EXCHANGES_MS);
        assertThat(queue.slotsInFlight()).isEqualTo(9);
        for (int done = 0; done < 20; done++) {
            queue.complete(queue.releases.get(done));
            queue.run(EXCHANGES_MS);
            assertThat(queue.slotsInFlight()).isEqualTo(Math.max(4, 8 - done));
        }
    }

    @Test
    void the_bound_can_be_removed_and_added_while_requests_are_in_flight() {
        QueueRules bound = rules(4, 100);
        PartitionsHarness queue = harness(9, 3, bound);
        for (int i = 0; i < 60; i++) {
            queue.offer(key(i % 3, i, 3), null, 1);
        }
        queue.run(EXCHANGES_MS);
        queue.rules = bound.toBuilder()
                .version(2)
                .total(null)
                .inFlight(InFlightRules.of(3))
                .build();
        queue.refresh();
        queue.run(EXCHANGES_MS);
        long without = queue.slotsInFlight();
        assertThat(without).isEqualTo(60);
        for (int i = 0; i < 60; i++) {
            queue.offer(key(i % 3, i, 3), null, 1);
        }
        queue.rules = bound.toBuilder().version(3).build();
        queue.refresh();
        queue.run(EXCHANGES_MS);
        int done = 0;
        for (; done < 100; done++) {
            queue.complete(queue.releases.get(done));
            queue.run(EXCHANGES_MS);
            assertThat(queue.slotsInFlight()).isLessThanOrEqualTo(Math.max(4, 120 - done));
            if (done >= 60) {
                assertThat(queue.slotsInFlight()).isEqualTo(4);
            }
        }
    }

    @Test
    void a_rate_and_slots_apply_together() {
        QueueRules rules = rules(5, 5).toBuilder()
                .total(new QueueTotal(10, 1_000, 100_000).withInFlight(5))
                .build();
        PartitionsHarness queue = harness(10, 3, rules);
        for (int i = 0; i < 60; i++) {
            queue.offer(key(i % 3, i, 3), null, 1);
        }
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(5);
        for (int done = 0; done < 55; done++) {
            queue.complete(queue.releases.get(done));
            queue.run(EXCHANGES_MS);
            assertThat(queue.releases).hasSize(done + 6);
        }
        assertThat(queue.most(1_000_000_000)).isLessThanOrEqualTo(11);
    }

    @Test
    void a_restart_of_all_partitions_keeps_what_is_lent() {
        PartitionsHarness queue = harness(11, 2, rules(2, 2));
        queue.offer(key(0, 0, 2), null, 2);
        queue.run(EXCHANGES_MS);
        queue.restart(0);
        queue.restart(1);
        queue.offer(key(1, 0, 2), null, 2);
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(1);
        queue.complete(queue.releases.get(0));
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(2);
    }

    @Test
    void a_deleted_queue_returns_its_slots() {
        QueueRules rules = rules(2, 2);
        PartitionsHarness queue = harness(12, 2, rules);
        queue.offer(key(1, 0, 2), null, 2);
        queue.run(EXCHANGES_MS);
        queue.rules = null;
        queue.refresh();
        queue.complete(queue.releases.get(0));
        queue.run(EXCHANGES_MS);
        assertThat(queue.queues.get(1)).isEmpty();
        assertThat(queue.ledgers.get(0)).isEmpty();
        queue.rules = rules;
        queue.offer(key(0, 0, 2), null, 2);
        queue.run(EXCHANGES_MS);
        assertThat(queue.releases).hasSize(2);
    }

    /** Grants that the ledger sent to the removed queue arrive at the new one, some of them twice. */
    @ParameterizedTest
    @MethodSource("seeds")
    void a_queue_that_is_created_again_does_not_use_earlier_loans(int seed) {
        QueueRules rules = rules(4, 4);
        PartitionsHarness queue = harness(seed, 2, rules);
        queue.repeatsMessages = true;
        for (int i = 0; i < 30; i++) {
            for (int partition = 0; partition < 2; partition++) {
                queue.offer(key(partition, i % 3, 2), null, 1 + queue.random.nextInt(4));
            }
            for (int ms = queue.random.nextInt(400); ms > 0; ms -= 10) {
                queue.run(10);
                assertThat(queue.slotsInFlight()).isLessThanOrEqualTo(4);
            }
            queue.rules = null;
            queue.refresh();
            List.copyOf(queue.releases).forEach(queue::complete);
            while (queue.queues.stream().anyMatch(stored -> !stored.isEmpty())) {
                queue.run(10);
                List.copyOf(queue.releases).forEach(queue::complete);
            }
            queue.releases.clear();
            queue.rules = rules;
        }
    }

    private static int[] seeds() {
        return IntStream.range(0, Effort.times(60)).toArray();
    }

    /** A pool of workers that complete each release after a random time, and what it has checked so far. */
    private static final class Load {
        final Random random;
        final PartitionsHarness queue;
        final int partitions;
        final Map<Integer, Long> endsMs = new TreeMap<>(); // by the index of the release
        int seen;
        long most;
        long mostAllowed; // the bound, or what is still in flight since it was higher
        long changedMs = T0;
        long offered;

        Load(int seed, boolean hasRate) {
            random = new Random(seed);
            partitions = 1 + random.nextInt(4);
            most = 1 + random.nextInt(8);
            mostAllowed = most;
            queue = harness(seed, partitions, TotalInFlightTest.rules(most, 1 + random.nextInt(8)));
            if (hasRate) {
                queue.rules = withTotal(new QueueTotal(20, 1_000, 100_000).withInFlight(most));
                for (int i = 0; i < partitions; i++) {
                    queue.restart(i);
                }
            }
            queue.repeatsMessages = random.nextInt(3) == 0;
            queue.minDelayMs = random.nextInt(100);
        }

        private QueueRules withTotal(QueueTotal total) {
            QueueRules rules = queue.rules;
            return rules.toBuilder()
                    .version(rules.version() + 1)
                    .total(total)
                    .tiers(Map.of("gold", new TierShare(random.nextInt(2), 1 + random.nextInt(3))))
                    .build();
        }

        void offer() {
            queue.offer(
                    "k" + random.nextInt(6), random.nextInt(3) == 0 ? "gold" : "free", 1 + random.nextInt((int) most));
            Decision decision = queue.decisions.get(queue.decisions.size() - 1);
            offered += decision.outcome() == Outcome.QUEUED ? 1 : 0; // others cost more than a bucket has slots
        }

        void changeBound() {
            most = 1 + random.nextInt(8);
            mostAllowed = Math.max(most, mostAllowed);
            changedMs = queue.nowMs;
            queue.rules = withTotal(new QueueTotal(
                    queue.rules.total().rate(),
                    OptionalLong.of(most),
                    queue.rules.total().capacity()));
            queue.refresh();
        }

        /** Runs for some time, in which workers complete what ends. */
        void run(long ms, int longestMs) {
            for (long until = queue.nowMs + ms; queue.nowMs < until; ) {
                queue.run(1 + random.nextInt(50));
                for (; seen < queue.releases.size(); seen++) {
                    endsMs.put(seen, queue.nowMs + random.nextInt(longestMs));
                }
                check();
                for (int release : List.copyOf(endsMs.keySet())) {
                    if (endsMs.get(release) <= queue.nowMs) {
                        endsMs.remove(release);
                        queue.complete(queue.releases.get(release));
                        check();
                    }
                }
            }
        }

        void check() {
            long slots = queue.slotsInFlight();
            if (queue.nowMs - changedMs > EXCHANGES_MS) { // all partitions have the new bound
                mostAllowed = Math.max(most, Math.min(mostAllowed, slots));
            }
            assertThat(slots).as("slots in flight at %d", queue.nowMs - T0).isLessThanOrEqualTo(mostAllowed);
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void slots_in_flight_never_exceed_the_total_and_all_requests_are_released(int seed) {
        Load load = new Load(seed, seed % 3 == 0);
        for (int step = 0; step < 60; step++) {
            for (int i = load.random.nextInt(4); i > 0; i--) {
                load.offer();
            }
            load.run(load.random.nextInt(2_000), 1_000);
            if (load.random.nextInt(4) == 0) {
                load.queue.restart(load.random.nextInt(load.partitions));
            }
            if (load.random.nextInt(8) == 0) {
                load.changeBound();
            }
        }
        load.run(20_000 + 1_000 * load.offered, 1_000);
        assertThat(load.queue.releases.size()).isEqualTo(load.offered);
        assertThat(load.queue.slotsInFlight()).isZero();
    }

    /** A request that waits could leave if there were slots enough for the largest one. */
    @ParameterizedTest
    @MethodSource("seeds")
    void slots_are_not_idle_for_longer_than_an_exchange_of_messages_while_requests_wait(int seed) {
        Random random = new Random(seed);
        int partitions = 1 + random.nextInt(4);
        int most = 1 + random.nextInt(6);
        PartitionsHarness queue = harness(seed, partitions, rules(most, most));
        queue.repeatsMessages = random.nextBoolean();
        Set<Integer> ended = new HashSet<>();
        int offered = 0;
        for (int step = 0; step < 100; step++) {
            for (int i = random.nextInt(5); i > 0; i--, offered++) {
                queue.offer("k" + random.nextInt(20), random.nextBoolean() ? "gold" : "free", 1);
            }
            for (int i = random.nextInt(most + 1); i > 0 && !queue.releases.isEmpty(); i--) {
                int release = random.nextInt(queue.releases.size());
                if (ended.add(release)) {
                    queue.complete(queue.releases.get(release));
                }
            }
            if (random.nextInt(10) == 0) {
                queue.restart(random.nextInt(partitions));
            }
            queue.run(EXCHANGES_MS);
            assertThat(queue.slotsInFlight()).isEqualTo(Math.min(most, offered - ended.size()));
        }
    }
}
