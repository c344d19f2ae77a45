package dev.weir.shape;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests the laws of {@link FairScheduler} over many seeds, and that unfair orders violate them.
 *
 * <p>In the laws, c is the largest cost of a member's requests so far, and w is its weight. The lead of a member bounds
 * how far its tag lies ahead of the virtual time. It is a cost divided by the weight at that time: the cost that was
 * served last, or the cost of the request with which the member began to wait. The tag of a member that waits never lies
 * behind the virtual time. Tags are
 * rounded up when a member begins to wait or its weight changes, by at most 1 / ROUNDING.
 */
@Tag("slow")
class FairnessTest {

    private static final int SEEDS = Effort.times(9);
    private static final int MAX_WEIGHT = 20;
    private static final double ROUNDING = 720_720;

    /** The order in which requests leave: that of the scheduler, or an unfair one. */
    private enum Order {
        SCHEDULER,
        SCHEDULER_OF_THE_FIRST_SHARES,
        AS_THEY_CAME,
        IN_TURNS_WHATEVER_IT_COSTS,
        LEAST_SERVED_EVER; // fair to members that always wait, but idle ones save up service

        Flow next(Queue queue) {
            return switch (this) {
                case SCHEDULER, SCHEDULER_OF_THE_FIRST_SHARES ->
                    queue.scheduler.next().orElseThrow();
                case AS_THEY_CAME ->
                    least(queue, flow -> queue.waiting.get(flow).element().number);
                case IN_TURNS_WHATEVER_IT_COSTS -> least(queue, queue.turns::get);
                case LEAST_SERVED_EVER ->
                    queue.waiting.keySet().stream()
                            .min(Comparator.comparingInt((Flow flow) -> -queue.priority(flow))
                                    .thenComparingDouble(flow -> queue.byWeight(queue.member(Level.TIERS, flow)))
                                    .thenComparingDouble(flow -> queue.byWeight(queue.member(Level.CLIENTS, flow))))
                            .orElseThrow();
            };
        }

        private static Flow least(Queue queue, ToIntFunction<Flow> number) {
            return queue.waiting.keySet().stream()
                    .min(Comparator.comparingInt(number))
                    .orElseThrow();
        }
    }

    /** A member that shares: a tier among those of its priority, or a client among those of its tier. */
    private record Member(Object group, String name) {}

    private enum Level {
        TIERS,
        CLIENTS
    }

    private record Request(int number, long cost) {}

    /** Requests that arrive and leave in some order, checked by a law, and what was served so far. */
    private static final class Queue {
        final Order order;
        final Law law;
        final Random random;
        final FairScheduler scheduler;
        final Map<Flow, Long> usualCosts = new LinkedHashMap<>();
        final Map<Flow, Deque<Request>> waiting = new LinkedHashMap<>();
        final Map<Flow, Integer> turns = new HashMap<>();
        final Map<Member, Double> byWeight = new HashMap<>();
        final Map<Member, Double> largest = new HashMap<>();
        final Map<Member, Double> leads = new HashMap<>();
        final int tiers;
        Map<String, TierShare> shares;
        int number;
        int entered;
        int changes;

        Queue(Order order, Law law, long seed) {
            this.order = order;
            this.law = law;
            random = new Random(seed);
            tiers = 2 + random.nextInt(4);
            for (int n = 0; n < 3 * tiers; n++) {
                Flow flow = new Flow("t" + n % tiers, "c" + random.nextInt(4));
                usualCosts.put(flow, (long) Math.pow(60, random.nextDouble()));
            }
            shares = randomShares();
            scheduler = new FairScheduler(shares);
        }

        List<Flow> flows() {
            return List.copyOf(usualCosts.keySet());
        }

        int priority(Flow flow) {
            return shares.get(flow.tier()).priority();
        }

        Member member(Level level, Flow flow) {
            return level == Level.TIERS
                    ? new Member(priority(flow), flow.tier())
                    : new Member(flow.tier(), flow.value());
        }

