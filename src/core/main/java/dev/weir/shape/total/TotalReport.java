package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.TotalRate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The demand of a partition for the total of a queue. It replaces the partition's last report.
 *
 * @param place the queue, and the partition that needs time or slots
 * @param rate the rate of the total by the partition's rules, empty if it has none; the ledger uses it if the queue was
 *     deleted
 * @param lagMs how long grants have recently taken from the ledger to the partition, by queue time on both sides
 * @param waiting the number of requests that wait in all keys; 0 if the partition needs nothing more
 * @param grant the number of the last grant that it received, 0 if none
 * @param returned leased time that the partition will not use
 * @param demands the demands that its leased time does not cover, by tier of the first request of each key, higher
 *     priorities first
 * @param claim the slots that its requests in flight may occupy
 */
public record TotalReport(
        QueuePartition place,
        Optional<TotalRate> rate,
        long lagMs,
        long waiting,
        long grant,
        Optional<LeasedTime> returned,
        List<Demand> demands,
        InFlightClaim claim) {

    /** The most tiers that are reported separately. */
    public static final int MAX_DEMANDS = 64;

    /** The most clients that a demand names. */
    public static final int MAX_CLIENTS = 32;

    /** The most characters of the names of clients in all demands, so that a report fits a record. */
    public static final int MAX_NAME_CHARACTERS = 1 << 16;

    /** The most steps of a demand. */
    public static final int MAX_STEPS = 16;

    /**
     * An interval of leased time.
     *
     * @param fromNanos the start, in nanoseconds since the epoch
     * @param untilNanos the end
     */
    public record LeasedTime(long fromNanos, long untilNanos) {}

    /**
     * The demand of one tier: the tokens that keys could release soon at their own pace. A key belongs to the tier of its
     * first request.
     *
     * @param tier the tier
     * @param clients the number of clients whose requests are first in these keys, without those that are named
     * @param largestClients the clients with the most keys
     * @param nextCost the cost of the request that leaves next
     * @param largestCost the largest cost of a first request
     * @param steps the tokens that they could release, by ascending time
     * @param inFlight the slots that they need in flight
     */
    public record Demand(
            String tier,
            long clients,
            List<ClientKeys> largestClients,
            long nextCost,
            long largestCost,
            List<Step> steps,
            InFlightDemand inFlight) {

        public Demand {
            largestClients = List.copyOf(largestClients);
            steps = List.copyOf(steps);
        }

        /** Creates a demand for a total that does not bound what is in flight. */
        public Demand(
                String tier,
                long clients,
                List<ClientKeys> largestClients,
                long nextCost,
                long largestCost,
                List<Step> steps) {
            this(tier, clients, largestClients, nextCost, largestCost, steps, InFlightDemand.NONE);
        }

        /**
         * Returns for how many tokens time must be granted without a break to be useful: for as many as the largest
         * request costs; or as the next one costs if the largest would take longer than until the next grants.
         */
        long leastTokens(Pacing pacing) {
            boolean isShort = pacing.tokensIn(TotalLedger.GRANT_INTERVAL_MS * 1_000_000) >= largestCost;
            return Math.max(1, isShort ? largestCost : nextCost);
        }

        /** Returns this demand with lower costs where they exceed what the queue admits. */
        Demand withCostsUpTo(long most) {
            return new Demand(
                    tier,
                    clients,
                    largestClients,
                    Math.min(nextCost, most),
                    Math.min(largestCost, most),
                    steps,
                    inFlight);
        }

        private Demand withSteps(List<Step> newSteps) {
            return new Demand(tier, clients, largestClients, nextCost, largestCost, newSteps, inFlight);
        }

        private Demand withInFlight(InFlightDemand other) {
            return new Demand(tier, clients, largestClients, nextCost, largestCost, steps, other);
        }

        /** Returns the tokens of all steps. */
        public long tokens() {
            return steps.stream().mapToLong(Step::tokens).sum();
        }
    }

    /**
     * A client of which several keys contend.
     *
     * @param client the client
     * @param keys the number of keys in which a request of the client is first
     */
    public record ClientKeys(String client, long keys) {}

    /**
     * Tokens that could be released one after the other.
     *
     * @param fromNanos when the first could be released, in nanoseconds since the epoch
     * @param tokens 1 or more
     */
    public record Step(long fromNanos, long tokens) {}

    public TotalReport {
        demands = List.copyOf(demands);
    }

    /** Creates a report about a total that does not bound what is in flight. */
    public TotalReport(
            QueuePartition place,
            TotalRate rate,
            long lagMs,
            long waiting,
            long grant,
            Optional<LeasedTime> returned,
            List<Demand> demands) {
        this(place, Optional.of(rate), lagMs, waiting, grant, returned, demands, InFlightClaim.NONE);
    }

    /** Returns the report of a partition that needs nothing. */
    public static TotalReport ofNoDemand(QueuePartition place, InFlightClaim claim) {
        return new TotalReport(place, Optional.empty(), 0, 0, 0, Optional.empty(), List.of(), claim);
    }

    /** Returns the demands with what they need in flight beyond some slots. Those of higher priorities use them first. */
    public static List<Demand> beyondInFlight(List<Demand> demands, long slots) {
        List<Demand> beyond = new ArrayList<>();
        long left = slots;
        for (Demand demand : demands) {
            beyond.add(demand.withInFlight(demand.inFlight.beyond(left)));
            left -= Math.min(left, demand.inFlight.sum());
        }
        return beyond;
    }

    /** Returns the demands with the tokens of one tier only, and of these so many. */
    public static List<Demand> ofTier(String tier, long tokens, List<Demand> demands) {
        return demands.stream()
                .map(demand -> demand.withSteps(demand.tier.equals(tier) ? first(tokens, demand.steps) : List.of()))
                .toList();
    }

    private static List<Step> first(long tokens, List<Step> steps) {
        List<Step> first = new ArrayList<>();
        long left = tokens;
        for (Step step : steps) {
            long part = Math.min(left, step.tokens);
            if (part > 0) {
                first.add(new Step(step.fromNanos, part));
                left -= part;
            }
        }
        return first;
    }

    /**
     * Returns the demands that leased time does not cover. Demands of higher priorities use it first.
     *
     * @param leased intervals that the partition has not used, by ascending time
     * @param pacing the pace of the total
     */
    static List<Demand> uncovered(List<Demand> demands, List<LeasedTime> leased, Pacing pacing) {
        if (leased.isEmpty()) {
            return demands;
        }
        List<LeasedTime> left = new ArrayList<>(leased);
        List<Demand> uncovered = new ArrayList<>();
        for (Demand demand : demands) {
            List<Step> steps = new ArrayList<>();
            for (Step step : demand.steps) {
                long tokens = uncovered(step, demand.leastTokens(pacing), left, pacing);
                if (tokens > 0) {
                    steps.add(new Step(step.fromNanos, tokens));
                }
            }
            uncovered.add(demand.withSteps(steps)); // also without steps, since its clients count
        }
        return uncovered;
    }

    private static long uncovered(Step step, long leastTokens, List<LeasedTime> left, Pacing pacing) {
        long tokens = step.tokens;
        List<LeasedTime> before = List.copyOf(left);
        left.clear();
        for (LeasedTime time : before) {
            long fromNanos = Math.max(time.fromNanos, step.fromNanos);
            long fitting = fromNanos < time.untilNanos ? pacing.tokensIn(time.untilNanos - fromNanos) : 0;
            long used = fitting < Math.min(leastTokens, tokens) ? 0 : Math.min(fitting, tokens);
            if (used == 0) {
                left.add(time);
                continue;
            }
            tokens -= used;
            if (time.fromNanos < fromNanos) {
                left.add(new LeasedTime(time.fromNanos, fromNanos));
            }
            long usedUntilNanos =
                    pacing.after(new Pacing.Arrival(fromNanos, 0), used).ceilNanos();
            if (usedUntilNanos < time.untilNanos) {
                left.add(new LeasedTime(usedUntilNanos, time.untilNanos));
            }
        }
        return tokens;
    }
}
