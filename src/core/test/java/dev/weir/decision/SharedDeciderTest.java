package dev.weir.decision;

import static dev.weir.decision.Samples.idempotent;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LastRequest;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseBooks;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Unlimited;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.Sharing;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests decisions on shared limits by leases. */
class SharedDeciderTest {

    private static final long NOW = 1_000_000;
    private static final LeaseTerms TERMS = LeaseTerms.DEFAULTS;

    private final Policy own = policy("own", window(5, 60_000));
    private final Policy all = inLayer("all", keyed(List.of(), policy("all", window(100, 60_000))));
    private final StateKey ofAll = all.stateKey(request("alice", 1, NOW));
    private final MapStates states = new MapStates();
    private final Map<StateKey, LeaseBook> books = new HashMap<>();
    private final Map<StateKey, Long> missed = new HashMap<>();
    private final Map<StateKey, Long> requested = new HashMap<>();
    private final Set<StateKey> resets = new HashSet<>();
    private final Set<StateKey> awaited = new HashSet<>();
    private final WritableLeases leases = new WritableLeases() {
        @Override
        public LeaseBook book(StateKey key) {
            return books.getOrDefault(key, LeaseBook.empty());
        }

        @Override
        public void put(StateKey key, LeaseBook book) {
            books.put(key, book);
        }

        @Override
        public void recordUnmetDemand(StateKey key, long cost) {
            missed.merge(key, cost, Long::sum);
        }

        @Override
        public void recordQuestion(StateKey key, long cost) {
            requested.merge(key, cost, Long::sum);
        }

        @Override
        public void reset(StateKey key) {
            resets.add(key);
        }

        @Override
        public boolean hasWaiting(StateKey key) {
            return awaited.contains(key);
        }

        @Override
        public LeaseTerms terms(StateKey key) {
            return TERMS;
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

    private DecisionResult first(Request request, Policy... policies) {
        return new Decider(states, new LeaseContext(leases, NOW, true, true)).decide(request, table(policies));
    }

    private DecisionResult last(Request request, Policy... policies) {
        return new Decider(states, new LeaseContext(leases, NOW, false, false)).decide(request, table(policies));
    }

    private Decision decided(DecisionResult result) {
        return (Decision) result;
    }

    private void grant(StateKey key, long amount) {
        LeaseBook book = books.getOrDefault(key, LeaseBook.empty());
        books.put(key, LeaseBooks.plus(book, amount, NOW, TERMS.termMs()));
    }

    private static long numberOf(LeaseBook requesting) {
        return ((LastRequest.Pending) requesting.request()).number();
    }

    /** Requests a lease for what waits, and handles a refusal. */
    private void refuse(StateKey key, long retryAfterMs) {
        refuse(key, retryAfterMs, false);
    }

    private void refuse(StateKey key, long retryAfterMs, boolean isLent) {
        LeaseSession session = new LeaseSession("me", 1, () -> 0);
        LeaseBook book = books.get(key)
                .nextMessage(session, LeaseBook.Needs.of(1), TERMS, NOW)
                .book();
        LeaseResponse refused = new LeaseResponse.Refused(numberOf(book), NOW, 0, retryAfterMs, isLent);
        books.put(key, book.withResponse(refused, TERMS, NOW));
    }

    private long remaining(StateKey key) {
        return LeaseBooks.available(books.get(key), NOW);
    }

    private long ownUsed() {
        PolicyState state = states.of("alice", "own");
        return state == null ? 0 : state.accounts().get(0).used(NOW);
    }

    @Test
    void the_state_of_a_shared_limit_belongs_to_no_client() {
        assertThat(ofAll).isEqualTo(new StateKey(StateKey.NO_CLIENT, "all", List.of()));
        assertThat(keyed(List.of("tier"), all)
                        .stateKey(request("alice", 1, NOW))
                        .namesAndValues())
                .hasSize(2)
                .startsWith("tier");
    }

    @Test
    void without_a_lease_context_a_shared_limit_counts_all_clients_together() {
        for (int i = 0; i < 100; i++) {
            assertThat(decided(Decider.local(states).decide(request("c" + i, 1, NOW), table(all)))
                            .outcome())
                    .isEqualTo(Outcome.ALLOWED);
        }
        assertThat(decided(Decider.local(states).decide(request("another", 1, NOW), table(all)))
                        .outcome())
                .isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_read_only_decider_changes_no_lease() {
        grant(ofAll, 10);
        LeaseBook before = books.get(ofAll);
        Decider readOnly = Decider.readOnly(states, new LeaseContext(leases, NOW, true, true));
        assertThat(decided(readOnly.decide(request("alice", 3, NOW), table(all)))
                        .outcome())
                .isEqualTo(Outcome.ALLOWED);
        assertThat(decided(readOnly.decide(request("alice", 11, NOW), table(all)))
                        .outcome())
                .isEqualTo(Outcome.DENIED);
        assertThat(books).containsExactly(Map.entry(ofAll, before));
        assertThat(missed).isEmpty();
    }

    @Test
    void a_mismatch_is_denied_without_a_wait_and_uses_no_lease() {
        Policy idempotent = all.toBuilder()
                .version(1)
                .effective(EffectivePeriod.ALWAYS)
                .priority(0)
                .maxSizeBytes(null)
                .idempotencyMs(60_000)
                .build();
        grant(ofAll, 3);
        assertThat(decided(first(request("alice", 1, NOW), idempotent)).outcome())
                .isEqualTo(Outcome.ALLOWED);
        assertThat(decided(first(request("alice", 1, NOW), idempotent)).repeated())
                .isTrue();
        for (long cost : new long[] {0, 2, 50}) {
            assertThat(decided(first(request("alice", cost, NOW), idempotent)).reason())
                    .isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
        }
        assertThat(remaining(ofAll)).isEqualTo(2);
        assertThat(missed).isEmpty();
    }

    @Test
    void leases_and_local_limits_are_charged_together() {
        grant(ofAll, 3);
        assertThat(decided(first(request("alice", 2, NOW), own, all)).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(remaining(ofAll)).isEqualTo(1);
        assertThat(ownUsed()).isEqualTo(2);
        assertThat(missed).isEmpty();
    }

    @Test
    void without_a_lease_a_request_waits_and_nothing_is_charged() {
        assertThat(first(request("alice", 2, NOW), own, all)).isEqualTo(new AwaitLease(ofAll, 100));
        assertThat(ownUsed()).isZero();
        assertThat(books.get(ofAll).demand().current()).isEqualTo(2);
        assertThat(missed).containsEntry(ofAll, 2L);
        assertThat(decided(last(request("alice", 2, NOW), own, all)).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(ownUsed()).isZero();
        assertThat(books.get(ofAll).demand().current()).as("counted once").isEqualTo(2);
    }

    @Test
    void a_waiting_request_is_stored_once_it_is_decided() {
        Policy once = idempotent(60_000, all);
        assertThat(first(request("alice", 2, NOW), once)).isInstanceOf(AwaitLease.class);
        grant(ofAll, 5);
        assertThat(decided(last(request("alice", 2, NOW), once)).repeated()).isFalse();
        assertThat(decided(first(request("alice", 2, NOW), once)).repeated()).isTrue();
        assertThat(remaining(ofAll)).isEqualTo(3);
    }

    @Test
    void a_request_denied_by_local_limits_neither_waits_nor_counts_as_demand() {
        Decision decision = decided(first(request("alice", 6, NOW), own, all));
        assertThat(decision.policyId()).isEqualTo("own");
        assertThat(books).isEmpty();
        assertThat(decided(first(sized(11, request("alice", 2, NOW)), maxSize(10L, all)))
                        .reason())
                .isEqualTo(Reason.TOO_LARGE);
    }

    private static Request request(String client, long cost, long timestampMs) {
        return Request.builder("r", client)
                .cost(cost)
                .timestampMs(timestampMs)
                .source(0, 0)
                .build();
    }

    @Test
    void a_request_is_denied_at_once_with_its_retry_if_the_limit_is_known_to_be_used_up() {
        first(request("alice", 1, NOW), all);
        refuse(ofAll, 700);
        Decision decision = decided(first(request("bob", 1, NOW), all));
        assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decision.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(decision.retryAfterMs()).isEqualTo(700);
        assertThat(decision.limitedBy()).isEqualTo("all/0");
        assertThat(decision.resetAfterMs()).isNull();
    }

    @Test
    void quota_that_other_holders_have_is_not_at_hand_until_their_leases_end() {
        first(request("alice", 1, NOW), all);
        refuse(ofAll, 700, true);
        Decision decision = decided(first(request("bob", 1, NOW), all));
        assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(decision.reason()).isEqualTo(Reason.QUOTA_NOT_AT_HAND);
        assertThat(decision.retryAfterMs()).isEqualTo(700);
    }

    @Test
    void a_cost_that_never_fits_does_not_wait() {
        Decision decision = decided(first(request("alice", 101, NOW), all));
        assertThat(decision.reason()).isEqualTo(Reason.COST_NEVER_FITS);
    }

    @Test
    void a_later_request_waits_behind_earlier_ones() {
        grant(ofAll, 3);
        awaited.add(ofAll);
        assertThat(first(request("alice", 1, NOW), all)).isInstanceOf(AwaitLease.class);
        assertThat(decided(last(request("alice", 1, NOW), all)).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void either_both_of_two_shared_limits_are_charged_or_neither() {
        Policy other = inLayer("tenant", keyed(List.of("tier"), policy("tenant", window(10, 60_000))));
        StateKey ofOther = other.stateKey(request("alice", 1, NOW));
        grant(ofAll, 3);
        assertThat(first(request("alice", 1, NOW), all, other)).isEqualTo(new AwaitLease(ofOther, 100));
        assertThat(remaining(ofAll)).isEqualTo(3);
        grant(ofOther, 1);
        assertThat(decided(first(request("alice", 1, NOW), all, other)).outcome())
                .isEqualTo(Outcome.ALLOWED);
        assertThat(remaining(ofAll)).isEqualTo(2);
        assertThat(remaining(ofOther)).isZero();
    }

    @Test
    void an_observing_policy_makes_no_request_wait() {
        Decision decision = decided(first(request("alice", 1, NOW), onExceed(OnExceed.OBSERVE, all)));
        assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decision.observed()).isTrue();
        assertThat(books.get(ofAll).demand().current()).isEqualTo(1);
    }

    @Test
    void a_decision_has_the_time_of_its_context_and_its_leases() {
        books.put(ofAll, LeaseBooks.holding(5, NOW + 7, 5_000));
        assertThat(decided(first(request("alice", 1, 5), all)).decidedAtMs()).isEqualTo(NOW + 7);
    }

    @Test
    void without_any_lease_the_reason_is_quota_not_at_hand() {
        first(request("alice", 1, NOW), all);
        Decision decision = decided(last(request("alice", 1, NOW), all));
        assertThat(decision.reason()).isEqualTo(Reason.QUOTA_NOT_AT_HAND);
        assertThat(decision.retryAfterMs()).as("a round trip").isEqualTo(30);
        refuse(ofAll, 700);
        assertThat(decided(last(request("alice", 1, NOW), all)).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
    }

    @Test
    void a_used_up_limit_is_exceeded_although_a_lease_request_is_pending() {
        first(request("alice", 1, NOW), all);
        LeaseSession session = new LeaseSession("me", 1, () -> 0);
        LeaseBook book = books.get(ofAll)
                .nextMessage(session, LeaseBook.Needs.of(1), TERMS, NOW - 100)
                .book();
        LeaseResponse refusal = new LeaseResponse.Refused(numberOf(book), NOW, 0, 100, false);
        LeaseBook refused = book.withResponse(refusal, TERMS, NOW - 100);
        books.put(
                ofAll,
                refused.nextMessage(session, LeaseBook.Needs.of(1), TERMS, NOW).book());
        Decision decision = decided(last(request("alice", 1, NOW), all));
        assertThat(decision.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(decision.retryAfterMs()).as("a round trip").isEqualTo(30);
    }

    @Test
    void the_limit_with_the_least_remaining_explains_a_decision_whether_it_is_shared_or_not() {
        grant(ofAll, 2);
        Decision shared = decided(first(request("alice", 1, NOW), own, all));
        assertThat(shared.policyId()).isEqualTo("all");
        assertThat(shared.remaining()).as("nothing else is free").isEqualTo(1);
        books.put(ofAll, LeaseBooks.plus(LeaseBook.empty(), 2, 90, NOW, TERMS.termMs()));
        Decision local = decided(first(request("alice", 1, NOW), own, all));
        assertThat(local.policyId()).isEqualTo("own");
        assertThat(local.remaining()).isEqualTo(3);
        assertThat(decided(first(request("bob", 1, NOW), all)).remaining())
                .as("what is held, and what the ledger had free")
                .isEqualTo(90);
    }

    @Test
    void what_remains_is_unknown_without_a_recent_response() {
        Decision settled = decided(first(settlement("s", 3), own, all));
        assertThat(settled.policyId()).as("known limits come first").isEqualTo("own");
        assertThat(decided(first(settlement("s", 3), all)).remaining()).isNull();
    }

    @Test
    void the_tightest_of_several_limits_of_a_lease_explains_a_decision() {
        Policy two = keyed(List.of(), policy("two", tokens(100, 1_000, 100), window(10, 60_000)));
        Decision decision = decided(last(request("alice", 1, NOW), two));
        assertThat(decision.limitedBy()).isEqualTo("two/1");
        assertThat(decided(first(request("alice", 11, NOW), two)).limitedBy()).isEqualTo("two/1");
    }

    private static Request settlement(String id, long cost) {
        return Request.builder(id, "alice")
                .kind(RequestKind.SETTLE)
                .cost(cost)
                .timestampMs(NOW)
                .source(0, 0)
                .build();
    }

    private static void assertRefundDenied(DecisionResult result) {
        assertThat((Decision) result)
                .returns(Outcome.DENIED, Decision::outcome)
                .returns(Reason.SHARED_LIMIT_REFUND, Decision::reason)
                .returns(422, Decision::httpStatus)
                .returns("all", Decision::policyId)
                .returns("refund", Decision::limitedBy)
                .returns(null, Decision::limit)
                .returns(null, Decision::remaining)
                .returns(null, Decision::retryAfterMs);
    }

    @Test
    void a_refund_of_a_shared_limit_is_denied_and_charges_nothing_whatever_the_leases() {
        Policy counting = policy("own", new FixedWindow(5, 60_000, true));
        first(request("alice", 2, NOW), counting);
        for (long held : new long[] {0, 3}) {
            if (held > 0) {
                grant(ofAll, held);
            }
            Map<StateKey, LeaseBook> before = Map.copyOf(books);
            assertRefundDenied(first(settlement("s", -1), counting, all));
            assertRefundDenied(last(settlement("s", -1_000_000_000_000L), counting, all));
            assertThat(books).isEqualTo(before);
            assertThat(ownUsed()).isEqualTo(2);
            assertThat(missed).isEmpty();
        }
        assertThat(decided(first(settlement("s", -1), counting)).reason())
                .as("of a limit that is not shared")
                .isEqualTo(Reason.SETTLED);
        assertThat(ownUsed()).isEqualTo(1);
    }

    @Test
    void without_a_lease_context_a_refund_of_a_shared_limit_is_denied_too() {
        Decider.local(states).decide(request("alice", 7, NOW), table(all));
        assertRefundDenied(Decider.local(states).decide(settlement("s", -5), table(all)));
        assertThat(states.all().get(ofAll).accounts().get(0).used(NOW)).isEqualTo(7);
        Policy once = inLayer("own", idempotent(60_000, own));
        assertRefundDenied(Decider.local(states).decide(settlement("t", -5), table(once, all)));
    }

    @Test
    void a_repeated_denied_refund_receives_the_first_answer() {
        Policy once = inLayer("own", idempotent(60_000, own));
        Decision first = decided(first(settlement("s", -1), once, all));
        assertRefundDenied(first);
        grant(ofAll, 3);
        Decision again = decided(last(settlement("s", -1), once, all));
        assertRefundDenied(again);
        assertThat(again.repeated()).isTrue();
        assertThat(again.decidedAtMs()).isEqualTo(first.decidedAtMs());
    }

    @Test
    void a_refund_of_a_limit_with_client_leases_is_denied() {
        Policy lent = Policy.builder("all")
                .layer("all")
                .terms(all.terms())
                .sharing(new Sharing(OptionalLong.empty(), true))
                .build();
        assertRefundDenied(first(settlement("s", -1), lent));
    }

    @Test
    void a_shared_policy_that_shapes_denies_a_refund_but_one_that_observes_or_counts_nothing_does_not() {
        assertRefundDenied(first(settlement("s", -1), own, onExceed(new OnExceed.Shape("q"), all)));
        assertThat(decided(first(settlement("s", -1), own, onExceed(OnExceed.SHADOW_BAN, all))))
                .returns(Reason.SHARED_LIMIT_REFUND, Decision::reason)
                .returns(200, Decision::httpStatus);

        first(request("alice", 3, NOW), own);
        assertThat(decided(first(settlement("s", -1), own, onExceed(OnExceed.OBSERVE, all))))
                .returns(Outcome.ALLOWED, Decision::outcome)
                .returns(Reason.SETTLED, Decision::reason)
                .returns(List.of("all"), Decision::observedBy);
        assertThat(books).isEmpty();
        assertThat(ownUsed()).isEqualTo(2);

        Policy unlimited = inLayer("all", keyed(List.of(), policy("all", new Unlimited())));
        assertThat(decided(first(settlement("s", -1), own, unlimited)).reason()).isEqualTo(Reason.SETTLED);
        assertThat(ownUsed()).isEqualTo(1);
    }
}