        int weight(Level level, Member member) {
            return level == Level.TIERS ? shares.get(member.name).weight() : 1;
        }

        double byWeight(Member member) {
            return byWeight.getOrDefault(member, 0.0);
        }

        double largest(Member member) {
            return largest.getOrDefault(member, 0.0);
        }

        double lead(Member member) {
            return leads.getOrDefault(member, 0.0);
        }

        /** Returns a bound of all rounding, in virtual time. */
        double roundedUp() {
            return (entered + changes) / ROUNDING;
        }

        private Map<String, TierShare> randomShares() {
            Map<String, TierShare> changed = new HashMap<>();
            for (int tier = 0; tier < tiers; tier++) {
                changed.put("t" + tier, new TierShare(random.nextInt(2), 1 + random.nextInt(MAX_WEIGHT)));
            }
            return changed;
        }

        void changeShares() {
            shares = randomShares();
            changes += tiers;
            waiting.forEach((flow, requests) -> recordLargest(flow, List.copyOf(requests)));
            if (order != Order.SCHEDULER_OF_THE_FIRST_SHARES) {
                scheduler.setShares(shares);
            }
            law.begins(true);
        }

        void add(Flow flow, int requests) {
            law.begins(false);
            List<Request> added = new ArrayList<>();
            for (int n = 0; n < requests; n++) {
                double heavyTailed = usualCosts.get(flow) / Math.pow(1 - random.nextDouble(), 1.2);
                added.add(new Request(number++, (long) Math.min(1_000, heavyTailed)));
            }
            if (!waiting.containsKey(flow)) {
                long cost = added.get(0).cost;
                boolean tierWaits =
                        waiting.keySet().stream().anyMatch(other -> other.tier().equals(flow.tier()));
                for (Level level : tierWaits ? List.of(Level.CLIENTS) : List.of(Level.values())) {
                    Member member = member(level, flow);
                    leads.merge(member, (double) cost / weight(level, member), Math::max);
                    entered++;
                }
                scheduler.enter(flow, cost);
                turns.put(flow, number++);
                waiting.put(flow, new ArrayDeque<>());
            }
            waiting.get(flow).addAll(added);
            recordLargest(flow, added);
        }

        private void recordLargest(Flow flow, List<Request> requests) {
            for (Level level : Level.values()) {
                requests.forEach(request -> largest.merge(member(level, flow), (double) request.cost, Math::max));
            }
        }

        void addUpTo(int requests) {
            flows().forEach(flow -> add(flow, 1 + random.nextInt(requests)));
        }

        void serve(int requests) {
            for (int n = 0; n < requests && !waiting.isEmpty() && law.violation == null; n++) {
                Flow flow = order.next(this);
                law.serving(this, flow);
                long cost = waiting.get(flow).remove().cost;
                boolean waitsOn = !waiting.get(flow).isEmpty();
                if (!waitsOn) {
                    waiting.remove(flow);
                }
                scheduler.served(flow, cost, waitsOn);
                turns.put(flow, number++);
                for (Level level : Level.values()) {
                    Member member = member(level, flow);
                    double costByWeight = (double) cost / weight(level, member);
                    byWeight.merge(member, costByWeight, Double::sum);
                    leads.put(member, costByWeight);
                }
                law.served(this, flow, cost);
            }
        }

        void serveAll() {
            serve(Integer.MAX_VALUE);
        }
    }

    private static void allAtTheStart(Queue queue) {
        queue.addUpTo(300);
        queue.serveAll();
    }

    private static void comingAndGoing(Queue queue) {
        for (int n = 0; n < 120; n++) {
            queue.add(queue.flows().get(queue.random.nextInt(queue.flows().size())), 1 + queue.random.nextInt(60));
            queue.serve(queue.random.nextInt(60));
            if (queue.random.nextInt(20) == 0) {
                queue.changeShares();
            }
        }
        queue.serveAll();
    }

