package dev.weir.shape;

import static dev.weir.shape.QueueHarness.admission;
import static dev.weir.shape.QueueHarness.rules;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.fair.FairnessBound;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests how a queue divides its releases among clients and tiers. */
class FairOutflowTest {

    /** A queue whose requests and releases are checked against the bound. */
    private static final class Checked {
        private record Sent(Flow flow, Admission admission) {
            long cost() {
                return admission.request().cost();
            }
        }

        final QueueHarness queue;
        final FairnessBound bound;
        final Map<String, Sent> waiting = new LinkedHashMap<>();
        final Map<Flow, Long> released = new HashMap<>(); // tokens
        final List<String> order = new ArrayList<>();
        int decisions;

        Checked(QueueRules rules) {
            queue = new QueueHarness(rules);
            bound = new FairnessBound(rules.tiers());
        }

        void offer(String id, String client, String tier, long cost, long nowMs) {
            offer(id, client, tier, cost, Map.of(), client, nowMs);
        }

        /** Offers a request that belongs to the flow with the given value. */
        void offer(
                String id,
                String client,
                String tier,
                long cost,
                Map<String, String> attributes,
                String value,
                long nowMs) {
            settle(nowMs - 1);
            Request request = Request.builder(id, client)
                    .tier(tier)
                    .cost(cost)
                    .attributes(attributes)
                    .source(0, 0)
                    .build();
            Admission admission = withKey(Admission.of(request, "q", new PolicyVersion("p", 1), null));
            Decision decision = queue.send(admission, nowMs);
            endOthers();
            if (decision.outcome() == Outcome.QUEUED) {
                Sent sent = new Sent(new Flow(tier == null ? "" : tier, value), admission);
                waiting.put(id, sent);
                bound.enter(sent.flow, cost);
            }
        }

        private Admission withKey(Admission admission) {
            return admission.withKey(queue.rules.get("q").keyOf(admission.request()));
        }

        /** Returns the answer to a cancellation. */
        Decision cancel(String id, long nowMs) {
            settle(nowMs - 1);
            Request sent = waiting.get(id).admission.request();
            int answer = queue.decisions.size();
            queue.send(
                    withKey(admission(RequestKind.CANCEL, id, sent.client(), sent.tier(), 1, null, sent.attributes())),
                    nowMs);
            endOthers();
            return queue.decisions.get(answer);
        }

        /** Requests that were evicted or cancelled. */
        private void endOthers() {
            for (; decisions < queue.decisions.size(); decisions++) {
                Decision decision = queue.decisions.get(decisions);
                if (decision.outcome() == Outcome.DENIED && waiting.containsKey(decision.requestId())) {
                    bound.leave(waiting.remove(decision.requestId()).flow);
                }
            }
        }

        void settle(long nowMs) {
            queue.runUntil(nowMs);
            for (Release release : queue.releases) {
                Sent sent = waiting.remove(release.requestId());
                bound.serve(sent.flow, sent.cost());
                released.merge(sent.flow, sent.cost(), Long::sum);
                order.add(release.requestId());
            }
            queue.releases.clear();
        }

        long released(String value) {
            return released.getOrDefault(new Flow("", value), 0L);
        }
    }

    /** A request of cost 1,000 leaves before one of two clients with 1,000 requests each arrives, 1 ms after the other. */
    @Test
    void a_large_request_that_has_left_gives_neither_of_two_clients_an_advantage() {
        Checked queue = new Checked(rules(100, 1_000, 1, 10_000, QueueRules.NO_MAX_WAIT));
        queue.offer("huge/0", "huge", null, 1_000, 0);
        for (int n = 0; n < 1_000; n++) {
            queue.offer("early/" + n, "early", null, 1, 0);
        }
        for (int n = 0; n < 1_000; n++) {
            queue.offer("late/" + n, "late", null, 1, 1);
        }
        for (long ms = 10_000; ms < 29_000; ms += 100) {
            queue.settle(ms);
            assertThat(Math.abs(queue.released("early") - queue.released("late")))
                    .as("at %d ms", ms)
                    .isLessThanOrEqualTo(2);
        }
        assertThat(queue.bound.violations()).isEmpty();
    }

