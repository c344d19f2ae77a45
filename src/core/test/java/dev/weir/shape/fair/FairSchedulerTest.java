package dev.weir.shape.fair;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FairSchedulerTest {

    /** A queue in memory: the scheduler, and the numbers of each flow's requests. */
    private static final class Waiting {
        final FairScheduler scheduler;
        final Map<Flow, Deque<Integer>> flows = new LinkedHashMap<>();

        Waiting(Map<String, TierShare> shares) {
            scheduler = new FairScheduler(shares);
        }

        void add(String tier, String client, int request) {
            Flow flow = new Flow(tier, client);
            if (!isWaiting(flow)) {
                scheduler.enter(flow, 1);
            }
            flows.computeIfAbsent(flow, f -> new ArrayDeque<>()).add(request);
        }

        boolean isWaiting(Flow flow) {
            return flows.containsKey(flow) && !flows.get(flow).isEmpty();
        }

        void add(String tier, String client, int from, int to) {
            IntStream.range(from, to).forEach(request -> add(tier, client, request));
        }

        String release() {
            Flow flow = scheduler.next().orElseThrow();
            int request = flows.get(flow).remove();
            scheduler.served(flow, 1, !flows.get(flow).isEmpty());
            return flow.tier() + "/" + flow.value() + "/" + request;
        }

        List<String> release(int times) {
            List<String> released = new ArrayList<>();
            IntStream.range(0, times).forEach(n -> released.add(release()));
            return released;
        }
    }

    private static long of(List<String> released, String prefix) {
        return released.stream().filter(name -> name.startsWith(prefix)).count();
    }

    @Test
    void a_higher_priority_is_always_served_first() {
        Waiting waiting = new Waiting(Map.of("platinum", new TierShare(1, 1), "free", new TierShare(-1, 1)));
        waiting.add("free", "f", 0, 3);
        waiting.add("unnamed", "u", 0, 3);
        assertThat(waiting.release()).isEqualTo("unnamed/u/0");
        waiting.add("platinum", "p", 0, 2);
        assertThat(waiting.release(7))
                .containsExactly(
                        "platinum/p/0",
                        "platinum/p/1",
                        "unnamed/u/1",
                        "unnamed/u/2",
                        "free/f/0",
                        "free/f/1",
                        "free/f/2");
        assertThat(waiting.scheduler.next()).isEmpty();
    }

    @Test
    void tiers_of_one_priority_share_by_weight_and_clients_of_a_tier_evenly() {
        Waiting waiting = new Waiting(Map.of("gold", new TierShare(0, 3), "free", new TierShare(0, 1)));
        waiting.add("gold", "one", 0, 1_000);
        waiting.add("free", "greedy", 0, 100_000);
        waiting.add("free", "modest", 0, 1_000);
        List<String> released = waiting.release(800);
        assertThat(of(released, "gold/")).isEqualTo(600);
        assertThat(of(released, "free/greedy/")).isEqualTo(100);
        assertThat(of(released, "free/modest/")).isEqualTo(100);
    }

    @Test
    void a_client_with_a_million_waiting_delays_another_by_no_more_than_its_share() {
        Waiting waiting = new Waiting(Map.of());
        waiting.add("free", "greedy", 0, 1_000_000);
        waiting.release(1_000);
        waiting.add("free", "late", 0, 1);
        assertThat(waiting.release(2)).contains("free/late/0");
    }

    @Test
    void one_clients_requests_keep_their_order() {
        Waiting waiting = new Waiting(Map.of());
        Random random = new Random(5);
        for (int request = 0; request < 5_000; request++) {
            waiting.add("t" + random.nextInt(3), "c" + random.nextInt(20), request);
            if (random.nextInt(3) > 0) {
                waiting.release();
            }
        }
        Map<Flow, Integer> last = new LinkedHashMap<>();
        while (waiting.scheduler.next().isPresent()) {
            String[] name = waiting.release().split("/", -1);
            Integer before = last.put(new Flow(name[0], name[1]), Integer.parseInt(name[2]));
            assertThat(before == null || before < Integer.parseInt(name[2])).isTrue();
        }
        assertThat(waiting.flows.values()).allMatch(Deque::isEmpty);
    }

    @Test
    void changed_weights_and_priorities_apply_to_waiting_flows() {
        Waiting waiting = new Waiting(Map.of("a", new TierShare(0, 1), "b", new TierShare(0, 1)));
        waiting.add("a", "x", 0, 1_000);
        waiting.add("b", "y", 0, 1_000);
        assertThat(of(waiting.release(100), "a/")).isEqualTo(50);
        waiting.scheduler.setShares(Map.of("a", new TierShare(0, 4), "b", new TierShare(0, 1)));
        assertThat(of(waiting.release(100), "a/")).isBetween(79L, 81L);
        waiting.scheduler.setShares(Map.of("a", new TierShare(0, 4), "b", new TierShare(7, 1)));
        assertThat(of(waiting.release(100), "b/")).isEqualTo(100);
        waiting.scheduler.setShares(Map.of());
        assertThat(of(waiting.release(100), "a/")).isBetween(49L, 51L);
    }

    @Test
    void a_flow_that_leaves_unserved_is_removed_and_may_return() {
        Waiting waiting = new Waiting(Map.of());
        waiting.add("free", "a", 0);
        waiting.add("free", "b", 1);
        waiting.scheduler.leave(new Flow("free", "a"));
        waiting.flows.remove(new Flow("free", "a"));
        assertThat(waiting.scheduler.next()).contains(new Flow("free", "b")); // a arrived first
        waiting.add("free", "a", 2);
        assertThat(waiting.release(2)).containsExactlyInAnyOrder("free/a/2", "free/b/1");
        assertThat(waiting.scheduler.next()).isEmpty();
    }

    @Test
    void random_arrivals_and_removals_lose_no_flow() {
        Random random = new Random(9);
        Waiting waiting = new Waiting(Map.of("t0", new TierShare(1, 5), "t1", new TierShare(1, 2)));
        int added = 0;
        int gone = 0;
        for (int n = 0; n < 50_000; n++) {
            switch (random.nextInt(5)) {
                case 0, 1 -> waiting.add("t" + random.nextInt(4), "c" + random.nextInt(50), added++);
                case 2 ->
                    waiting.scheduler.setShares(
                            Map.of("t" + random.nextInt(4), new TierShare(random.nextInt(3), 1 + random.nextInt(9))));
                case 3 -> {
                    if (waiting.scheduler.next().isPresent()) {
                        waiting.release();
                        gone++;
                    }
                }
                default -> {
                    Flow flow = new Flow("t" + random.nextInt(4), "c" + random.nextInt(50));
                    if (waiting.isWaiting(flow)) {
                        gone += waiting.flows.remove(flow).size();
                        waiting.scheduler.leave(flow);
                    }
                }
            }
        }
        while (waiting.scheduler.next().isPresent()) {
            waiting.release();
            gone++;
        }
        assertThat(gone).isEqualTo(added);
    }

    @Test
    void a_weight_out_of_range_is_rejected() {
        assertThatThrownBy(() -> new TierShare(0, 0)).hasMessage("weight must be 1 to 10000, is 0");
    }
}
