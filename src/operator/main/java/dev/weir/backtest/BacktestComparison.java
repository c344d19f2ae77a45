package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.kafka.UnreachableException;
import dev.weir.metrics.HeavyHitters;
import dev.weir.policy.PolicyTable;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.shape.rules.QueueRules;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The results of deciding recent requests by the definitions in force, and with others in their places. Both runs begin
 * without usage, and empty the queues after the last request.
 *
 * @param before the result of the definitions in force
 * @param after the result of the same with the tried ones
 */
public record BacktestComparison(RecentRequests requests, DecisionStats before, DecisionStats after) {

    /** The maximum number of requests that are read. */
    public static final int MOST_REQUESTS = 100_000;

    private static final int MOST_COMPARED = 10_000;

    /** The number of a client's denials, at most: {@link HeavyHitters}. */
    public record ClientComparison(String client, long deniedBefore, long deniedAfter) {
        long difference() {
            return Math.abs(deniedAfter - deniedBefore);
        }
    }

    /**
     * Reads the requests and decides them twice.
     *
     * @param tried definitions that replace those in force with the same ids
     * @throws UnreachableException if the requests cannot be read
     * @throws ResultTooLargeException if the backtest exceeds its budget
     * @throws java.util.concurrent.CancellationException if the caller has disconnected
     */
    public static BacktestComparison of(
            WeirConfig config, PolicyRegistry live, PolicyFile.Contents tried, int minutes, BacktestBudget budget) {
        long nowMs = System.currentTimeMillis();
        RecentRequests requests = RecentRequests.read(config, nowMs - minutes * 60_000L, nowMs, MOST_REQUESTS, budget);
        return new BacktestComparison(
                requests,
                run(config, live.table(), live.queues(), requests, budget),
                run(config, live.tableWith(tried.policies()), live.queuesWith(tried.queues()), requests, budget));
    }

    private static DecisionStats run(
            WeirConfig config,
            PolicyTable policies,
            Map<String, QueueRules> queues,
            RecentRequests requests,
            BacktestBudget budget) {
        Iterator<Request> next = requests.requests().iterator();
        try {
            return new Backtest(policies, queues, config, budget)
                    .run(() -> next.hasNext() ? next.next() : null, null, null);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: nothing is written
        }
    }

    /** Returns the ids of the shared policies that were evaluated in one of the runs: {@link DecisionStats#shared}. */
    public SortedSet<String> shared() {
        SortedSet<String> shared = new TreeSet<>(before.shared());
        shared.addAll(after.shared());
        return shared;
    }

    /** Returns the clients whose denials differ most. */
    public List<ClientComparison> clients(int most) {
        Map<String, Long> denied = new HashMap<>();
        before.topLimited(MOST_COMPARED).forEach(hitter -> denied.put(hitter.name(), hitter.count()));
        Map<String, ClientComparison> clients = new HashMap<>();
        denied.forEach((client, count) -> clients.put(client, new ClientComparison(client, count, 0)));
        after.topLimited(MOST_COMPARED)
                .forEach(hitter -> clients.put(
                        hitter.name(),
                        new ClientComparison(hitter.name(), denied.getOrDefault(hitter.name(), 0L), hitter.count())));
        return clients.values().stream()
                .filter(client -> client.difference() > 0)
                .sorted(Comparator.comparingLong(ClientComparison::difference)
                        .reversed()
                        .thenComparing(ClientComparison::client))
                .limit(most)
                .toList();
    }
}
