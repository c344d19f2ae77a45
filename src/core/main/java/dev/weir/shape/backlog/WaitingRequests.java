package dev.weir.shape.backlog;

import dev.weir.event.Admission;
import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.QueueStore.ExpiryTimer;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.QueueStore.Ticket;
import dev.weir.shape.backlog.Slot.Waiting;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The waiting requests of a bucket, in each order that is needed: which leaves next, which expires next, which is
 * newest. It has no notion of pace and emits no decisions.
 *
 * <p>The requests of a flow usually expire in the order in which they wait, so only the heads are watched. A request
 * that expires before another ahead of it has an expiry timer. Memory grows with the flows, not with the requests
 * behind their heads.
 */
public final class WaitingRequests {

    private final QueueStore store;
    private final QueueBacklog backlog;
    private final FlowTable flowTable;
    private final ExpiryTimers expiryTimers;
    private final FairScheduler scheduler;
    private QueueRules rules;
    private Pacing pacing;
    private boolean isChanged;
    private FlowQueue next; // the flow whose head leaves next; null if it has to be looked up

    /**
     * Creates the waiting requests of a bucket.
     *
     * @param pacing the pacing of the rules
     * @param contents a summary of what waits, which the backlog already counts; null to start without requests
     * @param backlog counts what waits in all buckets of the queue; this one updates it
     */
    public WaitingRequests(
            QueueRules rules, Pacing pacing, BucketContents contents, QueueStore store, QueueBacklog backlog) {
        this.rules = rules;
        this.pacing = pacing;
        this.store = store;
        this.backlog = backlog;
        expiryTimers = new ExpiryTimers(store.expiryTimers());
        flowTable = new FlowTable(rules);
        scheduler = new FairScheduler(rules.tiers());
        if (contents != null) {
            restore(contents);
        }
    }

    private void restore(BucketContents contents) {
        contents.flows().forEach(figures -> flowTable.add(new FlowQueue(figures, store.slots())));
        expiryTimers.restore(contents.expiryTimers());
        List<FlowQueue> flows = new ArrayList<>();
        flowTable.flowQueues().forEach(flows::add);
        scheduler.restore(contents.order(), flows);
    }

    /** Returns a summary of what waits. */
    public BucketContents contents() {
        if (isEmpty()) {
            return BucketContents.EMPTY;
        }
        List<BucketContents.FlowSummary> flows = new ArrayList<>(flowTable.flows());
        flowTable.flowQueues().forEach(queue -> flows.add(queue.summary()));
        return new BucketContents(flows, scheduler.state(), expiryTimers.counts());
    }

    /** Returns the number of parts of {@link #contents}: flows, tags and slots of timers. */
    public int partCount() {
        return flowTable.flows() + scheduler.tags() + expiryTimers.buckets();
    }

    /** Returns whether {@link #contents} may have changed since the last call. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /**
     * Restores all requests from the slots. Flows start in the order of their heads' arrival.
     *
     * @param slots passes on the requests, those of each flow in order
     */
    public void restore(Consumer<BiConsumer<Place, Waiting>> slots) {
        Map<Flow, FlowQueue> restored = new HashMap<>();
        slots.accept((place, waiting) -> {
            restored.computeIfAbsent(place.flow(), flow -> new FlowQueue(flow, store.slots()))
                    .restore(place.position(), waiting, pacing);
            if (waiting.expiryTimer() != null) {
                expiryTimers.restore(waiting.expiryTimer());
            }
        });
        List<FlowQueue> all = new ArrayList<>(restored.values());
        all.sort(Comparator.comparingLong(FlowQueue::headNumber).thenComparing(FlowQueue::flow));
        for (FlowQueue queue : all) {
            flowTable.add(queue);
            scheduler.enter(queue.flow(), queue.headCost());
            backlog.add(queue.flow().tier(), queue.size(), queue.tokens());
            backlog.addHead(queue.headEnqueuedAtMs());
        }
    }

