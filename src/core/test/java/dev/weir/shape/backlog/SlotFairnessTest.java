package dev.weir.shape.backlog;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.fair.StartTimeFairQueue;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Tests that clients and tiers share the time of slots within the bound of {@link StartTimeFairQueue}, whatever their
 * requests are expected to last, and that worse orders exceed it. Time is in milliseconds.
 */
class SlotFairnessTest {

    private static final int SEEDS = Effort.times(9);
    private static final long LASTS_MS = 3_000_000;

    /** Which request is next, and what its flow is charged. */
    private enum Order {
        SLOT_TIME,
        RELEASES, // fair by the number of releases, as without slots
        CORRECTED_UPWARD_ONLY, // too high expectations are not paid back
        EXPECTED_IS_CHARGED, // by an expectation that is not corrected and does not learn
        IN_TURNS
    }

    /** A member that shares: a tier, or a client among those of its tier. */
    private record Member(String group, String name) {}

    private static final class Job {
        final Flow flow;
        final long slots;
        final long startedMs;
        final long endsMs;
        long charge;

        Job(Flow flow, long slots, long startedMs, long endsMs, long charge) {
            this.flow = flow;
            this.slots = slots;
            this.startedMs = startedMs;
            this.endsMs = endsMs;
            this.charge = charge;
        }

        long most() {
            return Math.max(charge, slots * (endsMs - startedMs));
        }
    }

    private interface Durations {
        long nextMs(Random random);
    }

    /** Slots whose workers take a random time, and the slot-time that each member has used. */
    private static final class Pool {
        final Order order;
        final Random random;
        final long slots;
        final QueueRules rules;
        final FairScheduler scheduler;
        final ServiceTimes times = new ServiceTimes();
        final Map<Flow, Durations> durations = new LinkedHashMap<>();
        final Map<Flow, Integer> waiting = new LinkedHashMap<>();
        final Map<Flow, Long> since = new HashMap<>(); // since when the next request of a flow is first
        final PriorityQueue<Job> running = new PriorityQueue<>(
                Comparator.<Job>comparingLong(job -> job.endsMs).thenComparing(job -> job.flow));
        final Map<Member, Long> used = new HashMap<>();
        final Map<Member, Long> mostInProgress = new HashMap<>();
        final Map<List<Member>, Double> leastAhead = new HashMap<>();
        long free;
        long nowMs;
        String violation;

        Pool(Order order, long seed, Map<String, TierShare> tiers) {
            this.order = order;
            random = new Random(seed);
            slots = 2 + random.nextInt(8);
            free = slots;
            rules = QueueRules.builder("q", new InFlightRules(slots, 30_000, 120_000, 5, 0))
                    .tiers(tiers)
                    .build();
            scheduler = new FairScheduler(tiers);
        }

        List<Member> members(Flow flow) {
            return List.of(new Member("", flow.tier()), new Member(flow.tier(), flow.value()));
        }

        double byWeight(Member member, double value) {
            return value / (member.group.isEmpty() ? rules.share(member.name).weight() : 1);
        }

        void add(Flow flow, int requests) {
            if (waiting.merge(flow, requests, Integer::sum) == requests) {
                scheduler.enter(flow, charge(flow, 1));
                since.put(flow, nowMs);
            }
        }

        long charge(Flow flow, long cost) {
            return switch (order) {
                case SLOT_TIME, CORRECTED_UPWARD_ONLY -> rules.service(cost, times.expectedMs(flow, rules.inFlight()));
                case EXPECTED_IS_CHARGED -> rules.service(cost, ServiceTimes.FIRST_MS);
                case RELEASES, IN_TURNS -> cost;
            };
        }

        Flow next() {
            return order == Order.IN_TURNS
                    ? waiting.keySet().stream()
                            .min(Comparator.comparing(since::get))
                            .orElseThrow()
                    : scheduler.next().orElseThrow();
        }

