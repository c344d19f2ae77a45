package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Outcome;
import dev.weir.processor.Counting;
import dev.weir.processor.DeniedClients;
import dev.weir.processor.EnforcerMetrics;
import org.junit.jupiter.api.Test;

class RecentCountsTest {

    private static final int A_MINUTE = 60;

    private final EnforcerMetrics counts = new EnforcerMetrics();

    private void deny(String client, int times) {
        for (int i = 0; i < times; i++) {
            Counting.decide(counts, client, "p", Outcome.DENIED);
        }
    }

    private static void pass(RecentCounts recently, int seconds) {
        for (int i = 0; i < seconds; i++) {
            recently.nextSecond();
        }
    }

    @Test
    void earlier_counts_are_not_part_of_the_first_second() {
        deny("early", 3);
        RecentCounts recently = new RecentCounts(counts);
        deny("late", 2);
        assertThat(recently.nextSecond().decisions().values()).containsExactly(2L);
        assertThat(recently.nextSecond().decisions().values()).containsExactly(0L);
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
        recently.nextSecond();
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
        for (int i = 0; i < DeniedClients.MAX_CLIENTS; i++) {
            deny("often", 3);
            deny("seldom", 1);
        }
        recently.nextSecond();
        assertThat(recently.clients(9))
                .containsExactly(
                        new InstanceStatus.DeniedClient("often", 3 * DeniedClients.MAX_CLIENTS),
                        new InstanceStatus.DeniedClient("seldom", DeniedClients.MAX_CLIENTS));
    }
}