    /** Random costs, weights, priorities, arrivals, cancellations, evictions and, for a queue that stores tags, restarts. */
    @Test
    void clients_and_tiers_with_waiting_requests_share_within_the_bound_over_every_interval() {
        List<String> violations = new ArrayList<>();
        double worst = 0;
        int releases = 0;
        for (int seed = 0; seed < Effort.times(60); seed++) {
            Checked queue = run(seed);
            worst = Math.max(worst, queue.bound.worst());
            releases += queue.order.size();
            for (String violation : queue.bound.violations()) {
                violations.add("seed " + seed + ": " + violation);
            }
        }
        assertThat(violations.stream().limit(5)).as("of %d", violations.size()).isEmpty();
        assertThat(releases).isGreaterThan(Effort.times(60) * 200);
        assertThat(worst).isGreaterThan(0.8); // so the bound is tested close to its edge
    }

    private static Checked run(int seed) {
        Random random = new Random(seed);
        boolean storesTags = random.nextBoolean();
        int tiers = 1 + random.nextInt(storesTags ? 2 : 4); // only the tags of up to 32 flows and tiers are stored
        int clients = 1 + random.nextInt(4);
        Map<String, TierShare> shares = new HashMap<>();
        for (int tier = 0; tier < tiers; tier++) {
            shares.put("t" + tier, new TierShare(random.nextInt(2), 1 + random.nextInt(seed % 2 == 0 ? 8 : 10_000)));
        }
        long capacity = random.nextBoolean() ? 40 : 10_000;
        List<String> key = storesTags ? List.of("destination") : List.of();
        Checked queue = new Checked(QueueRules.builder("q", 1_000, 1_000)
                .capacity(capacity)
                .lookAheadMs(0)
                .tiers(shares)
                .key(key)
                .build());
        long largest = (long) Math.pow(10, random.nextInt(4));
        Map<Flow, Long> usual = new HashMap<>();
        long nowMs = 0;
        for (int n = 0; n < 600; n++) {
            nowMs += random.nextInt(4) == 0 ? random.nextInt((int) (6 * largest)) : 0;
            String tier = random.nextInt(6) == 0 ? null : "t" + random.nextInt(tiers);
            String client = "c" + random.nextInt(clients);
            long most = usual.computeIfAbsent(new Flow("" + tier, client), flow -> 1 + random.nextLong(largest));
            int what = random.nextInt(16);
            queue.settle(nowMs - 1);
            if (what < 2 && !queue.waiting.isEmpty()) {
                List<String> ids = List.copyOf(queue.waiting.keySet());
                queue.cancel(ids.get(random.nextInt(ids.size())), nowMs);
            } else if (what == 2 && storesTags) {
                queue.settle(nowMs);
                queue.queue.restart();
            } else {
                long cost = 1 + random.nextLong(most);
                queue.offer(client + "/" + n, client, tier, cost, Map.of("destination", "d"), client, nowMs);
            }
        }
        queue.settle(nowMs + 1_000_000_000);
        assertThat(queue.waiting).isEmpty();
        return queue;
    }

    private static Map<String, String> tenant(String tenant) {
        return Map.of("tenant", tenant);
    }

