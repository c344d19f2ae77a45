package dev.weir.decision.usage;

import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.Decider;
import dev.weir.decision.MapStates;
import dev.weir.decision.usage.OpenReservation.Holding;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Concurrency;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OpenReservationTest {

    private static final Policy SLOTS = policy("slots", new Concurrency(9, 60_000)).toBuilder()
            .key(List.of("client", "model"))
            .build();
    private static final Policy RATE = inLayer("rate", policy("rate", window(1_000, 60_000)));
    private static final Policy OBSERVED =
            inLayer("watch", onExceed(OnExceed.OBSERVE, policy("watch", new Concurrency(9, 90_000))));

    private final MapStates states = new MapStates();
    private final Decider decider = Decider.local(states);

    private void decide(Request.Builder request, long atMs, PolicyTable policies) {
        decider.decide(request.timestampMs(atMs).source(0, atMs).build(), policies);
    }

    private static Request.Builder consume(String id) {
        return Request.builder(id, "c").cost(3).attributes(Map.of("model", "m"));
    }

    private Optional<OpenReservation> at(long nowMs, PolicyTable policies) {
        return Optional.ofNullable(states.reservations().get(new RequestKey("c", RequestKind.CONSUME, "r")))
                .flatMap(reservation -> OpenReservation.of("r", reservation, policies, nowMs));
    }

    @Test
    void a_reservation_is_listed_with_what_it_holds_until_it_ends() {
        PolicyTable policies = table(SLOTS, RATE, OBSERVED);
        decide(consume("r"), 1_000, policies);
        List<Holding> holdings = List.of(
                new Holding("slots", List.of("model", "m"), false, Optional.of(61_000L)),
                new Holding("rate", List.of(), false, Optional.empty()),
                new Holding("watch", List.of(), true, Optional.of(61_000L)));
        assertThat(at(60_999, policies)).hasValueSatisfying(open -> {
            assertThat(open.requestId()).isEqualTo("r");
            assertThat(open.cost()).isEqualTo(3);
            assertThat(open.sinceMs()).isEqualTo(1_000);
            assertThat(open.endMs()).isEqualTo(61_000);
            assertThat(open.holdings()).containsExactlyInAnyOrderElementsOf(holdings);
        });
        assertThat(at(61_000, policies)).isEmpty();
    }

    @Test
    void a_renewed_one_began_with_its_request() {
        PolicyTable policies = table(SLOTS, RATE);
        decide(consume("r"), 1_000, policies);
        decide(Request.builder("r", "c").kind(RequestKind.RENEW), 31_000, policies);
        assertThat(at(61_000, policies)).hasValueSatisfying(open -> {
            assertThat(open.sinceMs()).isEqualTo(1_000);
            assertThat(open.endMs()).isEqualTo(91_000);
            assertThat(open.holdings()).extracting(Holding::slotsUntilMs).contains(Optional.of(91_000L));
        });
    }

    @ParameterizedTest
    @CsvSource({"RELEASE", "CANCEL"})
    void an_ended_one_is_not_listed(RequestKind kind) {
        PolicyTable policies = table(SLOTS);
        decide(consume("r"), 1_000, policies);
        decide(Request.builder("r", "c").kind(kind), 2_000, policies);
        assertThat(at(3_000, policies)).isEmpty();
    }

    @Test
    void one_that_only_an_observing_policy_asked_for_is_not_listed() {
        PolicyTable policies = table(OBSERVED);
        decide(consume("r"), 1_000, policies);
        assertThat(states.reservations().get(new RequestKey("c", RequestKind.CONSUME, "r")))
                .isNotNull();
        assertThat(at(2_000, policies)).isEmpty();
    }

    @Test
    void a_policy_that_is_not_in_force_any_more_has_no_slots() {
        decide(consume("r"), 1_000, table(SLOTS));
        assertThat(at(2_000, table(RATE)).orElseThrow().holdings())
                .containsExactly(new Holding("slots", List.of("model", "m"), false, Optional.empty()));
    }
}
