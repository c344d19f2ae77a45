package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.shape.total.Contenders.Contender;
import dev.weir.shape.total.TotalReport.ClientKeys;
import dev.weir.shape.total.TotalReport.Step;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The demand of a tier over time: what its buckets could release by their own pace if the total served no others. A
 * step is a time in which the total would be busy without a pause, so its time can be granted one token after the other.
 *
 * <pre>
 *   total 5/s    a at 0 ms, b at 100 ms, c at 900 ms      steps: 2 tokens from 0 ms on, 1 from 900 ms on
 * </pre>
 */
final class DemandProfile {

    /** In how many parts the later requests of a contender are counted. */
    private static final int PARTS = 8;

    /** What the total serves in this time is as much as a report has to show. */
    private static final long WINDOW_NANOS = 1_000_000_000;

    private final String tier;
    private final DemandScope scope;
    private final long mostTokens;
    private final List<Step> points = new ArrayList<>();
    private long dueTokens; // could be released now
    private long leavingTokens; // could be released until the end of the look-ahead
    private long moreTokens;
    private long clients;
    private List<ClientKeys> largestClients = List.of();
    private long nextCost = 1;
    private long largestCost = 1;

    DemandProfile(String tier, DemandScope scope) {
        this.tier = tier;
        this.scope = scope;
        long ofRate = scope.total().map(total -> total.tokensIn(WINDOW_NANOS)).orElse(0L);
        mostTokens = Math.max(1, Math.max(ofRate, scope.mostInFlight().orElse(0)));
    }

    /**
     * Adds a contender. They must be added by ascending time.
     *
     * @param looks how many more are considered one by one
     * @return whether the next one has to be added too; otherwise its tokens suffice
     */
    boolean add(Contender contender, WorkBudget looks) {
        long turnNanos = Math.max(scope.nowNanos(), contender.turnNanos());
        points.add(new Step(turnNanos, contender.atOnce()));
        dueTokens += turnNanos == scope.nowNanos() ? contender.atOnce() : 0;
        leavingTokens += turnNanos <= scope.horizonNanos() ? contender.atOnce() : 0;
        long later = contender.tokens() - contender.atOnce();
        long part = Math.max(contender.cost(), (later + PARTS - 1) / PARTS);
        Pacing.Arrival time = new Pacing.Arrival(turnNanos, 0);
        for (; later > 0; later -= part) {
            time = scope.pace().after(time, part);
            points.add(new Step(time.ceilNanos(), Math.min(part, later)));
        }
        return dueTokens < mostTokens && looks.trySpend();
    }

    /** Adds contenders that are not considered one by one; they are assumed to be due at the time of the first. */
    void addSum(long tokens, long moreClients, long theirLargestCost) {
        moreTokens += tokens;
        clients += moreClients;
        largestCost = Math.max(largestCost, theirLargestCost);
    }

    /** Adds the cost of the request that leaves next in one of the tiers. */
    void addNextCost(long cost) {
        nextCost = Math.max(nextCost, cost);
    }

    /** Names clients. They are not counted among those of {@link #addSum}. */
    void setLargestClients(List<ClientKeys> largest) {
        largestClients = largest;
    }

    TotalReport.Demand demand() {
        points.sort(Comparator.comparingLong(Step::fromNanos));
        return new TotalReport.Demand(
                tier,
                clients,
                largestClients,
                Math.max(1, nextCost),
                Math.max(1, largestCost),
                scope.total().map(this::steps).orElse(List.of()),
                scope.mostInFlight().isPresent() ? inFlight(scope.mostInFlight().getAsLong()) : InFlightDemand.NONE);
    }

    private InFlightDemand inFlight(long most) {
        boolean isLeaving = points.isEmpty() || points.get(0).fromNanos() <= scope.horizonNanos();
        long next = Math.min(most, Math.max(1, nextCost));
        long sum = Math.min(most, leavingTokens + moreTokens);
        return isLeaving ? new InFlightDemand(next, Math.max(next, sum)) : InFlightDemand.NONE;
    }

    private List<Step> steps(Pacing total) {
        List<Step> steps = new ArrayList<>();
        long fromNanos = points.isEmpty() ? scope.nowNanos() : points.get(0).fromNanos();
        long tokens = moreTokens;
        Pacing.Arrival busyUntil = total.after(new Pacing.Arrival(fromNanos, 0), tokens);
        for (Step point : points) {
            if (point.fromNanos() > busyUntil.ceilNanos() && tokens > 0 && steps.size() < TotalReport.MAX_STEPS - 1) {
                steps.add(new Step(fromNanos, tokens));
                fromNanos = point.fromNanos();
                tokens = 0;
                busyUntil = new Pacing.Arrival(fromNanos, 0);
            }
            tokens += point.tokens();
            busyUntil = total.after(busyUntil, point.tokens());
        }
        steps.add(new Step(fromNanos, Math.max(1, tokens)));
        return steps;
    }
}
