package dev.weir.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Outcome;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.Counting;
import org.junit.jupiter.api.Test;

class RecentCountsTest {

    private static final int A_MINUTE = 60;

    private final EnforcerMetrics metrics = new EnforcerMetrics();
    private long at;

    private void deny(String client, int times) {
        for (int i = 0; i < times; i++) {
            Counting.decide(metrics, client, "p", Outcome.DENIED);
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
        RecentCounts recently = new RecentCounts(metrics);
        deny("late", 2);
        assertThat(recently.nextSecond(at += 1_000).decisions().values()).containsExactly(2L);
        assertThat(recently.nextSecond(at += 1_000).decisions().values()).containsExactly(0L);
    }

    @Test
    void the_clients_of_the_last_decisions_are_kept_the_latest_first() {
        RecentCounts recently = new RecentCounts(metrics);
        for (int i = 0; i < Sampler.MAX_RECENT + 5; i++) {
            Counting.decide(metrics, "client " + i, "p", Outcome.ALLOWED);
            recently.nextSecond(at += 1_000);
        }
        Counting.decide(metrics, "client 9", "p", Outcome.ALLOWED);
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
