package dev.weir.shape.backlog;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.BucketState;
import dev.weir.shape.HeapQueueStore;
import dev.weir.shape.QueueEffect;
import dev.weir.shape.QueueHarness;
import dev.weir.shape.QueueMessage;
import dev.weir.shape.QueueState;
import dev.weir.shape.Shaper;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.SlotRate;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.total.OutflowState;
import dev.weir.shape.total.SlotContenders;
import dev.weir.shape.total.SlotLedger;
import dev.weir.shape.total.SlotReport;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests a queue with a total, on one or several partitions, whose messages are delayed or lost. */
class QueueTotalTest {

    private static final long T0 = 1_700_000_000_000L;

    /** Partitions, the messages between them, and what they release. */
    public static final class World {
        final Random random;
        final int maxDelayMs;
        final int hotKeys;
        final List<Shaper> shapers = new ArrayList<>();
        final List<Map<BucketId, BucketState>> saved = new ArrayList<>();
        final List<Map<BucketId, QueueStore>> tables = new ArrayList<>();
        final List<Map<String, OutflowState>> ledgers = new ArrayList<>();
        final List<Map<String, QueueState>> queues = new ArrayList<>();
        final List<HeapQueueStore<TimerKey, BucketId>> timers = new ArrayList<>();
        final PriorityQueue<Message> underWay =
                new PriorityQueue<>(Comparator.comparingLong(Message::atMs).thenComparingLong(Message::order));
        final Map<Integer, Long> arrivals = new HashMap<>();
        final List<Release> releases = new ArrayList<>();
        final List<Decision> decisions = new ArrayList<>();
        final Map<Integer, Long> aheadMs = new HashMap<>(); // of the clock of a partition's broker
        final Set<Integer> paused = new HashSet<>();
        int minDelayMs;
        QueueRules rules;
        boolean losesMessages;
        boolean repeatsMessages;
        long nowMs = T0;
        long orders;
        long requests;
        long mostHot;

        private record Message(long atMs, long order, int partition, QueueMessage content) {}

        World(long seed, int partitions, int maxDelayMs, QueueRules rules) {
            this(seed, partitions, maxDelayMs, rules, 1_000);
        }

        World(long seed, int partitions, int maxDelayMs, QueueRules rules, int hotKeys) {
            this.hotKeys = hotKeys;
            random = new Random(seed);
            this.maxDelayMs = maxDelayMs;
            this.rules = rules;
            for (int i = 0; i < partitions; i++) {
                saved.add(new HashMap<>());
                tables.add(new HashMap<>());
                ledgers.add(new HashMap<>());
                queues.add(new HashMap<>());
                timers.add(new HeapQueueStore<>());
                shapers.add(shaper(i));
            }
        }

        private Shaper shaper(int partition) {
            Shaper.Tables own = new Shaper.Tables() {
                @Override
                public QueueStore of(BucketId bucket) {
                    return tables.get(partition)
                            .computeIfAbsent(
                                    bucket,
                                    id -> new QueueStore(
                                            new HeapQueueStore<>(), new HeapQueueStore<>(), new HeapQueueStore<>()));
                }

                @Override
                public BucketState load(BucketId bucket) {
                    return saved.get(partition).get(bucket);
                }

                @Override
                public KeyValueTable<TimerKey, BucketId> timers() {
                    return timers.get(partition);
                }

                @Override
                public IdempotencyCache idempotencyCache() {
                    return IdempotencyCache.inMemory(0, 0);
                }

                @Override
                public void readStates(Consumer<QueueEffect.StateStored> read) {
                    queues.get(partition).forEach((id, state) -> read.accept(new QueueEffect.QueueStored(id, state)));
                    saved.get(partition).forEach((id, state) -> read.accept(new QueueEffect.BucketStored(id, state)));
                    ledgers.get(partition).forEach((id, is) -> read.accept(new QueueEffect.LedgerStored(id, is)));
                }

                @Override
                public void readWaiting(BucketId bucket, BiConsumer<QueueStore.Place, Slot.Waiting> requests) {
                    throw new IllegalStateException("few wait in each bucket, so that their states list them");
                }
            };
            return new Shaper(id -> rules, own, new Shaper.Messaging(partition, 100), hotKeys);
        }

        private void carryOut(int partition, List<QueueEffect> effects) {
            for (QueueEffect effect : effects) {
                if (effect instanceof QueueEffect.Decided decided) {
                    decisions.add(decided.decision());
                } else if (effect instanceof QueueEffect.Released released) {
                    releases.add(released.release());
                } else if (effect instanceof QueueEffect.BucketStored stored) {
                    QueueHarness.putOrRemove(saved.get(partition), stored.id(), stored.state());
                } else if (effect instanceof QueueEffect.QueueStored stored) {
                    QueueHarness.putOrRemove(queues.get(partition), stored.queue(), stored.state());
                } else if (effect instanceof QueueEffect.LedgerStored stored) {
                    QueueHarness.putOrRemove(ledgers.get(partition), stored.queue(), stored.granted());
                } else if (effect instanceof QueueEffect.Sent sent) {
                    send(
                            sent.message() instanceof QueueMessage.Granted granted
                                    ? granted.grant().place().partition()
                                    : 0,
                            sent.message());
                }
            }
        }