    /** Changes the shares of the tiers, and the pace by which requests are counted. */
    public void setRules(QueueRules newRules, Pacing newPacing) {
        if (!newPacing.isSameAs(pacing)) {
            flowTable.flowQueues().forEach(FlowQueue::forgetPace);
        }
        rules = newRules;
        pacing = newPacing;
        next = null;
        scheduler.setShares(rules.tiers());
        flowTable.setRules(rules);
    }

    /** Returns what waits by priority and tier. The result is valid until the next change. */
    public QueueOccupancy occupancy() {
        return flowTable.occupancy();
    }

    /** Returns the number of waiting requests. */
    public long size() {
        return flowTable.size();
    }

    public boolean isEmpty() {
        return flowTable.flows() == 0;
    }

    /** Returns the flow whose head leaves next, null if none waits. */
    public FlowQueue next() {
        if (next == null && !isEmpty()) {
            next = flowTable.get(scheduler.next().orElseThrow());
        }
        return next;
    }

    /** Returns when the request that arrived first was queued, in milliseconds since the epoch; null if none waits. */
    public Long oldestEnqueuedAtMs() {
        return isEmpty() ? null : (Long) flowTable.oldest().headEnqueuedAtMs();
    }

    /** Returns the place of the request that arrived first, if its number is below this one; otherwise null. */
    public Place firstBelow(long number) {
        FlowQueue oldest = flowTable.oldest();
        return oldest == null || oldest.headNumber() >= number ? null : oldest.head();
    }

    /** Returns when the next request may expire, in milliseconds; {@link DueTime#NEVER} if none ever does. */
    public long nextExpiryMs() {
        return isEmpty() ? DueTime.NEVER : Math.min(flowTable.soonestExpiry().headExpiresAtMs(), expiryTimers.dueMs());
    }

    /** Returns the place of a request that has expired; null if there is none, or if the budget is spent. */
    public Place nextExpired(long nowMs, WorkBudget budget) {
        FlowQueue soonest = flowTable.soonestExpiry();
        if (soonest != null && soonest.headExpiresAtMs() <= nowMs) {
            return budget.trySpend() ? soonest.head() : null;
        }
        return expiryTimers.nextDue(nowMs, budget);
    }

    /** Returns the place of the newest request with a ticket, null if none waits. */
    public Place find(Ticket ticket) {
        return store.tickets().get(ticket);
    }

    /** Returns the request that waits at a place. */
    public Waiting get(Place place) {
        if (store.slots().get(place) instanceof Waiting waiting) {
            return waiting;
        }
        throw new IllegalStateException("no request waits at " + place);
    }

    /** Appends a request to a flow. */
    public void enter(Flow flow, Admission admission, long number, long enqueuedAtMs, long expiresAtMs) {
        noteChange();
        FlowQueue queue = flowTable.get(flow);
        if (queue == null) {
            backlog.addHead(enqueuedAtMs);
            queue = new FlowQueue(flow, store.slots());
            scheduler.enter(flow, admission.request().cost());
        } else {
            flowTable.remove(queue);
        }
        ExpiryTimer timer = queue.expiresInOrder(expiresAtMs) ? null : expiryTimers.set(expiresAtMs, queue.next());
        takeTicket(ticket(admission), queue.next());
        queue.append(new Waiting(admission, number, enqueuedAtMs, expiresAtMs, true, timer), pacing);
        flowTable.add(queue);
        backlog.add(
                flow.tier(), 1, QueueOccupancy.cappedCost(admission.request().cost()));
    }

    /** Removes the head of a flow at its turn. */
    public void serve(FlowQueue queue, Waiting head) {
        remove(queue.head(), head);
        scheduler.served(queue.flow(), head.cost(), !queue.isEmpty());
    }

