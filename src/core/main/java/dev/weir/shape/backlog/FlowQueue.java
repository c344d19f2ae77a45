package dev.weir.shape.backlog;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.backlog.BucketContents.FlowSummary;
import dev.weir.shape.backlog.FlowBounds.FlowHead;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueEntry.Gap;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore.Place;

/**
 * The waiting requests of one flow, first in first out, as entries at consecutive positions. Only the first request and
 * figures of the last one are in memory.
 *
 * <pre>
 *   position  3     4        5    6        7     8
 *           ┌─────┬────────┬────┬────────┬─────┬─────┐
 *           │ a   │ gap →6 │    │ gap →4 │ b   │ c   │      three requests have left from the middle
 *           └─────┴────────┴────┴────────┴─────┴─────┘
 *             head                               tail
 * </pre>
 *
 * <p>Adjacent gaps are merged, and each end of a gap holds the position of the other. So the next request in either
 * direction is at most one gap away, and each call reads and writes a small constant number of entries, however many
 * requests have left.
 */
public final class FlowQueue {

    private static final long NANOS_PER_MS = 1_000_000;

    private final Flow flow;
    private final KeyValueTable<Place, QueueEntry> entries;
    private Head head; // null before the first request; that of the last one when it has left
    private long last;
    private long size;
    private long tokens;
    private long tailNumber;
    private long latestExpiryMs;
    private long tailCost;
    private FlowBounds bounds; // of several requests; null for fewer

    /** Creates an empty flow. */
    FlowQueue(Flow flow, KeyValueTable<Place, QueueEntry> entries) {
        this(flow, entries, 0);
    }

    /**
     * Creates an empty flow.
     *
     * @param start the position of the first request
     */
    FlowQueue(Flow flow, KeyValueTable<Place, QueueEntry> entries, long start) {
        this.flow = flow;
        this.entries = entries;
        this.last = start - 1;
        this.latestExpiryMs = Long.MIN_VALUE;
    }

    /** Restores what {@link #summary} returned. */
    FlowQueue(FlowSummary figures, KeyValueTable<Place, QueueEntry> entries) {
        flow = figures.flow();
        this.entries = entries;
        head = new Head(
                place(figures.head().position()),
                figures.head().number(),
                figures.head().cost(),
                figures.head().enqueuedAtMs(),
                figures.head().expiresAtMs());
        last = figures.tail().position();
        size = figures.size();
        tokens = figures.tokens();
        tailNumber = figures.tail().number();
        latestExpiryMs = figures.latestExpiryMs();
        tailCost = figures.tail().cost();
        bounds = figures.bounds() == null ? null : new FlowBounds(figures.bounds());
    }

    FlowSummary summary() {
        return new FlowSummary(
                flow,
                size,
                tokens,
                new FlowSummary.FirstRequest(
                        position(head), head.cost(), head.number(), head.enqueuedAtMs(), head.expiresAtMs()),
                new FlowSummary.LastRequest(last, tailCost, tailNumber),
                latestExpiryMs,
                bounds == null ? null : bounds.summary());
    }

    private static long position(Head head) {
        return head.place().position();
    }

    /** Returns what is known of the costs. */
    CostSummary costs() {
        long tail = QueueOccupancy.cappedCost(tailCost);
        return new CostSummary(size, tokens, headCost(), leastCost(), largestCost(), tail, tail);
    }

    /** Returns the cost of the first request, as counted by {@link QueueOccupancy}. */
    private long headCost() {
        return QueueOccupancy.cappedCost(head.cost());
    }

    /** Returns a lower bound of each cost, as counted by {@link QueueOccupancy}. */
    long leastCost() {
        return bounds == null ? headCost() : Math.min(headCost(), bounds.leastCost());
    }

    /** Returns an upper bound of each cost, as counted by {@link QueueOccupancy}. */
    long largestCost() {
        return bounds == null ? headCost() : Math.max(headCost(), bounds.largestCost());
    }

    /** Returns the cost of the last request, as counted by {@link QueueOccupancy}. */
    long tailCost() {
        return QueueOccupancy.cappedCost(tailCost);
    }

    private FlowHead flowHead() {
        return new FlowHead(headCost(), expiryNanos(head.expiresAtMs()));
    }

    /** See {@link FlowBounds#isInTime}. */
    boolean isInTime(long startNanos, Pacing pacing) {
        return bounds().isInTime(flowHead(), tokens, startNanos, pacing);
    }

    /** See {@link FlowBounds#afterExpiryNanos}. */
    long afterExpiryNanos(long cost, Pacing pacing) {
        return bounds().afterExpiryNanos(flowHead(), tokens, cost, pacing);
    }

