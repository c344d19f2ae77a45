package dev.weir.live;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Outcome;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.Counting;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.prometheus.MetricSource;
import dev.weir.requests.RequestPartitions;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import dev.weir.storage.CacheBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SamplerTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final long HOUR_MS = 3_600_000;

    private enum Health {
        RUNNING
    }

    private final EnforcerMetrics metrics = new EnforcerMetrics();
    private final List<QueueView> queues = new ArrayList<>();
    private final Sampler sampler = new Sampler(
            new MetricSource(
                    new MetricSource.Applications(Map.of(), Map::of),
                    metrics,
                    new PolicyRegistry(),
                    new CacheBudget(0),
                    () -> List.copyOf(queues),
                    () -> Health.RUNNING,
                    new RequestPartitions(1, 1)),
            "a:1",
            "weir.policies");

    @AfterEach
    void close() {
        sampler.close();
    }

    /** Samples a second that is later than those of the sampler's thread. */
    private InstanceReport sample() {
        sampler.sample(System.currentTimeMillis() + HOUR_MS);
        return sampler.since(0);
    }

    private void addQueue(String id, long waiting, Long keys) {
        QueueRules rules = QueueRules.builder(id, 1, 1)
                .capacity(QueueRules.MAX_CAPACITY)
                .lookAheadMs(0)
                .build();
        List<QueueView.TierView> tiers = List.of(new QueueView.TierView(null, new TierShare(0, 1), waiting));
        queues.add(new QueueView(
                rules,
                false,
                new QueueView.BacklogView(waiting, waiting, tiers, 0L, 0),
                keys == null ? new QueueView.OneBucket(0, null) : new QueueView.SeveralBuckets(keys, keys, List.of())));
    }

    @Test
    void limited_clients_and_the_results_of_policies_are_reported() {
        Counting.decide(metrics, "alice", "p", Outcome.DENIED);
        Counting.decide(metrics, "bob", "p", Outcome.ALLOWED);
        Counting.evaluate(metrics, "q", Outcome.ALLOWED);
        long nowMs = System.currentTimeMillis() + HOUR_MS;
        sampler.sample(nowMs);
        LimitedReport.Selection all =
                new LimitedReport.Selection(Optional.empty(), Optional.empty(), Optional.empty(), 9);
        LimitedReport report = sampler.limitedSince(nowMs - 2 * HOUR_MS, nowMs, all);
        assertThat(report.requests()).isEqualTo(1);
        assertThat(report.exact()).isTrue();
        assertThat(report.clients())
                .containsExactly(new LimitedReport.LimitedClient("alice", "p", "LIMIT_EXCEEDED", 1));
        assertThat(report.policies())
                .containsExactly(
                        new LimitedReport.PolicyResults("p", 1, 1, 0), new LimitedReport.PolicyResults("q", 1, 0, 0));
    }

    @Test
    void the_fullest_queues_are_reported_and_further_ones_with_keys() {
        for (int i = 0; i < Sampler.MAX_QUEUES + 5; i++) {
            addQueue("single" + i, 100 + i, null);
        }
        for (int i = 0; i < Sampler.MAX_FURTHER_QUEUES + 5; i++) {
            addQueue("keyed" + i, 50 - i, 2L);
        }
        List<String> expected = new ArrayList<>();
        IntStream.range(5, Sampler.MAX_QUEUES + 5).forEach(i -> expected.add(0, "single" + i));
        IntStream.range(0, Sampler.MAX_FURTHER_QUEUES).forEach(i -> expected.add("keyed" + i));
        InstanceReport report = sample();
        assertThat(report.now().queues().fullest()).extracting(QueueStatus::id).isEqualTo(expected);
        assertThat(report.seconds().get(report.seconds().size() - 1).queues())
                .extracting(InstanceSecond.QueueSecond::id)
                .isEqualTo(expected);
        assertThat(report.now().queues().count()).isEqualTo(queues.size());
        assertThat(report.now().queues().keyed()).hasSize(Sampler.MAX_FURTHER_QUEUES + 5);
    }

    @Test
    void the_slots_of_each_key_and_of_all_keys_are_reported() {
        QueueRules rules = QueueRules.builder("jobs", InFlightRules.of(3))
                .key(List.of("client"))
                .total(QueueTotal.ofInFlight(7, 100))
                .build();
        queues.add(new QueueView(
                        rules,
                        false,
                        new QueueView.BacklogView(0, 0, List.of(), null, 0),
                        new QueueView.SeveralBuckets(2, 2, List.of()))
                .withInFlight(new QueueView.InFlightView(4, 5, Map.of(), 1, 10L)));
        assertThat(sample().now().queues().fullest())
                .extracting(QueueStatus::inFlight)
                .containsExactly(new QueueStatus.InFlightStatus(3L, 7L, 4, 5, 1, 10L));
    }

    @Test
    void the_number_of_reported_ids_is_bounded() {
        for (int i = 0; i < Sampler.MAX_IDS + 5; i++) {
            addQueue("keyed" + i, 0, 2L);
        }
        InstanceReport report = sample();
        assertThat(report.now().queues().keyed()).hasSize(Sampler.MAX_IDS).doesNotHaveDuplicates();
        assertThat(report.now().queues().count()).isEqualTo(Sampler.MAX_IDS + 5);
    }

    @Test
    void after_the_clock_was_set_back_the_present_is_sampled() {
        long aheadMs = System.currentTimeMillis() + HOUR_MS;
        sampler.sample(aheadMs);
        await("figures of the present only", PATIENCE, () -> {
            List<InstanceSecond> seconds = sampler.since(0).seconds();
            return !seconds.isEmpty() && seconds.stream().allMatch(second -> second.at() < aheadMs - HOUR_MS / 2);
        });
    }
}