    /**
     * A tenant asks for a little less than half of the rate, another for twice the rate, with a new client name for each
     * request. With {@code fair-by: tenant}, the first always gets what it asks for, within the bound; by the default, only
     * what one of the waiting names gets.
     */
    @Test
    void a_tenant_that_invents_client_names_gets_no_more_than_its_share_if_tenants_share() {
        for (int seed = 0; seed < Effort.times(8); seed++) {
            for (String fairBy : List.of("tenant", "client")) {
                Random random = new Random(seed);
                QueueRules rules = rules(100, 1_000, 1, 100_000, QueueRules.NO_MAX_WAIT).toBuilder()
                        .fairBy(fairBy)
                        .build();
                Checked queue = new Checked(rules);
                boolean byTenant = fairBy.equals("tenant");
                int largest = 1 + random.nextInt(20);
                long requested = 0;
                for (int n = 0; n < 500; n++) {
                    long nowMs = n * 10L * (1 + largest) / 2; // at the mean cost, one such request leaves in this time
                    for (int i = 0; i < 2; i++) {
                        String name = "name" + n + "-" + i;
                        long cost = 1 + random.nextInt(largest);
                        queue.offer(name, name, null, cost, tenant("flood"), byTenant ? "flood" : name, nowMs);
                    }
                    if (random.nextInt(5) < 2) {
                        long cost = 1 + random.nextInt(largest);
                        requested += cost;
                        queue.offer("s" + n, "steady", null, cost, tenant("steady"), "steady", nowMs);
                    }
                }
                String context =
                        "seed " + seed + ", by " + fairBy + ", " + queue.released("steady") + " of " + requested;
                assertThat(queue.bound.violations()).as(context).isEmpty();
                if (byTenant) {
                    assertThat(queue.released("steady")).as(context).isGreaterThan(requested * 95 / 100);
                } else { // a share for each name, but a share
                    assertThat(queue.released("steady")).as(context).isBetween(requested / 100, requested / 2);
                }
            }
        }
    }

    @Test
    void requests_without_the_field_share_as_one() {
        QueueRules rules = rules(1, 1_000, 1, 100, QueueRules.NO_MAX_WAIT).toBuilder()
                .fairBy("tenant")
                .build();
        Checked queue = new Checked(rules);
        for (int n = 0; n < 3; n++) {
            queue.offer("a" + n, "a" + n, null, 1, Map.of(), "", 0);
        }
        for (int n = 0; n < 3; n++) {
            queue.offer("b" + n, "b" + n, null, 1, tenant("b"), "b", 0);
        }
        queue.settle(10_000);
        assertThat(queue.order).containsExactly("a0", "b0", "a1", "b1", "a2", "b2");
    }

    /** Requests that wait stay in their flow when the field changes, also if the queue is restored afterwards. */
    @Test
    void a_change_of_the_field_applies_to_requests_that_arrive_later() {
        for (List<String> key : List.of(List.<String>of(), List.of("destination"))) {
            QueueRules byClient = QueueRules.builder("q", 1, 1_000)
                    .capacity(100)
                    .lookAheadMs(0)
                    .key(key)
                    .build();
            Checked queue = new Checked(byClient);
            Map<String, String> acme = Map.of("tenant", "acme", "destination", "d");
            Map<String, String> other = Map.of("tenant", "other", "destination", "d");
            for (int n = 0; n < 3; n++) {
                queue.offer("a" + n, "a", null, 1, acme, "a", 0);
            }
            queue.offer("b0", "b", null, 1, acme, "b", 0);
            queue.queue.rules.put("q", byClient.toBuilder().fairBy("tenant").build());
            queue.queue.shaper.refresh(0);
            queue.offer("a3", "a", null, 1, acme, "acme", 0);
            queue.offer("b1", "b", null, 1, acme, "acme", 0);
            queue.offer("o0", "o", null, 1, other, "other", 0);
            queue.queue.restart();
            assertThat(queue.cancel("a1", 0).reason()).isEqualTo(Reason.CANCELLED);
            assertThat(queue.cancel("b1", 0).reason()).isEqualTo(Reason.CANCELLED);
            queue.settle(100_000);
            assertThat(queue.waiting).isEmpty();
            assertThat(queue.order).containsExactly("a0", "b0", "a3", "o0", "a2");
            assertThat(queue.bound.violations()).isEmpty();
        }
    }
}
