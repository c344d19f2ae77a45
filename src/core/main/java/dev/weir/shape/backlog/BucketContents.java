package dev.weir.shape.backlog;

import java.util.List;

/**
 * What waits in a bucket, in figures: enough to continue without reading the requests.
 *
 * @param flows those with requests waiting, in the order in which {@link FlowTable} lists them
 * @param order the tags of fair queueing; null if at most one flow waits and none is remembered beside it
 * @param expiryTimers by slot
 */
public record BucketContents(List<FlowSummary> flows, FlowOrder order, List<ExpiryTimerCount> expiryTimers) {

    public static final BucketContents EMPTY = new BucketContents(List.of(), null, List.of());

    /** The figures of a {@link FlowQueue} in which at least one request waits. */
    public record FlowSummary(
            Flow flow,
            long first,
            long last,
            long size,
            long tokens,
            long headCost,
            long headNumber,
            long headEnqueuedAtMs,
            long headExpiresAtMs,
            long tailNumber,
            long latestExpiryMs) {

        /** The tokens that count of the cost of a request. */
        public static long cappedCost(long cost) {
            return QueueOccupancy.cappedCost(cost);
        }
    }

    /** The state of a {@link FairScheduler} that has tags. */
    public record FlowOrder(List<TierOrder> tiers, List<PriorityOrder> priorities) {}

    /** The clients of one tier. */
    public record TierOrder(String tier, Tags clients) {}

    /** The tiers of one priority. */
    public record PriorityOrder(int priority, Tags tiers) {}

    /**
     * The state of a {@link StartTimeFairQueue}.
     *
     * @param members those with a lower order first
     */
    public record Tags(long virtualTime, long ahead, List<MemberTag> members) {}

    /** The tag of one member; {@code isAway} if nothing of it waits. */
    public record MemberTag(String member, long start, long weight, boolean isAway) {}

    /** The {@link ExpiryTimers} of one tenth of a second. */
    public record ExpiryTimerCount(long bucket, long next, long live, long cursor) {}

    public BucketContents {
        flows = List.copyOf(flows);
        expiryTimers = List.copyOf(expiryTimers);
    }

    /** How many requests wait. */
    public long size() {
        return flows.stream().mapToLong(FlowSummary::size).sum();
    }

    /** When the request that has waited longest began to wait, ms since the epoch; null if none waits. */
    public Long oldestEnqueuedAtMs() {
        return flows.isEmpty()
                ? null
                : (Long) flows.stream()
                        .mapToLong(FlowSummary::headEnqueuedAtMs)
                        .min()
                        .getAsLong();
    }

    /** Adds what waits to that of the queue. */
    public void addTo(QueueBacklog backlog) {
        for (FlowSummary flow : flows) {
            backlog.add(flow.flow().tier(), flow.size(), flow.tokens());
            backlog.addHead(flow.headEnqueuedAtMs());
        }
    }
}
