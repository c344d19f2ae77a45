package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Changed policies and resets of shared limits. */
@Tag("slow")
class SharedChangesTest extends SharingHarness {

    @Test
    void a_changed_policy_applies_to_earlier_usage() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}", 1);
        for (int i = 0; i < 10; i++) {
            request("alice", 1);
            exchange();
        }
        assertThat(outcomes()).hasSize(10).containsOnly(Outcome.ALLOWED);
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 12, per: 1h}]}", 2);
        pass(5_000); // although, according to the ledger's response, nothing is free for an hour
        for (int i = 0; i < 5; i++) {
            request("alice", 1);
            exchange();
            pass(100);
        }
        assertThat(outcomes())
                .containsExactly(Outcome.ALLOWED, Outcome.ALLOWED, Outcome.DENIED, Outcome.DENIED, Outcome.DENIED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{algorithm: fixed-window, limit: 0}", "{unlimited: true}"})
    void usage_of_a_shared_limit_survives_a_suspension(String suspending) throws Exception {
        apply(HOUR.formatted("fixed-window", 100), 1);
        assertThat(ask(RequestKind.CONSUME, 91).remaining()).isEqualTo(9);
        apply("  - {id: all, key: [], limits: [%s]}".formatted(suspending), 2);
        for (int i = 0; i < 5; i++) {
            pass(2_000);
            exchange();
            Outcome expected = suspending.contains("unlimited") ? Outcome.ALLOWED : Outcome.DENIED;
            assertThat(ask(RequestKind.CONSUME, 3).outcome()).isEqualTo(expected);
        }
        pass(6_000);
        exchange();
        apply(HOUR.formatted("fixed-window", 100), 3);
        pass(6_000);
        exchange();
        assertThat(ask(RequestKind.CONSUME, 1).remaining()).isEqualTo(8);
    }

    @Test
    void a_lease_from_before_a_suspension_is_charged_to_what_was_suspended() throws Exception {
        apply(HOUR.formatted("fixed-window", 100), 1);
        assertThat(ask(RequestKind.CONSUME, 91).outcome()).isEqualTo(Outcome.ALLOWED);
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 0}]}", 2);
        pass(10_000); // the lease is reported after the change
        exchange();
        apply(HOUR.formatted("fixed-window", 100), 3);
        pass(6_000);
        exchange();
        assertThat(ask(RequestKind.PEEK, 1).remaining()).isEqualTo(9);
    }

    @Test
    void a_reset_frees_own_and_shared_limits_at_once() throws Exception {
        apply(
                "  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}\n"
                        + "  - {id: own, layer: own, limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}",
                1);
        for (int i = 0; i < 4; i++) {
            assertThat(ask(RequestKind.CONSUME, 10).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(ask(RequestKind.CONSUME, 1).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
            pass(100L * i);
            Decision reset = ask(RequestKind.RESET, 0);
            assertThat(reset.reason()).isEqualTo(Reason.USAGE_RESET);
            assertThat(reset.policyId()).isEqualTo("own");
            assertThat(reset.remaining()).isEqualTo(10);
        }
        assertThat(ask(RequestKind.PEEK, 10).remaining()).isEqualTo(10);
    }

    private Decision reset(String policyId) throws Exception {
        send(Request.builder("r" + sent++, "alice")
                .kind(RequestKind.RESET)
                .cost(0)
                .attributes(Map.of("endpoint", "/sms"))
                .timestampMs(nowMs)
                .source(0, 0)
                .build()
                .withPolicyId(policyId));
        exchange();
        List<Decision> all = decided();
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    @Test
    void a_reset_of_one_policy_leaves_the_limits_of_others() throws Exception {
        apply(
                "  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}\n"
                        + "  - {id: own, layer: own, limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}",
                1);
        assertThat(ask(RequestKind.CONSUME, 10).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(reset("own").remaining()).isEqualTo(10);
        assertThat(ask(RequestKind.CONSUME, 1).policyId()).isEqualTo("all");
        assertThat(reset("none"))
                .returns(Reason.POLICY_NOT_APPLICABLE, Decision::reason)
                .returns("none", Decision::limitedBy);
        assertThat(ask(RequestKind.CONSUME, 1).policyId()).isEqualTo("all");
        assertThat(reset("all").reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(ask(RequestKind.CONSUME, 9).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(reset("all").reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(ask(RequestKind.CONSUME, 2).policyId()).isEqualTo("own");
    }

    @Test
    void a_reset_of_a_shared_limit_alone_frees_it_for_all_who_share_it() throws Exception {
        apply(HOUR.formatted("gcra", 10), 1);
        request("alice", 4);
        request("bob", 6);
        exchange();
        assertThat(outcomes()).containsOnly(Outcome.ALLOWED);
        Decision reset = ask(RequestKind.RESET, 0);
        assertThat(reset.reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(reset.remaining()).as("the ledger has not answered yet").isNull();
        request("bob", 10);
        exchange();
        assertThat(decided()).singleElement().returns(0L, Decision::remaining);
    }

    @Test
    void use_of_another_holder_before_a_reset_is_not_charged_when_it_is_reported() throws Exception {
        apply(HOUR.formatted("fixed-window", 10), 1);
        LeaseResponse.Granted lease =
                (LeaseResponse.Granted) foreign(new LeaseRequest(1, "other", 8, 8, List.of(), 0, 0));
        assertThat(ask(RequestKind.CONSUME, 2).outcome()).isEqualTo(Outcome.ALLOWED);
        long usedMs = nowMs;
        pass(100);
        assertThat(ask(RequestKind.RESET, 0).reason()).isEqualTo(Reason.USAGE_RESET);
        foreign(new LeaseRequest(
                2, "other", 1, 1, List.of(new LeaseRequest.Report(lease.leaseId(), 5, usedMs, 3)), 0, 0));
        assertThat(ask(RequestKind.CONSUME, 6).outcome()).as("3 + 1 are lent").isEqualTo(Outcome.ALLOWED);
        foreign(LeaseRequest.report("other", List.of(new LeaseRequest.Report(lease.leaseId(), 8, nowMs + 1, 0)), 0));
        assertThat(ask(RequestKind.CONSUME, 1).outcome())
                .as("use after it is charged")
                .isEqualTo(Outcome.DENIED);
    }
}