    /** All flows are served, then half of them continue, then all return. */
    private static void comingBack(Queue queue) {
        queue.addUpTo(5);
        queue.serveAll();
        List<Flow> busy = queue.flows().stream()
                .filter(flow -> queue.random.nextBoolean())
                .toList();
        busy.forEach(flow -> queue.add(flow, 400));
        queue.serve(100 * busy.size());
        queue.addUpTo(300);
        queue.serveAll();
    }

    private static void changingShares(Queue queue) {
        queue.addUpTo(400);
        for (int n = 0; n < 4; n++) {
            queue.serve(40 * queue.flows().size());
            queue.changeShares();
        }
        queue.serveAll();
    }

    /** One client has thousands of waiting requests, another one of its tier sends a few now and then. */
    private static void oneGreedy(Queue queue) {
        Flow greedy = new Flow("t0", "greedy");
        Flow modest = new Flow("t0", "modest");
        queue.usualCosts.put(greedy, 20L);
        queue.usualCosts.put(modest, 2L);
        queue.addUpTo(30);
        queue.add(greedy, 3_000);
        for (int n = 0; n < 30; n++) {
            queue.serve(1 + queue.random.nextInt(100));
            queue.add(modest, 1 + queue.random.nextInt(60));
        }
        queue.serveAll();
    }

    /** A law that observes a queue and stores the first violation. */
    private abstract static class Law {
        String violation;

        /** Called before requests arrive, or after shares have changed. */
        void begins(boolean sharesChanged) {}

        void serving(Queue queue, Flow flow) {}

        void served(Queue queue, Flow flow, long cost) {}

        void atMost(double bound, double value, Object who, String what, Object whom) {
            if (violation == null && value > bound + 1e-6) {
                violation = who + what + whom + " by " + value + ", which is more than " + bound;
            }
        }
    }

    private static final class Priority extends Law {
        @Override
        void serving(Queue queue, Flow flow) {
            int own = queue.priority(flow);
            queue.waiting.keySet().forEach(f -> atMost(own, queue.priority(f), f, " waits behind ", flow));
        }
    }

    /**
     * While a waits throughout and no share changes, any b gets, divided by its weight, at most c_b/w_b more than a, plus
     * the lead of a at the start; for b is served only from tags no greater than a's. The lead is at most c_a/w_a, which
     * gives Goyal's bound, unless a's weight has changed. All intervals are checked: from when a arrived or shares
     * changed, and from the service of a after which b was least ahead.
     */
    private static final class Pairs extends Law {
        private record Pair(Member waits, Member other) {}

        private record Since(double aheadAtFirst, double lead, double leastAhead) {}

        private final Level level;
        private final Map<Pair, Since> since = new HashMap<>();

        Pairs(Level level) {
            this.level = level;
        }

        @Override
        void begins(boolean sharesChanged) {
            if (sharesChanged && level == Level.TIERS) {
                since.clear();
            }
        }

        @Override
        void serving(Queue queue, Flow flow) {
            Member b = queue.member(level, flow);
            waiting(queue, b).forEach(a -> since(queue, a, b));
            queue.byWeight.keySet().stream()
                    .filter(other -> other.group.equals(b.group))
                    .forEach(other -> since(queue, b, other));
        }

        @Override
        void served(Queue queue, Flow flow, long cost) {
            Member b = queue.member(level, flow);
            Set<Member> waiting = waiting(queue, b);
            if (waiting.contains(b)) {
                since.replaceAll((pair, s) -> pair.waits.equals(b)
                        ? new Since(s.aheadAtFirst, s.lead, Math.min(s.leastAhead, ahead(queue, b, pair.other)))
                        : s);
            } else {
                since.keySet().removeIf(pair -> pair.waits.equals(b));
            }
            waiting.remove(b);
            for (Member a : waiting) {
                Since s = since(queue, a, b);
                double last = queue.largest(b) / queue.weight(level, b) + queue.roundedUp();
                double ahead = ahead(queue, a, b);
                atMost(last + s.lead, ahead - s.aheadAtFirst, b, " is ahead of ", a);
                double own = queue.largest(a) / queue.weight(level, a);
                atMost(last + own, ahead - s.leastAhead, b, " is ahead, after it was served, of ", a);
            }
        }

