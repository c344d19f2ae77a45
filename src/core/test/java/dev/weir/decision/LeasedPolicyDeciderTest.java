package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseBooks;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.Glob;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestMatcher;
import dev.weir.policy.Sharing;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Tests that the fast path decides like the decider. */
class LeasedPolicyDeciderTest {

    private static final long NOW = 1_000_000;
    private static final LeaseTerms TERMS = LeaseTerms.DEFAULTS;

    private final SplittableRandom random = new SplittableRandom(5);
    private final Map<StateKey, LeaseBook> books = new HashMap<>();
    private final Map<StateKey, LeaseTerms> terms = new HashMap<>();
    private final WritableLeases held = new WritableLeases() {
        @Override
        public LeaseBook book(StateKey key) {
            return books.get(key);
        }

        @Override
        public void put(StateKey key, LeaseBook book) {
            books.put(key, book);
        }

        @Override
        public void recordUnmetDemand(StateKey key, long cost) {}

        @Override
        public void recordQuestion(StateKey key, long cost) {}

        @Override
        public void reset(StateKey key) {}

        @Override
        public boolean hasWaiting(StateKey key) {
            return false;
        }

        @Override
        public LeaseTerms terms(StateKey key) {
            return terms.get(key);
        }

        @Override
        public long roundTripMs() {
            return 30;
        }

        @Override
        public long leaseWaitMs() {
            return 100;
        }
    };

    @Test
    void sufficient_leases_of_all_limits_give_the_same_decision_as_the_decider() {
        int permitted = 0;
        for (int round = 0; round < 20_000; round++) {
            PolicyTable table = PolicyTable.of(policies());
            Request request = request(NOW + random.nextInt(5_000));
            books.clear();
            terms.clear();
            PolicyTable.Search search = new PolicyTable.Search();
            table.find(request(0), request.timestampMs(), search);
            List<Policy> found = new ArrayList<>();
            for (int i = 0; i < search.size(); i++) {
                found.add(search.policy(i));
                long amount = 1L + random.nextInt(6);
                StateKey key = found.get(i).stateKey(request);
                terms.put(key, found.get(i).leaseTerms(TERMS));
                long free = random.nextInt(3);
                books.put(key, LeaseBooks.plus(LeaseBook.empty(), amount, free, NOW, 60_000));
            }
            assertThat(found).isEqualTo(table.applicable(request));
            Decision quick = quick(request, found);
            if (quick != null) {
                permitted++;
                LeaseContext leases = new LeaseContext(held, request.timestampMs(), true, true);
                Decider decider = Decider.readOnly(PolicyStates.NONE, leases);
                assertThat(decider.decide(request, table)).isEqualTo(quick);
            }
        }
        assertThat(permitted).isGreaterThan(5_000);
    }

    /** Returns null if the leases do not suffice, or no policy applies. */
    private Decision quick(Request request, List<Policy> found) {
        LeasedPolicyDecider binding = null;
        List<EnforcedLimit> limits = new ArrayList<>();
        long remaining = 0;
        for (Policy policy : found) {
            LeasedPolicyDecider leased = new LeasedPolicyDecider(policy, TERMS);
            long available = LeaseBooks.available(books.get(policy.stateKey(request)), request.timestampMs());
            if (available < request.cost() || !leased.permitsSize(request)) {
                return null;
            }
            long left = books.get(policy.stateKey(request)).answers().balance().free() + available - request.cost();
            if (!policy.observes()) {
                leased.addLimits(left, request.timestampMs(), limits);
            }
            if (!policy.observes() && (binding == null || leased.isBinding(left, binding, remaining))) {
                binding = leased;
                remaining = left;
            }
        }
        return found.isEmpty()
                ? null
                : binding == null
                        ? Decision.unmatched(request)
                        : binding.allowedDecision(request, remaining, limits, request.timestampMs());
    }

    private List<Policy> policies() {
        List<Policy> policies = new ArrayList<>();
        for (String layer : List.of("a", "b", "c")) {
            for (int i = random.nextInt(3); i > 0; i--) {
                List<Policy.Term> terms = new ArrayList<>();
                for (int term = 1 + random.nextInt(2); term > 0; term--) {
                    Limit<?> limit =
                            random.nextInt(4) == 0 ? new Unlimited() : Samples.window(10 + random.nextInt(3), 60_000);
                    terms.add(new Policy.Term(layer + i + "/" + term, limit));
                }
                RequestMatcher match = random.nextBoolean()
                        ? RequestMatcher.ALL
                        : new RequestMatcher(
                                Map.of("endpoint", List.of(new Glob(random.nextBoolean() ? "/a*" : "/b"))));
                policies.add(Policy.builder(layer + i)
                        .effective(EffectivePeriod.from(random.nextInt(4) == 0 ? NOW + 2_500 : 0))
                        .layer(layer)
                        .match(match)
                        .key(random.nextBoolean() ? List.of() : List.of("client", "endpoint"))
                        .terms(terms)
                        .maxSizeBytes(random.nextInt(4) == 0 ? (Long) 10L : null)
                        .onExceed(random.nextInt(4) == 0 ? OnExceed.OBSERVE : OnExceed.DENY)
                        .sharing(new Sharing(OptionalLong.of(100), true))
                        .build());
            }
        }
        return policies;
    }

    private Request request(long timestampMs) {
        return Request.builder("r", "c")
                .cost(1 + timestampMs % 3)
                .sizeBytes(timestampMs % 5 == 0 ? 20L : 5L)
                .attributes(Map.of("endpoint", "/abc"))
                .timestampMs(timestampMs)
                .build();
    }

    @Test
    void clients_send_requests_for_slots_to_the_tasks_which_know_reservations() {
        Policy slots = Samples.policy("p", new Concurrency(10, 60_000)).toBuilder()
                .sharing(new Sharing(OptionalLong.empty(), true))
                .build();
        assertThat(slots.sharing().byClients()).isTrue();
        assertThat(LeasedPolicyDecider.isForClients(slots)).isFalse();
    }
}