        /** Puts changed rules in force. */
        void refresh() {
            for (int i = 0; i < shapers.size(); i++) {
                carryOut(i, shapers.get(i).refresh(nowMs * MS));
            }
        }

        private void send(int partition, QueueMessage content) {
            if (!losesMessages || random.nextInt(10) > 0) {
                long atMs = nowMs + minDelayMs + random.nextInt(maxDelayMs);
                arrivals.merge(partition, atMs, Math::max); // messages to one partition arrive in order
                underWay.add(new Message(arrivals.get(partition), orders++, partition, content));
                if (repeatsMessages && random.nextInt(3) == 0) {
                    underWay.add(new Message(atMs + random.nextInt(1_000), orders++, partition, content));
                }
            }
        }

        /** Withdraws a request of a key. */
        void cancel(String key, String id) {
            send(key, RequestKind.CANCEL, id, null, "c", 1);
        }

        /** Sends a request. A key is always on the same partition. */
        void offer(String key, String tier, long cost) {
            offer(key, tier, "c", cost);
        }

        void offer(String key, String tier, String client, long cost) {
            send(key, RequestKind.CONSUME, "r" + requests++, tier, client, cost);
        }

        private void send(String key, RequestKind kind, String id, String tier, String client, long cost) {
            Request request = Request.builder(id, client)
                    .kind(kind)
                    .tier(tier)
                    .cost(cost)
                    .attributes(Map.of("k", key))
                    .source(0, 0)
                    .build();
            Admission admission =
                    Admission.of(request, "q", new PolicyVersion("p", 1), null).withKey(rules.keyOf(request));
            int partition = Math.floorMod(key.hashCode(), shapers.size());
            carryOut(
                    partition,
                    shapers.get(partition).admit(admission, requests, nanos(partition) / MS, nanos(partition)));
        }

        /** Restarts a partition, which loses what it has in memory. */
        void restart(int partition) {
            shapers.set(partition, shaper(partition));
        }

        private long nanos(int partition) {
            return (nowMs + aheadMs.getOrDefault(partition, 0L)) * MS;
        }

        void run(long ms) {
            for (long until = nowMs + ms; nowMs < until; nowMs = nextEventMs(until)) {
                List<Message> late = new ArrayList<>();
                while (!underWay.isEmpty() && underWay.peek().atMs <= nowMs) {
                    Message message = underWay.remove();
                    Shaper to = shapers.get(message.partition);
                    if (paused.contains(message.partition)) {
                        late.add(message);
                    } else {
                        carryOut(message.partition, to.receive(message.content, 0, nowMs, nanos(message.partition)));
                    }
                }
                underWay.addAll(late);
                for (int i = 0; i < shapers.size(); i++) {
                    Shaper shaper = shapers.get(i);
                    mostHot = Math.max(mostHot, shaper.hotKeys());
                    for (int turns = 0; shaper.dueNanos() <= nanos(i) && turns < 100 && !paused.contains(i); turns++) {
                        carryOut(i, shaper.tick(nanos(i), 5_000));
                    }
                }
            }
        }

        /** Returns the next millisecond at which a message arrives or a partition has work to do. */
        private long nextEventMs(long untilMs) {
            long nextMs = untilMs;
            if (!underWay.isEmpty()) {
                nextMs = Math.min(nextMs, underWay.peek().atMs);
            }
            for (int i = 0; i < shapers.size(); i++) {
                long dueNanos = shapers.get(i).dueNanos();
                if (dueNanos < Long.MAX_VALUE && !paused.contains(i)) {
                    nextMs = Math.min(nextMs, -Math.floorDiv(-dueNanos, MS) - aheadMs.getOrDefault(i, 0L));
                }
            }
            return Math.max(nowMs + 1, nextMs);
        }

        long released(String tier) {
            return releases.stream()
                    .filter(release -> tier.equals(release.tier()))
                    .mapToLong(Release::cost)
                    .sum();
        }

        /** Returns what was released in an interval, in ms since the start. */
        long releasedBetween(long fromMs, long untilMs) {
            return releases.stream()
                    .filter(release -> release.releaseAtNanos() >= (T0 + fromMs) * MS
                            && release.releaseAtNanos() < (T0 + untilMs) * MS)
                    .mapToLong(Release::cost)
                    .sum();
        }