        private Set<Member> waiting(Queue queue, Member besides) {
            return queue.waiting.keySet().stream()
                    .map(flow -> queue.member(level, flow))
                    .filter(member -> member.group.equals(besides.group))
                    .collect(Collectors.toSet());
        }

        private Since since(Queue queue, Member waits, Member other) {
            return since.computeIfAbsent(
                    new Pair(waits, other),
                    p -> new Since(ahead(queue, waits, other), queue.lead(waits), Double.MAX_VALUE));
        }

        private static double ahead(Queue queue, Member waits, Member other) {
            return queue.byWeight(other) - queue.byWeight(waits);
        }
    }

    /**
     * From any time until something arrives or a share changes, a flow is ahead of the oracle by at most max(c, the sum of
     * the others' leads) and behind it by at most max(lead, the sum of the others' c), in tokens. That is the bound for its
     * tier among the waiting tiers of the priority, plus the bound for itself among the flows of its tier.
     *
     * <p>Proof: let u be the distance from the virtual time at the start to the smallest tag. Of a backlog B, at least
     * min(B, wu - lead) and at most min(B, wu + c) is served; the fluid serves min(B, wV); and the sums are equal. So if
     * u &lt; V, no flow is ahead by more than c; otherwise none is behind by more than its lead; and the amount by which one
     * is behind, the others are ahead. A client's part of the fluid grows by no more than its tier's, so the difference of
     * the tier adds at most itself. Across arrivals no such bound holds, since each new flow adds its own c.
     */
    private static final class Drift extends Law {
        private MaxMinOracle oracle;
        private final Map<Flow, Double> got = new HashMap<>();
        private final Map<Member, Double> leads = new HashMap<>();

        @Override
        void begins(boolean sharesChanged) {
            oracle = null;
        }

        @Override
        void serving(Queue queue, Flow flow) {
            if (oracle == null) {
                Map<Flow, Double> backlogs = new LinkedHashMap<>();
                queue.waiting.forEach((f, requests) -> backlogs.put(
                        f, requests.stream().mapToDouble(Request::cost).sum()));
                oracle = new MaxMinOracle(queue.shares, backlogs);
                got.clear();
                leads.clear();
                for (Level level : Level.values()) {
                    for (Flow f : oracle.flows()) {
                        Member member = queue.member(level, f);
                        leads.put(member, queue.lead(member) * queue.weight(level, member));
                    }
                }
            }
        }

        @Override
        void served(Queue queue, Flow flow, long cost) {
            oracle.serve((double) cost);
            got.merge(flow, (double) cost, Double::sum);
            Map<Object, Double> groupLeads = new HashMap<>();
            Map<Object, Double> groupCosts = new HashMap<>();
            leads.forEach((member, lead) -> {
                groupLeads.merge(member.group, lead, Double::sum);
                groupCosts.merge(member.group, queue.largest(member), Double::sum);
            });
            for (Flow f : oracle.flows()) {
                double ahead = (MAX_WEIGHT + 1) * queue.roundedUp(); // rounding of all tiers and of the client
                double behind = ahead;
                for (Level level : Level.values()) {
                    Member member = queue.member(level, f);
                    double lead = leads.get(member);
                    double own = queue.largest(member);
                    ahead += Math.max(own, groupLeads.get(member.group) - lead);
                    behind += Math.max(lead, groupCosts.get(member.group) - own);
                }
                double drift = got.getOrDefault(f, 0.0) - oracle.served(f);
                atMost(ahead, drift, f, " is ahead of ", "the oracle");
                atMost(behind, -drift, f, " is behind ", "the oracle");
            }
        }
    }

