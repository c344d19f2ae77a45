package dev.weir.shape.backlog;

import dev.weir.shape.fair.FlowOrder;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueEntry.Phase.InFlight;
import dev.weir.shape.store.QueueStore.Place;
import java.util.List;
import java.util.Optional;

/**
 * A summary of what waits in a bucket, sufficient to continue without reading the requests.
 *
 * @param flows the flows with waiting requests, in the order in which {@link FlowTable} lists them
 * @param isSlotTime whether the order of the flows counts the time of slots, and not tokens
 * @param order the order of the flows; null if none waits, or a single one that has not been served
 * @param expiryTimers the expiry timers by tenth of a second
 * @param attempts the requests that were released and have not ended
 * @param times how long attempts have lasted so far, by flow
 */
public record BucketContents(
        List<FlowSummary> flows,
        boolean isSlotTime,
        FlowOrder order,
        List<ExpiryTimerCount> expiryTimers,
        List<AttemptSummary> attempts,
        List<FlowTime> times) {

    public static final BucketContents EMPTY = new BucketContents(List.of(), null, List.of());

    /** Creates the summary of a bucket without slots and released requests. */
    public BucketContents(List<FlowSummary> flows, FlowOrder order, List<ExpiryTimerCount> expiryTimers) {
        this(flows, false, order, expiryTimers, List.of(), List.of());
    }

    /**
     * The state of a {@link FlowQueue} in which at least one request waits.
     *
     * @param size the number of waiting requests
     * @param tokens their costs, as {@link #cappedCost} counts them
     * @param head the first request
     * @param tail the last request
     * @param latestExpiryMs an upper bound of when requests that expire do so
     * @param bounds what is known of the others, null if only one waits
     */
    public record FlowSummary(
            Flow flow,
            long size,
            long tokens,
            FirstRequest head,
            LastRequest tail,
            long latestExpiryMs,
            BoundsSummary bounds) {

        /** The first request of a flow. Its number is that among all requests of the bucket. */
        public record FirstRequest(long position, long cost, long number, long enqueuedAtMs, long expiresAtMs) {}

        /** The last request of a flow. */
        public record LastRequest(long position, long cost, long number) {}

        /** Returns the tokens that a request of this cost counts for in sums. */
        public static long cappedCost(long cost) {
            return QueueOccupancy.cappedCost(cost);
        }
    }

    /** The state of {@link FlowBounds}. */
    public record BoundsSummary(long tokens, long newerFrom, GenerationSummary older, GenerationSummary newer) {}

    /** One generation of requests in {@link FlowBounds}. */
    public record GenerationSummary(long leastCost, long largestCost, long inTimeNanos, long afterExpiryNanos) {

        public static final GenerationSummary EMPTY =
                new GenerationSummary(Long.MAX_VALUE, 0, Long.MAX_VALUE, Long.MAX_VALUE);
    }

    /** The {@link ExpiryTimers} of one tenth of a second. */
    public record ExpiryTimerCount(long interval, long next, long live, long cursor) {}

    /**
     * A request in {@link Attempts}.
     *
     * @param position its position in its flow
     * @param number its number in the order of arrival
     * @param slots the slots that it occupies, 0 unless it is in flight
     * @param untilMs when its time in flight or in backoff is over, in milliseconds since the epoch; 0 if it is due
     * @param startedAtMs when it was released, in milliseconds since the epoch; 0 unless it is in flight
     */
    public record AttemptSummary(
            Flow flow, long position, long number, long cost, long slots, Stage stage, long untilMs, long startedAtMs) {

        /** What a released request waits for: its worker, the end of its backoff, or its turn. */
        public enum Stage {
            IN_FLIGHT,
            BACKOFF,
            /** Stored, as the time does not show it: a backoff is over before a step of work makes its request due. */
            DUE
        }

        /** Returns the summary of a request that is in flight or in backoff. */
        static AttemptSummary of(Place place, Attempted attempted) {
            boolean isInFlight = attempted.phase() instanceof InFlight;
            return new AttemptSummary(
                    place.flow(),
                    place.position(),
                    attempted.request().number(),
                    attempted.request().cost(),
                    attempted.phase() instanceof InFlight lasting ? lasting.slots() : 0,
                    isInFlight ? Stage.IN_FLIGHT : Stage.BACKOFF,
                    attempted.phase().untilMs(),
                    attempted.phase() instanceof InFlight lasting ? lasting.startedAtMs() : 0);
        }

        static AttemptSummary ofDue(Head retry) {
            long position = retry.place().position();
            return new AttemptSummary(retry.flow(), position, retry.number(), retry.cost(), 0, Stage.DUE, 0, 0);
        }

        boolean isWaiting() {
            return stage != Stage.IN_FLIGHT;
        }

        Place place() {
            return new Place(flow, position);
        }

        /** Adds the request to a backlog; or removes it, if the sign is -1. */
        void addTo(QueueBacklog backlog, int sign) {
            if (isWaiting()) {
                backlog.add(flow.tier(), sign, sign * QueueOccupancy.cappedCost(cost));
                backlog.addRetries(flow.tier(), sign);
            } else {
                backlog.addInFlight(flow.tier(), slots, startedAtMs, sign);
            }
        }
    }

    /**
     * How long attempts lasted, as {@link ServiceTimes} averages it.
     *
     * @param flow those of one flow; empty for all
     * @param eighths the average in eighths of a millisecond, 1 or more
     */
    public record FlowTime(Optional<Flow> flow, long eighths) {

        public static FlowTime of(Flow flow, long eighths) {
            return new FlowTime(Optional.of(flow), eighths);
        }

        public static FlowTime ofAll(long eighths) {
            return new FlowTime(Optional.empty(), eighths);
        }
    }

    public BucketContents {
        flows = List.copyOf(flows);
        times = List.copyOf(times);
        expiryTimers = List.copyOf(expiryTimers);
        attempts = List.copyOf(attempts);
    }

    /** Returns the number of waiting requests. */
    public long size() {
        return flows.stream().mapToLong(FlowSummary::size).sum()
                + attempts.stream().filter(AttemptSummary::isWaiting).count();
    }

    /** Returns when the oldest waiting request was queued, in milliseconds since the epoch; null if none waits. */
    public Long oldestEnqueuedAtMs() {
        return flows.isEmpty()
                ? null
                : (Long) flows.stream()
                        .mapToLong(flow -> flow.head().enqueuedAtMs())
                        .min()
                        .getAsLong();
    }

    /** Adds what waits in this bucket to the backlog of the queue. */
    public void addTo(QueueBacklog backlog) {
        for (FlowSummary flow : flows) {
            backlog.add(flow.flow().tier(), flow.size(), flow.tokens());
            backlog.addHead(flow.head().enqueuedAtMs());
        }
        attempts.forEach(attempt -> attempt.addTo(backlog, 1));
    }
}