        /**
         * Returns the most that was released in any interval of some length, with the whole cost of a request at
         * its time.
         */
        long most(long nanos) {
            List<Release> inOrder = new ArrayList<>(releases);
            inOrder.sort(Comparator.comparingLong(Release::releaseAtNanos));
            long most = 0;
            long sum = 0;
            for (int first = 0, next = 0; next < inOrder.size(); next++) {
                sum += inOrder.get(next).cost();
                while (inOrder.get(next).releaseAtNanos() - inOrder.get(first).releaseAtNanos() >= nanos) {
                    sum -= inOrder.get(first++).cost();
                }
                most = Math.max(most, sum);
            }
            return most;
        }
    }

    private static QueueRules rules(long limit, QueueTotal total, Map<String, TierShare> tiers) {
        return QueueRules.builder("q", limit, 1_000)
                .capacity(100_000)
                .tiers(tiers)
                .key(List.of("k"))
                .total(total)
                .build();
    }

    private static QueueTotal total(long limit) {
        return new QueueTotal(limit, 1_000, QueueRules.MAX_CAPACITY);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 12})
    void all_keys_together_use_the_total_but_never_exceed_it(int partitions) {
        for (long seed = 0; seed < 4; seed++) {
            int delayMs = partitions == 1 ? 1 : 60 + 60 * (int) seed;
            World world = new World(seed, partitions, delayMs, rules(20, total(200), Map.of()));
            for (int i = 0; i < 12_000; i++) {
                world.offer("k" + world.random.nextInt(60), null, 1);
            }
            world.run(12_000);
            assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(200);
            assertThat(world.releasedBetween(2_000, 12_000))
                    .as("seed %d, in 10 s of 200/s", seed)
                    .isBetween(1_950L, 2_000L);
        }
    }

    @Test
    void a_partition_forgets_what_waited_elsewhere_once_it_is_not_told_any_more() {
        QueueTotal few = new QueueTotal(100, 1_000, 50);
        World world = new World(1, 2, 50, rules(10, few, Map.of()));
        for (int i = 0; i < 50; i++) {
            world.offer("k0", null, 1);
        }
        world.offer("k1", null, 1); // on the other partition, which knows of nothing else yet
        world.run(1_000);
        world.offer("k1", null, 1);
        assertThat(world.decisions.get(51).outcome()).isEqualTo(Outcome.QUEUED);
        world.run(10_000);
        assertThat(world.releases).hasSize(52);
        world.offer("k1", null, 1);
        assertThat(world.decisions.get(52).outcome()).isEqualTo(Outcome.QUEUED);
    }

    @Test
    void a_partition_without_slots_is_told_what_waits_elsewhere() {
        QueueTotal few = new QueueTotal(10, 1_000, 200);
        World world = new World(1, 2, 50, rules(100, few, Map.of("gold", new TierShare(1, 1))));
        for (int i = 0; i < 190; i++) {
            world.offer("k0", "gold", 1);
        }
        world.run(500);
        for (int i = 0; i < 20; i++) {
            world.offer("k1", "silver", 1); // on the other partition, which gets no slots as long as gold waits
            world.run(200);
        }
        assertThat(world.decisions.subList(190, world.decisions.size()))
                .filteredOn(decision -> decision.outcome() == Outcome.QUEUED)
                .hasSizeLessThanOrEqualTo(60);
        for (int i = 0; i < 150; i++) {
            world.offer("k1", "silver", 1);
        }
        assertThat(world.decisions.get(world.decisions.size() - 1).reason()).isEqualTo(Reason.QUEUE_FULL);
    }

    @Test
    void a_faster_total_does_not_wait_for_what_was_leased_at_the_old_rate() {
        QueueTotal slow = new QueueTotal(1, 3_600_000, 1_000);
        World world = new World(1, 1, 1, rules(100, slow, Map.of()));
        for (int i = 0; i < 20; i++) {
            world.offer("k" + i, null, 1);
        }
        world.run(2_000);
        assertThat(world.releases).hasSize(1);
        world.rules = withTotal(world.rules, 2, total(100));
        world.refresh();
        world.run(2_000);
        assertThat(world.releases).hasSize(20);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(100);
    }

    @Test
    void a_request_of_cost_0_leaves_while_other_partitions_use_the_total() {
        World world = new World(1, 2, 60, rules(100, total(10), Map.of()));
        for (int i = 0; i < 500; i++) {
            world.offer("k1", null, 1); // on one partition with k3, k0 on the other
            world.offer("k3", null, 1);
        }
        world.run(2_000);
        world.offer("k0", null, 0);
        world.run(5_000);
        assertThat(world.releases).extracting(Release::cost).contains(0L);
    }

    @Test
    void the_total_and_the_pace_of_keys_hold_despite_delays_losses_and_restarts() {
        for (long seed = 0; seed < Effort.times(4); seed++) {
            Random random = new Random(seed);
            int partitions = 1 + random.nextInt(6);
            Map<String, TierShare> tiers = Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3));
            QueueRules rules = QueueRules.builder("q", 5, 1_000)
                    .burst(2)
                    .capacity(50)
                    .maxWaitMs(4_000)
                    .lookAheadMs(random.nextInt(2) * 100)
                    .tiers(tiers)
                    .key(List.of("k"))
                    .total(total(100))
                    .build();
            World world = new World(seed, partitions, 1 + random.nextInt(400), rules, 1 + random.nextInt(20));
            world.losesMessages = random.nextBoolean();
            long before = world.requests;
            for (int step = 0; step < 400; step++) {
                for (int i = random.nextInt(12); i > 0; i--) {
                    String tier = List.of("gold", "silver", "free").get(random.nextInt(3));
                    world.offer("k" + random.nextInt(40), tier, 1 + (random.nextInt(10) == 0 ? random.nextInt(4) : 0));
                }
                if (random.nextInt(80) == 0) {
                    world.restart(random.nextInt(partitions));
                }
                world.run(1 + random.nextInt(40));
            }
            world.losesMessages = false;
            world.run(20_000);
            // a request's cost counts at its first slot, so one at the end of the interval may extend beyond it
            assertThat(world.most(1_000 * MS)).as("seed %d", seed).isLessThanOrEqualTo(100 + 3);
            assertThat(world.most(100 * MS)).as("seed %d", seed).isLessThanOrEqualTo(10 + 3);
            Map<Map<String, String>, List<Release>> byKey = new HashMap<>();
            world.releases.forEach(release -> byKey.computeIfAbsent(release.key(), key -> new ArrayList<>())
                    .add(release));
            byKey.forEach((key, all) -> assertPace(all, rules));
            long queued = world.decisions.stream()
                    .filter(decision -> decision.reason() == Reason.SHAPED)
                    .count();
            long ended = world.releases.size()
                    + world.decisions.stream()
                            .filter(decision -> decision.endsWait())
                            .count();
            assertThat(ended)
                    .as("seed %d: of %d", seed, world.requests - before)
                    .isEqualTo(queued);
        }
    }

    private static void assertPace(List<Release> ofKey, QueueRules rules) {
        Pacing pacing = rules.pacing();
        Pacing.Arrival arrival = pacing.fresh(Long.MIN_VALUE / 4);
        long last = Long.MIN_VALUE;
        for (Release release : ofKey) {
            assertThat(release.releaseAtNanos()).isGreaterThanOrEqualTo(last);
            last = release.releaseAtNanos();
            assertThat(pacing.earliestNanos(arrival, release.cost(), last)).isEqualTo(last);
            arrival = pacing.released(arrival, release.cost(), last);
        }
    }

    @Test
    void higher_priorities_go_first_and_weights_are_kept_across_partitions() {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        World world = new World(1, 8, 150, rules(50, total(1_000), tiers));
        for (int key = 0; key < 40; key++) {
            for (int i = 0; i < 2_000; i++) {
                world.offer("silver" + key, "silver", 1);
                world.offer("bronze" + key, "bronze", 1);
            }
        }
        world.run(6_000);
        double share = (double) world.released("silver") / world.released("bronze");
        assertThat(share).isBetween(2.7, 3.3);
        long begun = world.nowMs - T0;
        for (int key = 0; key < 40; key++) {
            for (int i = 0; i < 400; i++) {
                world.offer("gold" + key, "gold", 1);
            }
        }
        world.run(5_000);
        long afterTerm = begun + 1_000;
        long gold = world.releases.stream()
                .filter(release -> "gold".equals(release.tier()))
                .filter(release -> release.releaseAtNanos() >= (T0 + afterTerm) * MS)
                .filter(release -> release.releaseAtNanos() < (T0 + afterTerm + 4_000) * MS)
                .count();
        assertThat(gold)
                .as("of what was released from a second after gold arrived")
                .isGreaterThanOrEqualTo(world.releasedBetween(afterTerm, afterTerm + 4_000) * 98 / 100);
    }

    @Test
    void inside_a_partition_the_order_is_exact() {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        World world = new World(1, 1, 1, rules(1_000, total(10), tiers));
        for (int key = 0; key < 3; key++) {
            for (int i = 0; i < 20; i++) {
                world.offer("g" + key, "gold", 1);
                world.offer("s" + key, "silver", 1);
                world.offer("b" + key, "bronze", 1);
            }
        }
        world.run(16_000);
        List<String> order = world.releases.stream().map(Release::tier).toList();
        assertThat(order.subList(0, 60)).containsOnly("gold");
        for (int i = 60; i + 4 <= 140; i += 4) {
            assertThat(order.subList(i, i + 4)).containsExactlyInAnyOrder("silver", "silver", "silver", "bronze");
        }
        List<String> goldKeys = world.releases.subList(0, 60).stream()
                .map(release -> release.key().get("k"))
                .toList();
        for (int i = 0; i + 3 <= 60; i += 3) {
            assertThat(goldKeys.subList(i, i + 3)).containsExactlyInAnyOrder("g0", "g1", "g2");
        }
    }

    @Test
    void a_tier_of_one_key_keeps_its_weight() {
        Map<String, TierShare> tiers = Map.of("silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        World world = new World(1, 1, 1, rules(1_000, total(10), tiers));
        for (int i = 0; i < 100; i++) {
            world.offer("s", "silver", 1);
            world.offer("b", "bronze", 1);
        }
        world.run(12_000);
        List<String> order = world.releases.stream().map(Release::tier).toList();
        for (int i = 0; i + 4 <= 100; i += 4) {
            assertThat(order.subList(i, i + 4)).containsExactlyInAnyOrder("silver", "silver", "silver", "bronze");
        }
    }

    /** Fifty times as many keys contend for slots as fit on the heap. */
    @Test
    void keys_that_wait_for_a_slot_are_bounded_on_the_heap_and_keep_their_order() {
        Map<String, TierShare> tiers =
                Map.of("gold", new TierShare(1, 1), "silver", new TierShare(0, 3), "bronze", new TierShare(0, 1));
        World world = new World(1, 2, 60, rules(20, total(200), tiers), 20);
        for (int i = 0; i < 3_000; i++) {
            world.offer("s" + i % 1_000, "silver", 1);
            world.offer("b" + i % 1_000, "bronze", 1);
        }
        world.run(5_000);
        double share = (double) world.released("silver") / world.released("bronze");
        assertThat(share).isBetween(2.7, 3.3);
        for (int i = 0; i < 400; i++) {
            world.offer("g" + i % 200, "gold", 1);
        }
        world.restart(1);
        world.run(3_500);
        assertThat(world.released("gold")).isEqualTo(400);
        assertThat(world.releasedBetween(6_000, 7_000)).isEqualTo(goldBetween(world, 6_000, 7_000));
        world.run(30_000);
        assertThat(world.releases).hasSize(6_400);
        assertThat(world.releasedBetween(2_000, 32_000)).isGreaterThanOrEqualTo(30 * 200 * 97 / 100);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(world.mostHot).isBetween(20L, 23L);
        assertThat(world.saved).allSatisfy(states -> assertThat(states).isEmpty());
        assertThat(world.timers).allSatisfy(timers -> assertThat(timers.entries).isEmpty());
        for (String tier : List.of("silver", "bronze")) {
            assertTurns(world.releases.stream()
                    .filter(release -> release.tier().equals(tier))
                    .toList());
        }
    }

    private static long goldBetween(World world, long fromMs, long untilMs) {
        return world.releases.stream()
                .filter(release -> release.tier().equals("gold"))
                .filter(release -> release.releaseAtNanos() >= (T0 + fromMs) * MS)
                .filter(release -> release.releaseAtNanos() < (T0 + untilMs) * MS)
                .count();
    }

    /** Of three releases of each key, the first ones of all keys precede the third ones. */
    private static void assertTurns(List<Release> inOrder) {
        Map<Map<String, String>, Integer> seen = new HashMap<>();
        int thirds = 0;
        for (Release release : inOrder) {
            int times = seen.merge(release.key(), 1, Integer::sum);
            assertThat(times == 1 && thirds > 0)
                    .as("%s is first released after %d keys were released three times", release.key(), thirds)
                    .isFalse();
            thirds += times == 3 ? 1 : 0;
        }
    }

    @Test
    void a_request_expires_in_time_in_a_key_that_waits_for_a_slot_off_the_heap() {
        QueueRules rules = QueueRules.builder("q", 20, 1_000)
                .capacity(100)
                .maxWaitMs(2_000)
                .key(List.of("k"))
                .total(total(10))
                .build();
        World world = new World(1, 1, 1, rules, 5);
        for (int i = 0; i < 300; i++) {
            world.offer("k" + i, i % 2 == 0 ? "free" : "paid", 1);
        }
        world.run(2_200);
        assertThat(world.mostHot).isLessThanOrEqualTo(7);
        List<Decision> ends =
                world.decisions.stream().filter(Decision::endsWait).toList();
        assertThat(ends).hasSizeGreaterThan(270).allSatisfy(end -> assertThat(end.decidedAtMs())
                .isBetween(T0 + 2_000, T0 + 2_150));
        assertThat(ends.size() + world.releases.size()).isEqualTo(300);
    }

    /** The clock of the broker was an hour ahead while all requests arrived. */
    @Test
    void time_is_set_back_for_keys_that_wait_for_a_slot_off_the_heap_too() {
        World world = new World(1, 1, 1, rules(1, total(20), Map.of()), 5);
        world.aheadMs.put(0, 3_600_000L);
        for (int i = 0; i < 600; i++) {
            world.offer("k" + i % 200, i % 2 == 0 ? "free" : "paid", 1);
        }
        world.run(3_000);
        world.aheadMs.put(0, 0L);
        world.carryOut(0, world.shapers.get(0).stepBack(world.nowMs * MS));
        world.releases.clear();
        world.run(40_000);
        long since = world.releases.stream()
                .filter(release -> release.releaseAtNanos() < (T0 + 60_000) * MS)
                .count();
        assertThat(since).isGreaterThan(500);
        assertThat(world.releases).hasSize((int) since);
        assertThat(world.saved).allSatisfy(states -> assertThat(states).isEmpty());
    }

    @Test
    void a_changed_rate_and_the_end_of_the_total_reach_keys_that_wait_for_a_slot_off_the_heap() {
        World world = new World(1, 1, 1, rules(20, total(10), Map.of()), 5);
        for (int i = 0; i < 200; i++) {
            world.offer("k" + i, i % 2 == 0 ? "free" : "paid", 1);
        }
        world.run(2_000);
        world.rules = withTotal(rules(100, null, Map.of("paid", new TierShare(1, 1))), 2, total(20));
        world.carryOut(0, world.shapers.get(0).refresh(world.nowMs * MS));
        world.run(2_000);
        assertThat(world.releasedBetween(3_000, 4_000)).isBetween(19L, 20L);
        assertThat(world.releases.subList(world.releases.size() - 20, world.releases.size()))
                .allMatch(release -> release.tier().equals("paid"));
        world.rules = withTotal(world.rules, 3, null);
        world.carryOut(0, world.shapers.get(0).refresh(world.nowMs * MS));
        world.run(200);
        assertThat(world.releases).hasSize(200);
    }

    @Test
    void the_keys_of_a_tier_get_the_same_on_whichever_partition() {
        World world = new World(1, 4, 120, rules(50, total(200), Map.of()));
        for (int key = 0; key < 50; key++) {
            for (int i = 0; i < 1_000; i++) {
                world.offer("key-" + key * key, null, 1);
            }
        }
        world.run(20_000);
        Map<String, Long> byKey = new TreeMap<>();
        world.releases.forEach(release -> byKey.merge(release.key().get("k"), 1L, Long::sum));
        assertThat(byKey).hasSize(50);
        assertThat(byKey.values()).allSatisfy(count -> assertThat(count).isBetween(72L, 88L));
    }

    @Test
    void if_the_total_does_not_bind_each_key_keeps_its_own_pace() {
        World world = new World(1, 4, 100, rules(5, total(2_000), Map.of()));
        for (int key = 0; key < 100; key++) {
            for (int i = 0; i < 50; i++) {
                world.offer("k" + key, null, 1);
            }
        }
        world.run(12_000);
        assertThat(world.releases).hasSize(5_000);
        assertThat(world.releasedBetween(1_000, 9_000)).isGreaterThanOrEqualTo(8 * 100 * 5 * 97 / 100);
    }

    @Test
    void a_change_of_the_total_applies_to_waiting_requests() {
        World world = new World(1, 3, 50, rules(100, total(100), Map.of()));
        for (int i = 0; i < 9_000; i++) {
            world.offer("k" + i % 30, null, 1);
        }
        world.run(3_000);
        world.rules = withTotal(world.rules, 2, total(300));
        world.refresh();
        world.run(3_000);
        assertThat(world.releasedBetween(4_000, 6_000)).isBetween(590L, 600L);
        world.rules = withTotal(world.rules, 3, total(50));
        world.refresh();
        world.run(3_000);
        assertThat(world.releasedBetween(7_000, 9_000)).isBetween(95L, 100L);
        world.rules = withTotal(world.rules, 4, null);
        world.refresh();
        world.run(1_100);
        assertThat(world.releasedBetween(9_000, 10_000))
                .as("each key at its own pace")
                .isBetween(2_900L, 3_100L);
    }

    private static QueueRules withTotal(QueueRules rules, long version, QueueTotal total) {
        return rules.toBuilder().version(version).total(total).build();
    }

    @Test
    void waiting_requests_of_a_deleted_queue_are_released_by_its_last_total() {
        World world = new World(1, 3, 50, rules(100, total(100), Map.of()));
        for (int i = 0; i < 900; i++) {
            world.offer("k" + i % 30, null, 1);
        }
        world.run(1_000);
        world.rules = null;
        world.refresh();
        world.restart(0);
        world.run(10_000);
        assertThat(world.releases).hasSize(900);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(100);
    }

    @Test
    void all_keys_together_have_a_capacity() {
        QueueTotal small = new QueueTotal(10, 1_000, 20);
        World world = new World(1, 2, 10, rules(1, small, Map.of()));
        for (int i = 0; i < 15; i++) {
            world.offer("a" + i, null, 1);
        }
        world.run(300);
        long before = world.decisions.size();
        for (int i = 0; i < 30; i++) {
            world.offer("b" + i, null, 1);
        }
        List<Decision> later = world.decisions.subList((int) before, world.decisions.size());
        assertThat(later).anySatisfy(decision -> {
            assertThat(decision.reason()).isEqualTo(Reason.QUEUE_FULL);
            assertThat(decision.limitedBy()).isEqualTo("total.capacity");
            assertThat(decision.limit()).isEqualTo(20);
            assertThat(decision.retryAfterMs()).isPositive();
        });
        assertThat(later.stream()
                        .filter(decision -> decision.reason() == Reason.SHAPED)
                        .count())
                .as("simultaneous arrivals on two partitions may exceed it by as much as there was room")
                .isBetween(5L, 20L);
    }

    @Test
    void nothing_is_left_when_nothing_waits() {
        World world = new World(1, 3, 50, rules(100, total(100), Map.of()));
        for (int i = 0; i < 90; i++) {
            world.offer("k" + i, null, 1);
        }
        world.run(10_000);
        assertThat(world.releases).hasSize(90);
        assertThat(world.saved).allSatisfy(states -> assertThat(states).isEmpty());
        assertThat(world.ledgers).allSatisfy(states -> assertThat(states).isEmpty());
        assertThat(world.shapers).allSatisfy(shaper -> {
            assertThat(shaper.dueNanos()).isEqualTo(Long.MAX_VALUE);
            assertThat(shaper.needsTime()).isFalse();
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 6})
    void requests_of_different_costs_use_the_whole_total(int partitions) {
        World world = new World(1, partitions, 120, rules(200, total(1_000), Map.of()));
        for (int i = 0; i < 6_000; i++) {
            world.offer("k" + i % 60, null, 1 + i % 10);
        }
        world.run(12_000);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(1_000 + 9);
        assertThat(world.releasedBetween(2_000, 12_000)).isGreaterThanOrEqualTo(10_000 * 95 / 100);
    }

    @Test
    void a_reopened_partition_gets_slots_for_large_requests() {
        World world = new World(1, 3, 60, rules(200, total(100), Map.of()));
        for (int i = 0; i < 600; i++) {
            world.offer("k" + i % 30, null, 5);
            world.offer("large", null, 9);
        }
        for (int i = 0; i < 30; i++) {
            world.run(500);
            world.restart(i % 3);
        }
        world.run(2_000);
        long before = world.releases.size();
        world.run(10_000);
        assertThat(world.releases.subList((int) before, world.releases.size()))
                .anySatisfy(release -> assertThat(release.cost()).isEqualTo(9));
        assertThat(world.releasedBetween(19_000, 26_000)).isGreaterThanOrEqualTo(700 * 95 / 100);
    }

    @Test
    void a_few_large_requests_are_released_although_single_slots_are_available() {
        World world = new World(1, 4, 60, rules(20, total(150), Map.of()));
        for (int i = 0; i < 12; i++) {
            world.offer("k" + i, null, 1);
            world.offer("k" + i, null, 5);
        }
        world.run(3_000);
        assertThat(world.releases).hasSize(24);
    }

    @Test
    void a_request_that_takes_longer_than_the_look_ahead_of_grants_is_released() {
        World world = new World(1, 3, 100, rules(10_000, total(10), Map.of()));
        for (int i = 0; i < 9; i++) {
            world.offer("k" + i, null, 40);
        }
        world.run(40_000);
        assertThat(world.releases).hasSize(9);
        assertThat(world.most(4_000 * MS)).as("each takes 4 s").isEqualTo(40);
    }

    /** Returns backlogs on four partitions, of many keys each, with a total of 200 a second. */
    private static World backlog(int maxDelayMs) {
        World world = new World(1, 4, maxDelayMs, rules(50, total(200), Map.of()));
        for (int i = 0; i < 16_000; i++) {
            world.offer("k" + i % 80, null, 1);
        }
        return world;
    }

    @Test
    void a_paused_partition_does_not_block_the_others() {
        World world = backlog(100);
        world.run(4_000);
        world.paused.add(3);
        world.run(10_000);
        world.paused.clear();
        world.run(10_000);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(world.releasedBetween(8_000, 14_000)).isGreaterThanOrEqualTo(1_200 * 95 / 100);
        assertThat(world.releasedBetween(14_000, 24_000))
                .as("after the partition resumes")
                .isGreaterThanOrEqualTo(2_000 * 95 / 100);
    }

    @Test
    void a_partition_that_is_opened_late_does_not_block_the_others() {
        World world = backlog(100);
        world.run(4_000);
        world.paused.add(3);
        world.run(2_500);
        world.restart(3);
        world.paused.clear();
        world.run(10_000);
        assertThat(world.releasedBetween(6_500, 16_500)).isGreaterThanOrEqualTo(2_000 * 95 / 100);
    }

    @Test
    void a_total_is_used_fully_although_messages_take_seconds() {
        World world = backlog(500);
        world.minDelayMs = 1_500;
        world.run(30_000);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(world.releasedBetween(15_000, 30_000)).isGreaterThanOrEqualTo(3_000 * 95 / 100);
    }

    @ParameterizedTest
    @ValueSource(longs = {-2_000, -300, 300, 2_000})
    void the_clocks_of_the_brokers_need_not_agree(long aheadMs) {
        World world = backlog(100);
        world.aheadMs.put(0, aheadMs); // the ledger's partition
        world.run(20_000);
        assertThat(world.most(1_000 * MS)).isLessThanOrEqualTo(200);
        assertThat(world.releasedBetween(8_000, 18_000)).isGreaterThanOrEqualTo(2_000 * 95 / 100);
    }

    @Test
    void a_request_that_takes_more_than_an_hour_of_the_total_is_denied() {
        World world = new World(1, 1, 1, rules(1_000, total(10), Map.of()));
        world.offer("k", null, 36_000);
        world.offer("k", null, 36_001);
        assertThat(world.decisions).extracting(Decision::reason).containsExactly(Reason.SHAPED, Reason.COST_NEVER_FITS);
    }

    @Test
    void a_queue_with_a_total_is_served_beside_one_that_could_use_every_tick() {
        QueueRules busy = QueueHarness.rules(1_000_000, 1_000, 1_000_000, 1_000_000, QueueRules.NO_MAX_WAIT);
        QueueRules paced = rules(1_000, total(1_000), Map.of());
        QueueHarness harness = new QueueHarness(busy);
        harness.rules.put("paced", withId(paced));
        for (int i = 0; i < 20_000; i++) {
            harness.offer("busy" + i, "c", null, 1, null, 0);
        }
        for (int i = 0; i < 50; i++) {
            harness.send(toPaced("paced" + i, "k" + i), 0);
        }
        for (int i = 0; i < 60; i++) {
            harness.carryOut(harness.shaper.tick(i * 10 * MS, 100));
        }
        assertThat(harness.releases)
                .filteredOn(release -> release.queue().equals("paced"))
                .hasSize(50);
    }

    private static QueueRules withId(QueueRules rules) {
        return rules.toBuilder().id("paced").version(1).build();
    }

    private static Admission toPaced(String id, String key) {
        Request.Source source = new Request.Source(0, 0);
        Request request = Request.builder(id, "c")
                .attributes(Map.of("k", key))
                .source(source)
                .build();
        return Admission.of(request, "paced", new PolicyVersion("p", 1), null).withKey(Map.of("k", key));
    }

    @Test
    void a_report_without_waiting_requests_cancels_earlier_demand() {
        SlotLedger ledger = new SlotLedger("q", SlotLedger.fresh(0));
        QueueRules rules = rules(10, total(10), Map.of());
        List<SlotReport.Demand> demands =
                List.of(new SlotReport.Demand("gold", 1, List.of(), 1, 1, List.of(new SlotReport.Step(0, 5))));
        ledger.report(
                new SlotReport(new QueuePartition("q", 3), new SlotRate(10, 1_000), 0, 5, 0, Optional.empty(), demands),
                rules,
                0);
        ledger.report(
                new SlotReport(new QueuePartition("q", 3), new SlotRate(10, 1_000), 0, 0, 0, Optional.empty(), demands),
                rules,
                MS);
        assertThat(ledger.grant(2 * MS)).isEmpty();
        assertThat(ledger.isIdle(2 * MS)).isTrue();
    }

    @Test
    void many_tiers_are_reported_together() {
        SlotContenders contenders = new SlotContenders(Map.of("gold", new TierShare(1, 1)));
        for (int i = 0; i < 1_000; i++) {
            Flow flow = new Flow("tier" + i, "c");
            contenders.put(
                    new BucketId("q", List.of("k", "" + i)), new SlotContenders.Contender(flow, 0, 1 + i, 10, 10));
        }
        contenders.put(
                new BucketId("q", List.of("k", "gold")),
                new SlotContenders.Contender(new Flow("gold", "c"), 0, 7, 10, 10));
        Pacing pacing = Pacing.of(10, 1_000, 1);
        List<SlotReport.Demand> demands = contenders.demands(pacing, pacing, 0);
        assertThat(demands).hasSize(SlotReport.MAX_DEMANDS);
        assertThat(demands.get(0))
                .isEqualTo(new SlotReport.Demand("gold", 1, List.of(), 7, 7, List.of(new SlotReport.Step(0, 10))));
        assertThat(demands.stream().mapToLong(SlotReport.Demand::clients).sum()).isEqualTo(1_001);
        assertThat(demands.stream().mapToLong(SlotReport.Demand::tokens).sum()).isEqualTo(10_010);
        assertThat(demands.get(SlotReport.MAX_DEMANDS - 1).largestCost()).isEqualTo(1_000);
    }
}
