package dev.weir.live;

import dev.weir.live.LimitedReport.LimitedClient;
import dev.weir.live.LimitedReport.PolicyResults;
import dev.weir.metrics.EnforcerMetrics.Evaluation;
import dev.weir.metrics.HeavyHitters;
import dev.weir.metrics.LimitedRequest;
import dev.weir.metrics.RecentRing;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The limited requests and the results of policies of the last day on one instance, in bounded memory. Not thread-safe.
 */
// The figures are kept in slots of three lengths: 10 seconds for 5 minutes, a minute for an hour, 10 minutes for a day.
// Each second is added to the current slot of each length, and a query adds up the shortest slots that cover its
// period.
// The current slots count with Space-Saving; of a slot that is over, the entries with the highest counts are kept.
final class LimitedHistory {

    /** The number of combinations of client, policy and reason that a slot counts exactly. */
    static final int COUNTED = 1_000;

    /** The number of these combinations that are kept of a slot that is over. */
    static final int KEPT = 100;

    /** The number of policies that are kept of a slot that is over. */
    static final int KEPT_POLICIES = 200;

    private static final LimitedReport.Selection MOST_POLICIES =
            new LimitedReport.Selection(Optional.empty(), Optional.empty(), Optional.empty(), KEPT_POLICIES);

    private final List<Slots> lengths = List.of(new Slots(10_000, 30), new Slots(60_000, 60), new Slots(600_000, 144));

    /** The slots of one length, oldest first. The last one is the current one. */
    private static final class Slots {
        private final long lengthMs;
        private final int most;
        private final Deque<ClosedSlot> closed = new ArrayDeque<>();
        private OpenSlot open;

        Slots(long lengthMs, int most) {
            this.lengthMs = lengthMs;
            this.most = most;
        }

        long coveredMs() {
            return lengthMs * most;
        }

        OpenSlot at(long atMs) {
            long slotAt = atMs - Math.floorMod(atMs, lengthMs);
            if (open != null && slotAt < open.at) { // the clock was set back
                closed.removeIf(slot -> slot.at >= slotAt);
                open = null;
            }
            if (open != null && slotAt > open.at) {
                closed.addLast(open.close());
                open = null;
                if (closed.size() > most) {
                    closed.removeFirst();
                }
            }
            open = open == null ? new OpenSlot(slotAt) : open;
            return open;
        }

        /** Returns the slots that end after a time. */
        List<ClosedSlot> since(long fromMs) {
            List<ClosedSlot> slots = new ArrayList<>();
            closed.stream().filter(slot -> slot.at + lengthMs > fromMs).forEach(slots::add);
            if (open != null && open.at + lengthMs > fromMs) {
                slots.add(open.read());
            }
            return slots;
        }
    }

    private record ClosedSlot(
            long at, boolean exact, long requests, List<LimitedClient> clients, List<PolicyResults> policies) {}

    private static final class OpenSlot {
        private final long at;
        private final HeavyHitters<LimitedRequest> limited = new HeavyHitters<>(COUNTED);
        private final Map<String, PolicyResults> policies = new HashMap<>();
        private boolean exact = true;
        private long requests;

        OpenSlot(long at) {
            this.at = at;
        }

        ClosedSlot read() {
            return slot(COUNTED, List.copyOf(policies.values()));
        }

        ClosedSlot close() {
            return slot(KEPT, LimitedReport.policies(List.copyOf(policies.values()), MOST_POLICIES));
        }

        private ClosedSlot slot(int most, List<PolicyResults> results) {
            List<HeavyHitters.Hitter<LimitedRequest>> top = limited.top(most + 1);
            return new ClosedSlot(
                    at,
                    exact && limited.isExact() && top.size() <= most,
                    requests,
                    top.stream()
                            .limit(most)
                            .map(hitter -> new LimitedClient(
                                    hitter.name().client(),
                                    hitter.name().policy(),
                                    hitter.name().reason().name(),
                                    hitter.count()))
                            .toList(),
                    results);
        }
    }

    /**
     * Adds a second.
     *
     * @param atMs its beginning
     * @param limited the limited requests of the second, or the last of them
     * @param all the number of limited requests of the second. If there are more than {@code limited} has, each of
     *     those counts as several
     * @param evaluations the results of policies in the second
     */
    void add(long atMs, RecentRing.Snapshot<LimitedRequest> limited, long all, Map<Evaluation, Long> evaluations) {
        Map<LimitedRequest, Long> counts = new TreeMap<>();
        limited.entries().forEach(request -> counts.merge(request, 1L, Long::sum));
        long kept = limited.entries().size();
        for (Slots slots : lengths) {
            OpenSlot slot = slots.at(atMs);
            slot.requests += all;
            slot.exact &= kept == all;
            counts.forEach((request, count) -> slot.limited.add(request, Math.max(1, count * all / kept)));
            evaluations.forEach((evaluation, count) -> {
                PolicyResults results = results(evaluation, count);
                if (results.evaluated() > 0) {
                    slot.policies.merge(results.policy(), results, PolicyResults::plus);
                }
            });
        }
    }

    private static PolicyResults results(Evaluation evaluation, long count) {
        String policy = evaluation.policy();
        return switch (evaluation.result()) {
            case ALLOWED -> new PolicyResults(policy, count, 0, 0);
            case DENIED -> new PolicyResults(policy, 0, count, 0);
            case QUEUED -> new PolicyResults(policy, 0, 0, count);
            case EXPIRED -> new PolicyResults(policy, 0, 0, 0); // counted as queued
        };
    }

    /**
     * Returns the figures of a period up to now. It begins at most one slot before.
     *
     * @param fromMs the beginning of the period
     */
    LimitedReport since(long fromMs, long nowMs, LimitedReport.Selection selection) {
        Slots slots = lengths.stream()
                .filter(one -> one.coveredMs() >= nowMs - fromMs)
                .findFirst()
                .orElse(lengths.get(lengths.size() - 1));
        List<ClosedSlot> covering = slots.since(fromMs);
        List<LimitedClient> clients = new ArrayList<>();
        List<PolicyResults> policies = new ArrayList<>();
        covering.forEach(slot -> {
            clients.addAll(slot.clients);
            policies.addAll(slot.policies);
        });
        List<LimitedClient> most = LimitedReport.clients(clients, selection);
        // A report of all can be added to those of other instances, unless some of its clients are left out.
        boolean isComplete = selection.most() < LimitedReport.MAX_ENTRIES || most.size() < LimitedReport.MAX_ENTRIES;
        return new LimitedReport(
                covering.isEmpty() ? fromMs : Math.min(covering.get(0).at, nowMs),
                nowMs,
                isComplete && covering.stream().allMatch(ClosedSlot::exact),
                covering.stream().mapToLong(ClosedSlot::requests).sum(),
                most,
                LimitedReport.policies(policies, selection));
    }
}
