package dev.weir.shape.fair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StartTimeFairQueueTest {

    private static final long[] EXACT_WEIGHTS = {1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16};

    /** The costs of requests that wait, by member, and what serves them. */
    private static final class Served {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        final StartTimeModel model;
        final Map<String, Deque<Long>> waiting = new LinkedHashMap<>();
        final Map<String, Long> weights = new HashMap<>();

        Served(StartTimeModel.Join join) {
            model = new StartTimeModel(join);
        }

        void add(String member, long cost) {
            if (!waiting.containsKey(member)) {
                waiting.put(member, new ArrayDeque<>());
                queue.enter(member, cost, weights.get(member));
                model.enter(member, cost, weights.get(member));
            }
            waiting.get(member).add(cost);
        }

        void serve(String context) {
            String first = queue.first();
            assertThat(first).as(context).isEqualTo(model.first());
            long cost = waiting.get(first).remove();
            boolean waitsOn = !waiting.get(first).isEmpty();
            queue.serve(first, cost, weights.get(first), waitsOn);
            model.serve(first, cost, weights.get(first), waitsOn);
            if (!waitsOn) {
                waiting.remove(first);
            }
        }

        void leave(String member) {
            waiting.remove(member);
            queue.leave(member);
            model.leave(member);
        }
    }

    /** Members arrive, return, leave unserved and are restored at random. */
    @Test
    void the_order_is_that_of_exact_fractions() {
        for (int seed = 0; seed < Effort.times(150); seed++) {
            Random random = new Random(seed);
            Served served = new Served(StartTimeModel.Join.AT_END_OF_ROUND);
            int members = 2 + random.nextInt(7);
            for (int member = 0; member < members; member++) {
                long weight = seed % 3 == 0 ? 1 : EXACT_WEIGHTS[random.nextInt(EXACT_WEIGHTS.length)];
                served.weights.put("m" + member, weight);
            }
            long largest = seed % 10 == 9 ? 1L << 61 : (long) Math.pow(10, random.nextInt(4));
            for (int step = 0; step < 800; step++) {
                String context = "seed " + seed + ", step " + step;
                String member = "m" + random.nextInt(members);
                int what = random.nextInt(12);
                if (what < 6) {
                    long cost = random.nextInt(20) == 0 ? 0 : 1 + (random.nextLong() >>> 1) % largest;
                    served.add(member, cost);
                } else if (what == 6 && served.waiting.containsKey(member)) {
                    served.leave(member);
                } else if (what == 7) {
                    served.queue = StartTimeFairQueue.of(StartTimeFairQueue.state(served.queue));
                } else if (!served.waiting.isEmpty()) {
                    served.serve(context);
                }
            }
            while (!served.waiting.isEmpty()) {
                served.serve("seed " + seed + ", the end");
            }
        }
    }

    /** If all members start together, the order is that of Goyal, Vin and Cheng, by any weights and without rounding. */
    @Test
    void members_that_start_together_are_served_in_the_order_of_the_paper() {
        for (int seed = 0; seed < Effort.times(40); seed++) {
            Random random = new Random(seed);
            Served served = new Served(StartTimeModel.Join.AT_VIRTUAL_TIME);
            for (int member = 0; member < 2 + seed % 6; member++) {
                served.weights.put("m" + member, 1L + random.nextInt(TierShare.MAX_WEIGHT));
            }
            for (int n = 0; n < 400; n++) {
                for (String member : served.weights.keySet()) {
                    served.add(member, 1 + random.nextInt(1_000));
                }
            }
            while (served.waiting.size() > 1) {
                served.serve("seed " + seed);
            }
        }
    }

    /** Serves members that always have more requests. */
    private interface Order {
        int next();

        void served(int member, long cost, long weight);
    }

    private static Order fair(long[] weights) {
        StartTimeFairQueue<Integer> queue = new StartTimeFairQueue<>();
        for (int i = 0; i < weights.length; i++) {
            queue.enter(i, 1, weights[i]);
        }
        return new Order() {
            @Override
            public int next() {
                return queue.first();
            }

            @Override
            public void served(int member, long cost, long weight) {
                queue.serve(member, cost, weight, true);
            }
        };
    }

    /** Serves members in turn, whatever the cost, which is unfair. */
    private static Order inTurns(long[] weights) {
        Deque<Integer> turns = new ArrayDeque<>();
        for (int i = 0; i < weights.length; i++) {
            turns.add(i);
        }
        return new Order() {
            @Override
            public int next() {
                return turns.peek();
            }

            @Override
            public void served(int member, long cost, long weight) {
                turns.add(turns.remove());
            }
        };
    }

    /** Counts how often the difference between two members exceeds the bound, over all intervals. */
    private static int violations(int largestWeight, Function<long[], Order> orders) {
        int violations = 0;
        for (int seed = 0; seed < Effort.times(40); seed++) {
            Random random = new Random(seed);
            int count = 2 + random.nextInt(6);
            long[] weights = random.longs(count, 1, largestWeight + 1).toArray();
            Map<String, TierShare> shares = new HashMap<>();
            IntStream.range(0, count).forEach(i -> shares.put("m" + i, new TierShare(0, (int) weights[i])));
            FairnessBound bound = new FairnessBound(shares);
            IntStream.range(0, count).forEach(i -> bound.enter(new Flow("m" + i, ""), 1));
            Order order = orders.apply(weights);
            for (int n = 0; n < 2_000; n++) {
                int member = order.next();
                long cost = (long) Math.min(1_000, 1 / Math.pow(random.nextDouble(), 1.2)); // heavy-tailed
                bound.enter(new Flow("m" + member, ""), cost);
                bound.serve(new Flow("m" + member, ""), cost);
                order.served(member, cost, weights[member]);
            }
            violations += bound.violations().size();
        }
        return violations;
    }

    @Test
    void members_that_wait_throughout_differ_by_no_more_than_the_bound_over_any_interval() {
        assertThat(violations(20, StartTimeFairQueueTest::fair)).isZero();
        assertThat(violations(TierShare.MAX_WEIGHT, StartTimeFairQueueTest::fair))
                .isZero();
    }

    /** A queue that is restored at random, and the same queue if it is not. */
    private static final class Restored {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        final StartTimeFairQueue<String> same = new StartTimeFairQueue<>();
        final Set<String> held = new HashSet<>();

        void hold(String member) {
            held.add(member);
            queue.hold(member);
            same.hold(member);
        }

        void readmit(String member) {
            held.remove(member);
            queue.readmit(member);
            same.readmit(member);
        }

        void restore() {
            queue = StartTimeFairQueue.of(StartTimeFairQueue.state(queue));
        }

        String serve(long cost, Map<String, Long> weights) {
            String first = queue.first();
            assertThat(first).isEqualTo(same.first());
            queue.serve(first, cost, weights.get(first), true);
            same.serve(first, cost, weights.get(first), true);
            return first;
        }
    }

    @Test
    void a_member_that_is_held_gains_and_loses_nothing_for_later() {
        for (int seed = 0; seed < Effort.times(100); seed++) {
            Random random = new Random(seed);
            Map<String, Long> weights = new LinkedHashMap<>();
            Map<String, TierShare> shares = new HashMap<>();
            for (int member = 0; member < 2 + seed % 6; member++) {
                weights.put("m" + member, 1L + random.nextInt(seed % 2 == 0 ? 20 : TierShare.MAX_WEIGHT));
                shares.put("m" + member, new TierShare(0, (int) (long) weights.get("m" + member)));
            }
            List<String> members = List.copyOf(weights.keySet());
            FairnessBound bound = new FairnessBound(shares);
            Restored restored = new Restored();
            for (String member : members) {
                bound.enter(new Flow(member, ""), 1);
                restored.queue.enter(member, 1, weights.get(member));
                restored.same.enter(member, 1, weights.get(member));
            }
            for (int step = 0; step < 1_000; step++) {
                String member = members.get(random.nextInt(members.size()));
                if (random.nextInt(8) == 0 && restored.held.contains(member)) {
                    restored.readmit(member);
                    bound.enter(new Flow(member, ""), 1);
                } else if (random.nextInt(8) == 0 && restored.held.size() < members.size() - 1) {
                    if (!restored.held.contains(member)) {
                        restored.hold(member);
                        bound.leave(new Flow(member, ""));
                    }
                } else if (random.nextInt(8) == 0) {
                    restored.restore();
                }
                long cost = 1 + random.nextInt(20);
                Flow served = new Flow(restored.serve(cost, weights), "");
                bound.enter(served, cost);
                bound.serve(served, cost);
            }
            assertThat(bound.violations()).as("seed " + seed).isEmpty();
        }
    }

    @Test
    void round_robin_breaks_the_bound() {
        assertThat(violations(20, StartTimeFairQueueTest::inTurns)).isPositive();
    }

    @Test
    void a_member_gets_its_share_by_weight() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        Map<String, Long> weights = Map.of("platinum", 8L, "gold", 4L, "free", 1L);
        weights.keySet().stream().sorted().forEach(member -> queue.enter(member, 1, weights.get(member)));
        Map<String, Integer> served = new HashMap<>();
        for (int n = 0; n < 1_300; n++) {
            String member = queue.first();
            served.merge(member, 1, Integer::sum);
            queue.serve(member, 1, weights.get(member), true);
        }
        assertThat(served).isEqualTo(Map.of("platinum", 800, "gold", 400, "free", 100));
    }

    @Test
    void an_absent_member_accumulates_nothing() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("busy", 1, 1);
        for (int n = 0; n < 1_000; n++) {
            queue.serve("busy", 1, 1, true);
        }
        queue.enter("late", 1, 1);
        assertThat(serve(queue, 6)).containsExactlyInAnyOrder("busy", "late", "busy", "late", "busy", "late");
    }

    @Test
    void a_member_that_leaves_and_returns_at_once_gains_nothing() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("honest", 1, 1);
        queue.enter("sly", 1, 1);
        Map<String, Integer> served = new HashMap<>();
        for (int n = 0; n < 1_000; n++) {
            String member = queue.first();
            served.merge(member, 1, Integer::sum);
            queue.serve(member, 1, 1, member.equals("honest"));
            if (member.equals("sly")) {
                queue.enter("sly", 1, 1);
            }
        }
        assertThat(served.get("sly")).isBetween(499, 501);
    }

    @Test
    void leaving_unserved_costs_nothing_and_gains_nothing() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("a", 1, 1);
        queue.enter("b", 1, 1);
        assertThat(serve(queue, 2)).containsExactly("a", "b");
        queue.leave("a");
        queue.enter("a", 1, 1);
        assertThat(serve(queue, 4)).containsExactlyInAnyOrder("a", "b", "a", "b");
    }

    @Test
    void an_expired_member_starts_like_a_new_one() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("a", 1, 1);
        queue.serve("a", 5, 1, false);
        assertThat(queue.tagCount()).isZero();
        queue.enter("b", 1, 1);
        queue.enter("a", 1, 1);
        assertThat(serve(queue, 2)).containsExactly("b", "a");
    }

    @Test
    void shares_hold_when_the_virtual_time_wraps_around() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("a", 1, 1);
        queue.enter("b", 1, 1);
        Map<String, Integer> served = new HashMap<>();
        long cost = 1L << 61; // the virtual time wraps around every few requests
        for (int n = 0; n < 3_000; n++) {
            String member = queue.first();
            served.merge(member, 1, Integer::sum);
            queue.serve(member, cost, member.equals("a") ? 2 : 1, true);
        }
        assertThat(served.get("a")).isBetween(1_999, 2_001);
    }

    @Test
    void members_join_at_the_end_of_the_round_as_in_the_example() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        Map<String, Long> costs = Map.of("a", 4L, "b", 1L, "c", 3L, "d", 9L);
        List<String> trace = new ArrayList<>();
        for (String newcomer : List.of("a", "b", "c", "d", "", "")) {
            if (!newcomer.isEmpty()) {
                queue.enter(newcomer, costs.get(newcomer), 1);
            }
            String first = queue.first();
            queue.serve(first, costs.get(first), 1, true);
            trace.add(first + " " + queue.virtualTime().whole());
        }
        assertThat(trace).containsExactly("a 0", "b 1", "b 2", "b 3", "a 4", "c 4");
    }

    /**
     * A member that waits gets a service for each round, however many names are invented. By the definition of the paper,
     * it gets none after its first, since the virtual time stands still.
     */
    @Test
    void new_members_do_not_stop_the_virtual_time() {
        for (StartTimeModel.Join join : StartTimeModel.Join.values()) {
            StartTimeModel model = new StartTimeModel(join);
            model.enter("waits", 1, 1);
            int got = 0;
            for (int n = 0; n < 2_000; n++) {
                model.enter("newcomer" + n, 1, 1);
                String first = model.first();
                model.serve(first, 1, 1, first.equals("waits"));
                got += first.equals("waits") ? 1 : 0;
            }
            assertThat(got).isEqualTo(join == StartTimeModel.Join.AT_VIRTUAL_TIME ? 1 : 62);
        }
    }

    /**
     * Returns what one waiting member gets of 10,000 tokens if a new member with a cost of 1 arrives after each
     * request, while {@code phantoms} others enter and leave without service.
     */
    private static int gotAmong(int phantoms) {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("waits", 1, 1);
        int got = 0;
        int left = 0;
        for (int n = 0; left < 10_000; n++) {
            queue.enter("newcomer" + n, 1, 1);
            IntStream.range(0, phantoms).forEach(i -> queue.enter("phantom" + i, 1, 1));
            String first = queue.first();
            boolean waitsOn = first.equals("waits");
            int cost = waitsOn ? 10 : 1;
            queue.serve(first, cost, 1, waitsOn);
            left += cost;
            got += waitsOn ? cost : 0;
            IntStream.range(0, phantoms).forEach(i -> queue.leave("phantom" + i));
        }
        return got;
    }

    @Test
    void members_that_leave_unserved_do_not_delay_the_virtual_time() {
        assertThat(gotAmong(50)).isEqualTo(gotAmong(0)).isEqualTo(430);
    }

    @Test
    void extreme_costs_and_weights_starve_no_member() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        Random random = new Random(11);
        queue.enter("waits", 1, 1);
        Map<String, Long> others = new HashMap<>(); // the costs of their heads
        long waited = 0;
        for (int n = 0; n < 20_000; n++) {
            String name = "m" + random.nextInt(9);
            if (!others.containsKey(name)) {
                others.put(name, random.nextBoolean() ? 1L << 61 : 1);
                queue.enter(name, others.get(name), 1 + random.nextInt(TierShare.MAX_WEIGHT));
            }
            String first = queue.first();
            waited = first.equals("waits") ? 0 : waited + 1;
            assertThat(waited).isLessThan(200);
            long weight = first.equals("waits") || random.nextBoolean() ? 1 : TierShare.MAX_WEIGHT;
            boolean waitsOn = first.equals("waits") || random.nextBoolean();
            queue.serve(first, first.equals("waits") ? 1 : others.get(first), weight, waitsOn);
            if (!waitsOn) {
                others.remove(first);
            }
        }
    }

    private static List<String> serve(StartTimeFairQueue<String> queue, int times) {
        List<String> served = new ArrayList<>();
        for (int n = 0; n < times; n++) {
            served.add(queue.first());
            queue.serve(queue.first(), 1, 1, true);
        }
        return served;
    }

    /** Names that are used once each, a thousand at a time, like a client that takes another name for each request. */
    @ParameterizedTest
    @ValueSource(ints = {1, 20, 1_000_000})
    void members_with_one_request_expire_while_others_wait(int largestCost) {
        int waiting = 1_000;
        Random random = new Random(1);
        StartTimeFairQueue<Integer> queue = new StartTimeFairQueue<>();
        int most = 0;
        Map<Integer, Long> costs = new HashMap<>();
        for (int name = 0; name < 200_000; name++) {
            costs.put(name, (long) Math.pow(largestCost, random.nextDouble())); // as many small ones as large ones
            queue.enter(name, costs.get(name), 1);
            if (name >= waiting) {
                queue.serve(queue.first(), costs.remove(queue.first()), 1, false);
            }
            most = Math.max(most, queue.tagCount());
        }
        assertThat(most).isLessThan(3 * waiting);
        while (!queue.isEmpty()) {
            queue.serve(queue.first(), 1, 1, false);
        }
        assertThat(queue.tagCount()).isZero();
    }
}