    /** Records that the pace of the bucket has changed. */
    void forgetPace() {
        if (bounds != null) {
            bounds.forgetPace();
        }
    }

    private static long expiryNanos(long expiresAtMs) {
        return expiresAtMs > Long.MAX_VALUE / NANOS_PER_MS ? Long.MAX_VALUE : expiresAtMs * NANOS_PER_MS;
    }

    Flow flow() {
        return flow;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** Returns the number of waiting requests. */
    long size() {
        return size;
    }

    /** Returns their total cost, as counted by {@link QueueOccupancy}. */
    long tokens() {
        return tokens;
    }

    /** Returns the first request. */
    Head head() {
        return head;
    }

    /** Returns the place of the last request. */
    public Place tail() {
        return place(last);
    }

    long tailNumber() {
        return tailNumber;
    }

    /** Returns whether a request that arrives now would expire no earlier than all those ahead of it. */
    boolean expiresInOrder(long expiresAtMs) {
        return expiresAtMs >= latestExpiryMs;
    }

    /** Returns the place of the next request that arrives. */
    Place next() {
        return place(last + 1);
    }

    /** Appends a request. */
    void append(Waiting waiting, Pacing pacing) {
        Place place = next();
        entries.put(place, waiting);
        recordLast(place, waiting, pacing);
    }

    /** Restores a request. Those of a flow must be restored in order. */
    void restore(Place place, Waiting waiting, Pacing pacing) {
        recordLast(place, waiting, pacing);
    }

    /** Removes the first request, whose entry stays. */
    void takeHead(Waiting first) {
        size--;
        tokens -= QueueOccupancy.cappedCost(first.cost());
        if (size > 0) {
            Found next = next(position(head), 1);
            head = Head.of(next.place, next.waiting);
            bounds.headLeft(position(head), last);
        }
        if (size == 1) {
            bounds = null;
        }
    }

    /** Removes a request, from any place. */
    void remove(Place place, Waiting waiting) {
        long position = place.position();
        if (position == position(head)) {
            entries.delete(place);
            takeHead(waiting);
            return;
        }
        size--;
        tokens -= QueueOccupancy.cappedCost(waiting.cost());
        if (position == last) {
            entries.delete(place);
            Found next = next(position, -1);
            last = next.place.position();
            tailNumber = next.waiting.number();
            tailCost = next.waiting.cost();
        } else {
            leaveGap(position);
        }
        bounds.removeBehindHead(QueueOccupancy.cappedCost(waiting.cost()));
        if (size == 1) {
            bounds = null;
        }
    }

    private FlowBounds bounds() {
        return bounds == null ? new FlowBounds(position(head), headCost()) : bounds;
    }

    private void recordLast(Place place, Waiting waiting, Pacing pacing) {
        last = place.position();
        tailNumber = waiting.number();
        tailCost = waiting.cost();
        if (size++ == 0) {
            head = Head.of(place, waiting);
        } else {
            bounds = bounds();
            bounds.append(QueueOccupancy.cappedCost(waiting.cost()), expiryNanos(waiting.expiresAtMs()), pacing);
        }
        tokens += QueueOccupancy.cappedCost(waiting.cost());
        // one with a timer expires before another ahead of it, which may have left
        latestExpiryMs = Math.max(latestExpiryMs, waiting.expiresAtMs());
    }

    private record Found(Place place, Waiting waiting) {}

    /** Returns the next request in a direction, and removes a gap in between. */
    private Found next(long position, int direction) {
        Place beside = place(position + direction);
        QueueEntry entry = entries.get(beside);
        if (entry instanceof Gap gap) {
            entries.delete(beside);
            entries.delete(place(gap.otherEnd()));
            beside = place(gap.otherEnd() + direction);
            entry = entries.get(beside);
        }
        if (entry instanceof Waiting waiting) {
            return new Found(beside, waiting);
        }
        throw new IllegalStateException("no request waits at " + beside.position() + " of " + flow);
    }

    private void leaveGap(long position) {
        long from = entries.get(place(position - 1)) instanceof Gap before ? before.otherEnd() : position;
        long to = entries.get(place(position + 1)) instanceof Gap behind ? behind.otherEnd() : position;
        for (long inner = position - 1; inner <= position + 1; inner++) {
            if (inner > from && inner < to) {
                entries.delete(place(inner));
            }
        }
        entries.put(place(from), new Gap(to));
        entries.put(place(to), new Gap(from));
    }

    private Place place(long position) {
        return new Place(flow, position);
    }
}
