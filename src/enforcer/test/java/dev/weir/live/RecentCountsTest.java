package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Outcome;
import dev.weir.processor.Counting;
import dev.weir.processor.EnforcerMetrics;
import org.junit.jupiter.api.Test;

class RecentCountsTest {

    private static final int A_MINUTE = 60;

    private final EnforcerMetrics counts = new EnforcerMetrics();
    private long at;

    private void deny(String client, int times) {
        for (int i = 0; i < times; i++) {
            Counting.decide(counts, client, "p", Outcome.DENIED);
        }
    }

    private void pass(RecentCounts recently, int seconds) {
        for (int i = 0; i < seconds; i++) {
            recently.nextSecond(at += 1_000);
        }
    }

    @Test
    void earlier_counts_are_not_part_of_the_first_second() {
        deny("early", 3);
        RecentCounts recently = new RecentCounts(counts);
        deny("late", 2);
        assertThat(recently.nextSecond(at += 1_000).decisions().values()).containsExactly(2L);
        assertThat(recently.nextSecond(at += 1_000).decisions().values()).containsExactly(0L);
    }

    @Test
    void the_most_denied_clients_are_listed_first_for_a_minute() {
        RecentCounts recently = new RecentCounts(counts);
        deny("b", 2);
        deny("a", 2);
        deny("c", 5);
        Counting.decide(counts, "fine", "q", Outcome.ALLOWED);
        pass(recently, A_MINUTE - 11);
        deny("b", 1);
        recently.nextSecond(at += 1_000);
        assertThat(recently.clients(2))
                .containsExactly(new InstanceStatus.DeniedClient("c", 5), new InstanceStatus.DeniedClient("b", 3));
        assertThat(recently.policies(9))
                .containsExactly(
                        new InstanceStatus.PolicyCounts("p", 0, 10, 0), new InstanceStatus.PolicyCounts("q", 1, 0, 0));
        pass(recently, 20);
        assertThat(recently.clients(9)).containsExactly(new InstanceStatus.DeniedClient("b", 1));
        assertThat(recently.policies(9)).containsExactly(new InstanceStatus.PolicyCounts("p", 0, 1, 0));
        pass(recently, A_MINUTE);
        assertThat(recently.clients(9)).isEmpty();
        assertThat(recently.policies(9)).isEmpty();
    }

    @Test
    void sampled_clients_are_scaled_to_all_denials() {
        RecentCounts recently = new RecentCounts(counts);
        for (int i = 0; i < EnforcerMetrics.MAX_DENIED; i++) {
            deny("often", 3);
            deny("seldom", 1);
        }
        recently.nextSecond(at += 1_000);
        assertThat(recently.clients(9))
                .containsExactly(
                        new InstanceStatus.DeniedClient("often", 3 * EnforcerMetrics.MAX_DENIED),
                        new InstanceStatus.DeniedClient("seldom", EnforcerMetrics.MAX_DENIED));
    }

    @Test
    void a_denial_counts_for_each_policy_that_denies_and_as_passed_for_the_others() {
        RecentCounts recently = new RecentCounts(counts);
        deny("a", 1);
        Counting.evaluate(counts, "also-denies", Outcome.DENIED);
        Counting.evaluate(counts, "passes", Outcome.ALLOWED);
        recently.nextSecond(at += 1_000);
        assertThat(recently.policies(9))
                .containsExactly(
                        new InstanceStatus.PolicyCounts("also-denies", 0, 1, 0),
                        new InstanceStatus.PolicyCounts("p", 0, 1, 0),
                        new InstanceStatus.PolicyCounts("passes", 1, 0, 0));
    }

    @Test
    void the_clients_of_the_last_decisions_are_kept_the_latest_first() {
        RecentCounts recently = new RecentCounts(counts);
        for (int i = 0; i < Sampler.MAX_RECENT + 5; i++) {
            Counting.decide(counts, "client " + i, "p", Outcome.ALLOWED);
            recently.nextSecond(at += 1_000);
        }
        Counting.decide(counts, "client 9", "p", Outcome.ALLOWED);
        recently.nextSecond(at += 1_000);
        pass(recently, 2 * A_MINUTE);
        assertThat(recently.recentClients())
                .hasSize(Sampler.MAX_RECENT)
                .startsWith(
                        new InstanceStatus.RecentClient("client 9", 26_000),
                        new InstanceStatus.RecentClient("client 24", 25_000))
                .endsWith(new InstanceStatus.RecentClient("client 5", 6_000));
    }
}
