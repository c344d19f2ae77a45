package dev.weir.shape.backlog;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class StartTimeFairQueueTest {

    /** Serves members that always have more requests, and sums up what each was served. */
    private interface Order {
        int next();

        void served(int member, long cost, long weight);
    }

    private static Order fair(int members) {
        StartTimeFairQueue<Integer> queue = new StartTimeFairQueue<>();
        for (int i = 0; i < members; i++) {
            queue.enter(i, 1);
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
    private static Order inTurns(int members) {
        Deque<Integer> turns = new ArrayDeque<>();
        for (int i = 0; i < members; i++) {
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

    /** Counts how often the difference between two members exceeds Goyal's bound, over all intervals. */
    private static int violations(ToLongFunction<Integer> members, java.util.function.IntFunction<Order> orders) {
        int violations = 0;
        for (int seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            int count = 2 + random.nextInt(6);
            long[] weights = random.longs(count, 1, 20).toArray();
            long[] largest = new long[count];
            double[] served = new double[count];
            Order order = orders.apply(count);
            double[][] least = new double[count][count];
            for (int n = 0; n < 2_000; n++) {
                int member = order.next();
                long cost = (long) Math.min(1_000, 1 / Math.pow(random.nextDouble(), 1.2)); // heavy-tailed
                order.served(member, cost, weights[member]);
                largest[member] = Math.max(largest[member], cost);
                served[member] += (double) cost / weights[member];
                for (int i = 0; i < count; i++) {
                    for (int j = 0; j < count; j++) {
                        double ahead = served[i] - served[j];
                        least[i][j] = Math.min(least[i][j], ahead);
                        double bound = (double) largest[i] / weights[i] + (double) largest[j] / weights[j];
                        if (ahead - least[i][j] > bound + members.applyAsLong(count) * 1e-3) {
                            violations++;
                        }
                    }
                }
            }
        }
        return violations;
    }

    @Test
    void members_that_wait_throughout_differ_by_no_more_than_the_bound_over_any_interval() {
        assertThat(violations(count -> count, StartTimeFairQueueTest::fair)).isZero();
    }

    @Test
    void round_robin_breaks_the_bound() {
        assertThat(violations(count -> count, StartTimeFairQueueTest::inTurns)).isPositive();
    }

    @Test
    void a_member_gets_its_share_by_weight() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        Map<String, Long> weights = Map.of("platinum", 8L, "gold", 4L, "free", 1L);
        weights.keySet().stream().sorted().forEach(member -> queue.enter(member, weights.get(member)));
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
        queue.enter("busy", 1);
        for (int n = 0; n < 1_000; n++) {
            queue.serve("busy", 1, 1, true);
        }
        queue.enter("late", 1);
        assertThat(serve(queue, 6)).containsExactlyInAnyOrder("busy", "late", "busy", "late", "busy", "late");
    }

    @Test
    void a_member_that_leaves_and_returns_at_once_gains_nothing() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("honest", 1);
        queue.enter("sly", 1);
        Map<String, Integer> served = new HashMap<>();
        for (int n = 0; n < 1_000; n++) {
            String member = queue.first();
            served.merge(member, 1, Integer::sum);
            queue.serve(member, 1, 1, member.equals("honest"));
            if (member.equals("sly")) {
                queue.enter("sly", 1);
            }
        }
        assertThat(served.get("sly")).isBetween(499, 501);
    }

    @Test
    void leaving_unserved_costs_nothing_and_gains_nothing() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("a", 1);
        queue.enter("b", 1);
        assertThat(serve(queue, 2)).containsExactly("a", "b");
        queue.leave("a");
        queue.enter("a", 1);
        assertThat(serve(queue, 4)).containsExactlyInAnyOrder("a", "b", "a", "b");
    }

    @Test
    void an_expired_member_starts_like_a_new_one() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("a", 1);
        queue.serve("a", 5, 1, false);
        assertThat(queue.hasNoTags()).isTrue();
        queue.enter("b", 1);
        queue.enter("a", 1);
        assertThat(serve(queue, 2)).containsExactly("b", "a");
    }

    @Test
    void shares_hold_across_the_rebase_of_the_virtual_time() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("a", 1);
        queue.enter("b", 1);
        Map<String, Integer> served = new HashMap<>();
        long cost = 1L << 43; // the virtual time passes 2^61 every few requests
        for (int n = 0; n < 3_000; n++) {
            String member = queue.first();
            served.merge(member, 1, Integer::sum);
            queue.serve(member, cost, member.equals("a") ? 2 : 1, true);
        }
        assertThat(served.get("a")).isBetween(1_999, 2_001);
    }

    @Test
    void the_virtual_time_advances_with_every_service_as_in_the_example() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        List<String> trace = new ArrayList<>();
        Map<String, Long> costs = Map.of("a", 4L, "b", 1L, "c", 3L, "d", 1L);
        queue.enter("a", 1);
        for (String newcomer : List.of("b", "c", "d", "e", "f")) {
            String member = queue.first();
            queue.serve(member, costs.get(member), 1, member.equals("a"));
            trace.add(member + " " + (double) queue.virtualTime() / StartTimeFairQueue.TOKEN);
            queue.enter(newcomer, 1);
        }
        assertThat(trace)
                .containsExactly(
                        "a 4.0",
                        "a 6.0",
                        "b 7.0",
                        "c 8.0",
                        "d " + Math.floor(25 * (double) StartTimeFairQueue.TOKEN / 3) / StartTimeFairQueue.TOKEN);
        assertThat(queue.first()).isEqualTo("a");
    }

    /**
     * Returns what one waiting member gets of 10,000 tokens if a new member with a cost of 1 arrives after each
     * request, while {@code phantoms} others enter and leave without service.
     */
    private static int gotAmong(int phantoms) {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        queue.enter("waits", 1);
        int got = 0;
        int left = 0;
        for (int n = 0; left < 10_000; n++) {
            queue.enter("newcomer" + n, 1);
            IntStream.range(0, phantoms).forEach(i -> queue.enter("phantom" + i, 1));
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
        assertThat(gotAmong(50)).isEqualTo(gotAmong(0)).isEqualTo(350);
    }

    @Test
    void extreme_costs_and_weights_starve_no_member() {
        StartTimeFairQueue<String> queue = new StartTimeFairQueue<>();
        Random random = new Random(11);
        queue.enter("waits", 1);
        Set<String> others = new HashSet<>();
        long waited = 0;
        for (int n = 0; n < 20_000; n++) {
            String name = "m" + random.nextInt(9);
            if (others.add(name)) {
                queue.enter(name, 1 + random.nextInt(TierShare.MAX_WEIGHT));
            }
            String first = queue.first();
            waited = first.equals("waits") ? 0 : waited + 1;
            assertThat(waited).isLessThan(200);
            boolean isHuge = !first.equals("waits") && random.nextBoolean();
            long weight = first.equals("waits") || random.nextBoolean() ? 1 : TierShare.MAX_WEIGHT;
            boolean waitsOn = first.equals("waits") || random.nextBoolean();
            queue.serve(first, isHuge ? 1L << 61 : 1, weight, waitsOn);
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
    @Test
    void members_with_one_request_expire_while_others_wait() {
        int waiting = 1_000;
        Random random = new Random(1);
        StartTimeFairQueue<Integer> queue = new StartTimeFairQueue<>();
        int most = 0;
        for (int name = 0; name < 300_000; name++) {
            queue.enter(name, 1);
            if (name >= waiting) {
                queue.serve(queue.first(), random.nextInt(20), 1, false);
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
