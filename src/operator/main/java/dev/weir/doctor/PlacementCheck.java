package dev.weir.doctor;

import dev.weir.backtest.BacktestBudget;
import dev.weir.backtest.RecentRequests;
import dev.weir.backtest.ResultTooLargeException;
import dev.weir.config.WeirConfig.MisplacedAction;
import dev.weir.event.Request;
import dev.weir.requests.RequestPlacement;
import dev.weir.topics.StatePartitions;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.admin.TopicDescription;

/** Checks whether producers write requests to the partitions of their clients. */
final class PlacementCheck {

    private static final Duration BUDGET = Duration.ofSeconds(20);
    private static final Duration RECENT = Duration.ofHours(1);
    private static final int MAX_REQUESTS = 10_000;

    private static final String[] FIX = {
        "in librdkafka producers (Python, Go, C#, Node), set partitioner=murmur2_random",
        "in every producer, use the client in UTF-8 as the key"
    };

    private PlacementCheck() {}

    static void check(ClusterView cluster, FindingCollector findings) {
        String topic = cluster.topics().requests();
        TopicDescription description = cluster.descriptions().get(topic);
        if (description == null) {
            findings.skip(topic + " does not exist, or this user is not permitted to describe it");
            return;
        }
        long nowMs = System.currentTimeMillis();
        List<Request> recent;
        try {
            recent = RecentRequests.read(
                            cluster.config(),
                            nowMs - RECENT.toMillis(),
                            nowMs,
                            MAX_REQUESTS,
                            new BacktestBudget(BUDGET, () -> true))
                    .requests();
        } catch (ResultTooLargeException e) {
            findings.skip("the requests of the last hour are too large to read");
            return;
        }
        RequestPlacement placement = new RequestPlacement(
                description.partitions().size(), cluster.config().requests().misplaced());
        // If partitions were added, producers use the old number until they have detected them.
        RequestPlacement before =
                new RequestPlacement(StatePartitions.of(cluster.admin(), cluster.config()), placement.misplaced());
        List<Request> misplaced = recent.stream()
                .filter(request -> partition(request, placement)
                                != request.source().partition()
                        && partition(request, before) != request.source().partition())
                .toList();
        String of = "of the last " + BrokerChecks.count(recent.size(), "request");
        if (misplaced.isEmpty()) {
            findings.ok(
                    recent.isEmpty()
                            ? "there was no request in the last hour"
                            : "all " + of + " are in the partition of their client");
            return;
        }
        Request last = misplaced.get(misplaced.size() - 1);
        String found = misplaced.size() + " " + of + " are not in the partition of their client: the one at offset "
                + last.source().offset() + " of " + topic + "-" + last.source().partition() + " belongs in partition "
                + partition(last, placement);
        if (placement.misplaced() == MisplacedAction.ROUTE) {
            findings.warn(found + "; they are routed, which takes a second commit", FIX);
        } else {
            findings.fail(found + "; they are dead letters (requests.misplaced)", FIX);
        }
    }

    private static int partition(Request request, RequestPlacement placement) {
        return placement.partitionOf(request.client().getBytes(StandardCharsets.UTF_8));
    }
}