        void releaseAll() {
            while (free > 0 && !waiting.isEmpty()) {
                Flow flow = next();
                long cost = 1 + random.nextInt((int) Math.min(free, 2));
                long lastsMs = durations.get(flow).nextMs(random);
                Job job = new Job(flow, cost, nowMs, nowMs + lastsMs, charge(flow, cost));
                free -= cost;
                waiting.computeIfPresent(flow, (f, left) -> left == 1 ? null : (Integer) (left - 1));
                scheduler.served(flow, job.charge, waiting.containsKey(flow));
                since.put(flow, nowMs);
                running.add(job);
                if (!waiting.containsKey(flow)) {
                    forgetThoseThatWaitNoLonger();
                }
            }
            recordProgress();
        }

        private void forgetThoseThatWaitNoLonger() {
            Set<Member> stillWait = waitingMembers();
            leastAhead.keySet().removeIf(pair -> !stillWait.contains(pair.get(0)));
        }

        private Set<Member> waitingMembers() {
            return waiting.keySet().stream()
                    .flatMap(flow -> members(flow).stream())
                    .collect(Collectors.toSet());
        }

        private void recordProgress() {
            Map<Member, Long> inProgress = new HashMap<>();
            running.forEach(
                    job -> members(job.flow).forEach(member -> inProgress.merge(member, job.most(), Long::sum)));
            inProgress.forEach((member, most) -> mostInProgress.merge(member, most, Math::max));
        }

        /** Advances to the end of the next request. */
        void endOne() {
            Job ended = running.element();
            pass(ended.endsMs);
            running.remove();
            free += ended.slots;
            correct(ended, ended.slots * (ended.endsMs - ended.startedMs));
            times.record(ended.flow, ended.endsMs - ended.startedMs);
        }

        /** Has a worker extend one of the attempts. */
        void extendOne() {
            running.stream().skip(random.nextInt(running.size())).findFirst().ifPresent(job -> {
                correct(job, Math.max(job.charge, job.slots * (nowMs - job.startedMs)));
                recordProgress();
            });
        }

        private void correct(Job job, long charge) {
            boolean corrects = order == Order.SLOT_TIME || order == Order.CORRECTED_UPWARD_ONLY && charge > job.charge;
            if (corrects) {
                scheduler.correct(job.flow, charge - job.charge);
                job.charge = charge;
            }
        }

        void pass(long untilMs) {
            long passedMs = untilMs - nowMs;
            running.forEach(
                    job -> members(job.flow).forEach(member -> used.merge(member, job.slots * passedMs, Long::sum)));
            nowMs = untilMs;
            check();
        }

        private void check() {
            Set<Member> waits = waitingMembers();
            for (Member one : waits) {
                for (Member other : mostInProgress.keySet()) {
                    if (other.group.equals(one.group) && !other.equals(one)) {
                        check(one, other);
                    }
                }
            }
        }

        private void check(Member waits, Member other) {
            double ahead =
                    byWeight(other, used.getOrDefault(other, 0L)) - byWeight(waits, used.getOrDefault(waits, 0L));
            double least = leastAhead.merge(List.of(waits, other), ahead, Math::min);
            double bound = 4
                    * (byWeight(other, mostInProgress.get(other))
                            + byWeight(waits, mostInProgress.getOrDefault(waits, 0L)));
            if (violation == null && ahead - least > bound + 1) {
                violation =
                        other + " is ahead of " + waits + " by " + (ahead - least) + ", which is more than " + bound;
            }
        }

        /** Runs with all flows waiting, or some of them coming and going. */
        Pool run(boolean comeAndGo) {
            List<Flow> flows = List.copyOf(durations.keySet());
            flows.forEach(flow -> add(flow, 2));
            while (nowMs < LASTS_MS && violation == null) {
                for (Flow flow : flows) {
                    boolean isBusy = !comeAndGo || flow.equals(flows.get(0));
                    if (waiting.getOrDefault(flow, 0) < 2 && (isBusy || random.nextInt(40) == 0)) {
                        add(flow, isBusy ? 5 : 1 + random.nextInt(40));
                    }
                }
                releaseAll();
                if (random.nextInt(4) == 0) {
                    extendOne();
                }
                endOne();
            }
            return this;
        }
    }