    /** Returns the first violation of each seed that has one. */
    private static List<String> violations(Consumer<Queue> scenario, Supplier<Law> laws, Order order) {
        List<String> violations = new ArrayList<>();
        for (int seed = 0; seed < SEEDS; seed++) {
            Law law = laws.get();
            scenario.accept(new Queue(order, law, seed));
            if (law.violation != null) {
                violations.add("seed " + seed + ": " + law.violation);
            }
        }
        return violations;
    }

    private static void onlyTheSchedulerKeeps(Supplier<Law> law, Consumer<Queue> scenario) {
        assertThat(violations(scenario, law, Order.SCHEDULER)).isEmpty();
        assertThat(violations(scenario, law, Order.AS_THEY_CAME)).hasSizeGreaterThan(SEEDS / 2);
        assertThat(violations(scenario, law, Order.IN_TURNS_WHATEVER_IT_COSTS)).hasSizeGreaterThan(SEEDS / 2);
    }

    private static Law tiers() {
        return new Pairs(Level.TIERS);
    }

    private static Law clients() {
        return new Pairs(Level.CLIENTS);
    }

    @Test
    void a_lower_priority_is_never_served_while_a_higher_one_waits() {
        onlyTheSchedulerKeeps(Priority::new, FairnessTest::comingAndGoing);
        onlyTheSchedulerKeeps(Priority::new, FairnessTest::changingShares);
    }

    @Test
    void while_a_tier_waits_no_other_of_its_priority_gets_more_by_weight_than_the_bound() {
        onlyTheSchedulerKeeps(FairnessTest::tiers, FairnessTest::allAtTheStart);
        onlyTheSchedulerKeeps(FairnessTest::tiers, FairnessTest::comingAndGoing);
    }

    @Test
    void while_a_client_waits_no_other_of_its_tier_gets_more_than_the_bound() {
        onlyTheSchedulerKeeps(FairnessTest::clients, FairnessTest::allAtTheStart);
        onlyTheSchedulerKeeps(FairnessTest::clients, FairnessTest::comingAndGoing);
    }

    @Test
    void each_flow_gets_its_max_min_fair_share_at_any_time_within_the_bound() {
        onlyTheSchedulerKeeps(Drift::new, FairnessTest::allAtTheStart);
        onlyTheSchedulerKeeps(Drift::new, FairnessTest::comingAndGoing);
    }

    @Test
    void an_idle_flow_accumulates_nothing() {
        for (Supplier<Law> law : List.<Supplier<Law>>of(FairnessTest::tiers, FairnessTest::clients, Drift::new)) {
            onlyTheSchedulerKeeps(law, FairnessTest::comingBack);
            assertThat(violations(FairnessTest::comingBack, law, Order.LEAST_SERVED_EVER))
                    .hasSizeGreaterThan(SEEDS / 2);
            assertThat(violations(FairnessTest::allAtTheStart, law, Order.LEAST_SERVED_EVER))
                    .isEmpty();
        }
    }

    @Test
    void changed_shares_apply_at_once() {
        for (Supplier<Law> law : List.<Supplier<Law>>of(Priority::new, FairnessTest::tiers, Drift::new)) {
            onlyTheSchedulerKeeps(law, FairnessTest::changingShares);
            assertThat(violations(FairnessTest::changingShares, law, Order.SCHEDULER_OF_THE_FIRST_SHARES))
                    .hasSizeGreaterThan(SEEDS / 2);
        }
    }

    @Test
    void a_client_with_a_huge_backlog_delays_another_of_its_tier_by_no_more_than_its_share() {
        onlyTheSchedulerKeeps(FairnessTest::clients, FairnessTest::oneGreedy);
    }

