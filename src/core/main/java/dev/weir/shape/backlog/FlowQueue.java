package dev.weir.shape.backlog;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.backlog.BucketContents.FlowSummary;
import dev.weir.shape.backlog.FlowBounds.FlowHead;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.Slot.Gap;
import dev.weir.shape.backlog.Slot.Waiting;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;

/**
 * The waiting requests of one flow, first in first out, in consecutive slots. Only the values of the head are
 * in memory.
 *
 * <pre>
 *   slot      3     4        5    6        7     8
 *           ┌─────┬────────┬────┬────────┬─────┬─────┐
 *           │ a   │ gap →6 │    │ gap →4 │ b   │ c   │      three requests have left from the middle
 *           └─────┴────────┴────┴────────┴─────┴─────┘
 *             head                               tail
 * </pre>
 *
 * <p>Adjacent gaps are merged, and each end of a gap holds the position of the other. So the next request in either
 * direction is at most one gap away, and each call reads and writes a small constant number of slots, however many
 * requests have left.
 */
public final class FlowQueue implements Head {

    private static final long NANOS_PER_MS = 1_000_000;

    private final Flow flow;
    private final KeyValueTable<Place, Slot> slots;
    private long first;
    private long last;
    private long size;
    private long tokens;
    private long headCost;
    private long headNumber;
    private long headEnqueuedAtMs;
    private long headExpiresAtMs;
    private long tailNumber;
    private long latestExpiryMs;
    private long tailCost;
    private FlowBounds bounds; // of several requests; null for fewer

    /** Creates an empty flow. */
    FlowQueue(Flow flow, KeyValueTable<Place, Slot> slots) {
        this(flow, slots, 0);
    }

    /**
     * Creates an empty flow.
     *
     * @param start the position of the first request
     */
    FlowQueue(Flow flow, KeyValueTable<Place, Slot> slots, long start) {
        this.flow = flow;
        this.slots = slots;
        this.first = start;
        this.last = start - 1;
        this.latestExpiryMs = Long.MIN_VALUE;
    }