    private static Durations about(long ms) {
        return random -> ms / 2 + random.nextInt((int) ms);
    }

    private static void slowBesideFast(Pool pool) {
        pool.durations.put(new Flow("t0", "slow"), about(60_000));
        for (int n = 0; n <= pool.random.nextInt(3); n++) {
            pool.durations.put(new Flow("t0", "fast" + n), about(1_000));
        }
    }

    private static void tiers(Pool pool) {
        List<String> tiers = List.copyOf(pool.rules.tiers().keySet());
        for (int n = 0; n < tiers.size(); n++) {
            for (int client = 0; client < 2; client++) {
                Durations lasts = n == 0 ? about(60_000) : about(1_000);
                pool.durations.put(new Flow(tiers.get(n), "c" + client), lasts);
            }
        }
    }

    /** One client's requests last a second or a minute, those of the other half a minute. */
    private static void unpredictable(Pool pool) {
        pool.durations.put(new Flow("t0", "random"), random -> random.nextInt(3) == 0 ? 60_000 : 1_000);
        pool.durations.put(new Flow("t0", "steady"), random -> 20_000);
    }

    private static List<String> violations(Order order, Consumer<Pool> flows, boolean comeAndGo) {
        List<String> violations = new ArrayList<>();
        for (int seed = 0; seed < SEEDS; seed++) {
            Random random = new Random(seed);
            Map<String, TierShare> tiers = new LinkedHashMap<>();
            for (int n = 0; n < 2 + random.nextInt(2); n++) {
                tiers.put("t" + n, new TierShare(0, 1 + random.nextInt(5)));
            }
            Pool pool = new Pool(order, seed, tiers);
            flows.accept(pool);
            pool.run(comeAndGo);
            if (pool.violation != null) {
                violations.add("seed " + seed + ": " + pool.violation);
            }
        }
        return violations;
    }

    private static void onlySlotTimeIsFair(Consumer<Pool> flows, boolean comeAndGo) {
        assertThat(violations(Order.SLOT_TIME, flows, comeAndGo)).isEmpty();
        for (Order worse : List.of(Order.RELEASES, Order.EXPECTED_IS_CHARGED, Order.IN_TURNS)) {
            assertThat(violations(worse, flows, comeAndGo)).as(worse.name()).hasSizeGreaterThan(SEEDS / 2);
        }
    }

    @Test
    void a_client_with_slow_requests_gets_no_more_slot_time_than_one_with_fast_ones() {
        onlySlotTimeIsFair(SlotFairnessTest::slowBesideFast, false);
    }

    @Test
    void tiers_share_slot_time_by_weight() {
        onlySlotTimeIsFair(SlotFairnessTest::tiers, false);
    }

    @Test
    void clients_and_tiers_that_come_and_go_share_slot_time_with_those_that_wait() {
        assertThat(violations(Order.SLOT_TIME, SlotFairnessTest::slowBesideFast, true))
                .isEmpty();
        assertThat(violations(Order.SLOT_TIME, SlotFairnessTest::tiers, true)).isEmpty();
        assertThat(violations(Order.SLOT_TIME, SlotFairnessTest::unpredictable, true))
                .isEmpty();
    }

    @Test
    void a_client_pays_for_what_it_used_however_unpredictable_its_requests_are() {
        assertThat(violations(Order.SLOT_TIME, SlotFairnessTest::unpredictable, false))
                .isEmpty();
        assertThat(violations(Order.CORRECTED_UPWARD_ONLY, SlotFairnessTest::unpredictable, false))
                .hasSizeGreaterThan(SEEDS / 2);
    }
}