    /** Generalised processor sharing, by its virtual time. */
    private static final class Fluid {
        final PriorityQueue<Double> finishes = new PriorityQueue<>(); // of unfinished finite members of weight 1
        int endless; // total weight of members without end
        double virtualTime;

        void flow(double tokens) {
            double flows = tokens;
            while (!finishes.isEmpty() && untilOneEnds() <= flows) {
                flows -= untilOneEnds();
                virtualTime = finishes.remove();
            }
            virtualTime += flows / (endless + finishes.size());
        }

        private double untilOneEnds() {
            return (finishes.element() - virtualTime) * (endless + finishes.size());
        }
    }

    /**
     * The first member waits throughout with weight w. Whenever a request leaves, a new member arrives with one request of
     * cost 1 to k. The first must get 90 % of its share in processor sharing, in which all members are served at once, but
     * for wk. By the definition of the paper, it gets less than a fifth.
     */
    private static final class Newcomers {
        private static final long TOKENS = 100_000;

        private record Newcomer(Flow flow, long cost, long start) {}

        private final Level level;
        private final Random random;
        private final int largestCost;
        private final int weight;
        private final Flow first = new Flow("first", "first");
        private final FairScheduler scheduler;
        private final Deque<Newcomer> waiting = new ArrayDeque<>();
        private final Fluid processorSharing = new Fluid();
        private int number;
        private long got;
        private long start; // of the head of the first; lastStart is Goyal's virtual time
        private long lastStart;

        Newcomers(Level level, long seed) {
            this.level = level;
            random = new Random(seed);
            largestCost = 1 + random.nextInt(12);
            weight = level == Level.TIERS ? 1 + random.nextInt(5) : 1;
            scheduler = new FairScheduler(Map.of("first", new TierShare(0, weight)));
            scheduler.enter(first, 1);
            processorSharing.endless = weight;
        }

        /**
         * Returns the violation, null if there is none.
         *
         * @param standsStill whether the virtual time is that of Goyal, which can stand still
         */
        String violation(boolean standsStill) {
            for (long left = 0; left < TOKENS; ) {
                come();
                left += standsStill ? serve(start <= waiting.element().start) : serve(isFirstNext());
            }
            double share = weight * processorSharing.virtualTime;
            return got + weight * largestCost < 0.9 * share ? "got " + got + " of " + share : null;
        }

        private boolean isFirstNext() {
            return scheduler.next().orElseThrow().equals(first);
        }

        private void come() {
            String name = "n" + number++;
            Flow flow = level == Level.TIERS ? new Flow(name, "c") : new Flow(first.tier(), name);
            long cost = 1L + random.nextInt(largestCost);
            waiting.add(new Newcomer(flow, cost, lastStart));
            scheduler.enter(flow, cost);
            processorSharing.finishes.add(processorSharing.virtualTime + cost);
        }

        private long serve(boolean isFirst) {
            if (isFirst) {
                long cost = (long) Math.min(1_000, 5 / Math.pow(1 - random.nextDouble(), 1.2));
                scheduler.served(first, cost, true);
                lastStart = start;
                start += cost / weight;
                got += cost;
                processorSharing.flow((double) cost);
                return cost;
            }
            Newcomer newcomer = waiting.remove();
            scheduler.served(newcomer.flow, newcomer.cost, false);
            lastStart = newcomer.start;
            processorSharing.flow((double) newcomer.cost);
            return newcomer.cost;
        }
    }

    @Test
    void new_clients_do_not_starve_waiting_ones() {
        for (Level level : Level.values()) {
            for (int seed = 0; seed < SEEDS; seed++) {
                assertThat(new Newcomers(level, seed).violation(false))
                        .as("%s, seed %d", level, seed)
                        .isNull();
                assertThat(new Newcomers(level, seed).violation(true))
                        .as("%s, seed %d, with a virtual time that stands still", level, seed)
                        .isNotNull();
            }
        }
    }
}