    /** Restores what {@link #summary} returned. */
    FlowQueue(FlowSummary figures, KeyValueTable<Place, Slot> slots) {
        flow = figures.flow();
        this.slots = slots;
        first = figures.head().position();
        last = figures.tail().position();
        size = figures.size();
        tokens = figures.tokens();
        headCost = figures.head().cost();
        headNumber = figures.head().number();
        headEnqueuedAtMs = figures.head().enqueuedAtMs();
        headExpiresAtMs = figures.head().expiresAtMs();
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
                new FlowSummary.Head(first, headCost, headNumber, headEnqueuedAtMs, headExpiresAtMs),
                new FlowSummary.Tail(last, tailCost, tailNumber),
                latestExpiryMs,
                bounds == null ? null : bounds.summary());
    }

    /** Returns what is known of the costs. */
    CostSummary costs() {
        long tail = QueueOccupancy.cappedCost(tailCost);
        return new CostSummary(
                size, tokens, QueueOccupancy.cappedCost(headCost), leastCost(), largestCost(), tail, tail);
    }

    /** Returns a lower bound of each cost, as counted by {@link QueueOccupancy}. */
    long leastCost() {
        long head = QueueOccupancy.cappedCost(headCost);
        return bounds == null ? head : Math.min(head, bounds.leastCost());
    }

    /** Returns an upper bound of each cost, as counted by {@link QueueOccupancy}. */
    long largestCost() {
        long head = QueueOccupancy.cappedCost(headCost);
        return bounds == null ? head : Math.max(head, bounds.largestCost());
    }

    /** Returns the cost of the last request, as counted by {@link QueueOccupancy}. */
    long tailCost() {
        return QueueOccupancy.cappedCost(tailCost);
    }

    private FlowHead flowHead() {
        return new FlowHead(QueueOccupancy.cappedCost(headCost), expiryNanos(headExpiresAtMs));
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

    @Override
    public Flow flow() {
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

    @Override
    public Place head() {
        return new Place(flow, first);
    }

    public Place tail() {
        return new Place(flow, last);
    }

    @Override
    public long headCost() {
        return headCost;
    }

    long headNumber() {
        return headNumber;
    }

    @Override
    public long headEnqueuedAtMs() {
        return headEnqueuedAtMs;
    }

    @Override
    public long headExpiresAtMs() {
        return headExpiresAtMs;
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
        return new Place(flow, last + 1);
    }

    /** Appends a request. */
    void append(Waiting waiting, Pacing pacing) {
        slots.put(next(), waiting);
        recordLast(last + 1, waiting, pacing);
    }

    /** Restores the request in a slot. Slots must be restored in order. */
    void restore(long position, Waiting waiting, Pacing pacing) {
        if (isEmpty()) {
            first = position;
        }
        recordLast(position, waiting, pacing);
    }

    /** Removes the first request, whose slot stays. */
    void takeHead(Waiting head) {
        size--;
        tokens -= QueueOccupancy.cappedCost(head.cost());
        if (size > 0) {
            Found next = next(first, 1);
            first = next.position;
            setHead(next.waiting);
            bounds.headLeft(first, last);
        }
        if (size == 1) {
            bounds = null;
        }
    }

    /** Removes a request, from any position. */
    void remove(long position, Waiting waiting) {
        if (position == first) {
            slots.delete(place(position));
            takeHead(waiting);
            return;
        }
        size--;
        tokens -= QueueOccupancy.cappedCost(waiting.cost());
        if (position == last) {
            slots.delete(place(position));
            Found next = next(position, -1);
            last = next.position;
            tailNumber = next.waiting.number();
            tailCost = next.waiting.cost();
            bounds.removeBehindHead(QueueOccupancy.cappedCost(waiting.cost()));
        } else {
            leaveGap(position);
            bounds.removeBehindHead(QueueOccupancy.cappedCost(waiting.cost()));
        }
        if (size == 1) {
            bounds = null;
        }
    }

    private FlowBounds bounds() {
        return bounds == null ? new FlowBounds(first, QueueOccupancy.cappedCost(headCost)) : bounds;
    }

    private void recordLast(long position, Waiting waiting, Pacing pacing) {
        last = position;
        tailNumber = waiting.number();
        tailCost = waiting.cost();
        if (size++ == 0) {
            setHead(waiting);
        } else {
            bounds = bounds();
            bounds.append(QueueOccupancy.cappedCost(waiting.cost()), expiryNanos(waiting.expiresAtMs()), pacing);
        }
        tokens += QueueOccupancy.cappedCost(waiting.cost());
        // one with a timer expires before another ahead of it, which may have left
        latestExpiryMs = Math.max(latestExpiryMs, waiting.expiresAtMs());
    }

    private void setHead(Waiting waiting) {
        headCost = waiting.cost();
        headNumber = waiting.number();
        headEnqueuedAtMs = waiting.sinceMs();
        headExpiresAtMs = waiting.expiresAtMs();
    }

    private record Found(long position, Waiting waiting) {}

    /** Returns the next request in a direction, and removes a gap in between. */
    private Found next(long position, int direction) {
        long beside = position + direction;
        Slot slot = slots.get(place(beside));
        if (slot instanceof Gap gap) {
            slots.delete(place(beside));
            slots.delete(place(gap.otherEnd()));
            beside = gap.otherEnd() + direction;
            slot = slots.get(place(beside));
        }
        if (slot instanceof Waiting waiting) {
            return new Found(beside, waiting);
        }
        throw new IllegalStateException("no request waits at " + beside + " of " + flow);
    }

    private void leaveGap(long position) {
        long from = slots.get(place(position - 1)) instanceof Gap before ? before.otherEnd() : position;
        long to = slots.get(place(position + 1)) instanceof Gap behind ? behind.otherEnd() : position;
        for (long inner = position - 1; inner <= position + 1; inner++) {
            if (inner > from && inner < to) {
                slots.delete(place(inner));
            }
        }
        slots.put(place(from), new Gap(to));
        slots.put(place(to), new Gap(from));
    }

    private Place place(long position) {
        return new Place(flow, position);
    }
}