    /** Removes a request out of turn. */
    public void leave(Place place, Waiting waiting) {
        remove(place, waiting);
        if (flowTable.get(place.flow()) == null) {
            scheduler.leave(place.flow());
        }
    }

    /** Returns a time before which no waiting request expires, in milliseconds; {@link DueTime#NEVER} if none does. */
    public long soonestExpiryMs() {
        return isEmpty()
                ? DueTime.NEVER
                : Math.min(flowTable.soonestExpiry().headExpiresAtMs(), expiryTimers.soonestMs());
    }

    /** Returns bounds of what leaves before a request of this cost that arrives now in a flow. */
    public AheadRange ahead(Flow flow, long cost) {
        return new ServiceOrder(rules, flowTable, scheduler, next(), false).ahead(flow, cost, false);
    }

    /**
     * Returns bounds of what leaves before a request that arrives later.
     *
     * @param isAfterNext whether it arrives when the next one has left; then that counts too
     * @param mayExpire whether the upper bound must hold even if requests ahead expire
     */
    public AheadRange aheadLater(Flow flow, long cost, boolean isAfterNext, boolean mayExpire) {
        return new ServiceOrder(rules, flowTable, scheduler, next(), mayExpire).ahead(flow, cost, isAfterNext);
    }

    /** Returns what waits in a flow. */
    public Ahead of(Flow flow) {
        FlowQueue queue = flowTable.get(flow);
        return queue == null ? AheadRange.NOTHING : new Ahead(queue.size(), queue.tokens());
    }

    /**
     * Returns whether no request of a flow expires if nothing but the flow is served; false if it is unknown.
     *
     * @param startNanos when the slots of the flow's head begin at the latest
     * @param current the pace of the bucket
     */
    public boolean isInTime(Flow flow, long startNanos, Pacing current) {
        FlowQueue queue = flowTable.get(flow);
        return queue == null || isCounted(queue, current) && queue.isInTime(startNanos, current);
    }

    /**
     * Returns a lower bound of when a new request of a flow would leave if some request ahead of it in the flow
     * expired; {@link DueTime#NEVER} if none ever does, {@link Long#MIN_VALUE} if it is unknown.
     *
     * @param current the pace of the bucket
     */
    public long afterExpiryNanos(Flow flow, long cost, Pacing current) {
        FlowQueue queue = flowTable.get(flow);
        if (queue == null) {
            return DueTime.NEVER;
        }
        return isCounted(queue, current) ? queue.afterExpiryNanos(cost, current) : Long.MIN_VALUE;
    }

    private boolean isCounted(FlowQueue queue, Pacing current) {
        return queue.size() == 1 || current.isSameAs(pacing);
    }

    public static Ticket ticket(Admission admission) {
        return new Ticket(admission.request().client(), admission.request().requestId());
    }

    private void noteChange() {
        isChanged = true;
        next = null;
    }

    private void remove(Place place, Waiting waiting) {
        noteChange();
        FlowQueue queue = flowTable.get(place.flow());
        flowTable.remove(queue);
        long headEnqueuedAtMs = queue.headEnqueuedAtMs();
        queue.remove(place.position(), waiting);
        backlog.add(place.flow().tier(), -1, -QueueOccupancy.cappedCost(waiting.cost()));
        backlog.removeHead(headEnqueuedAtMs);
        if (queue.isEmpty()) {
            flowTable.removeEmpty(queue);
        } else {
            backlog.addHead(queue.headEnqueuedAtMs());
            flowTable.add(queue);
        }
        if (waiting.expiryTimer() != null) {
            expiryTimers.cancel(waiting.expiryTimer());
        }
        if (waiting.hasTicket()) {
            store.tickets().delete(ticket(waiting.admission()));
        }
    }

    private void takeTicket(Ticket ticket, Place place) {
        Place older = store.tickets().get(ticket);
        if (older != null) {
            store.slots().put(older, get(older).withoutTicket());
        }
        store.tickets().put(ticket, place);
    }
}
