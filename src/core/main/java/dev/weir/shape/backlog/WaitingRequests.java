package dev.weir.shape.backlog;

import dev.weir.event.Admission;
import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.QueueStore.ExpiryTimer;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.QueueStore.Ticket;
import dev.weir.shape.backlog.Slot.Waiting;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Who waits in a queue, in every order that matters: who leaves next, who expires next, who came last. It knows nothing
 * of the pace and gives no answers.
 *
 * <p>Those of a flow mostly expire in the order in which they wait, so it is enough to watch the heads; one that
 * expires before another ahead of it has an alarm. Memory grows with the flows, not with those behind their heads.
 */
public final class WaitingRequests {

    private final QueueStore store;
    private final QueueBacklog backlog;
    private final FlowTable flowTable;
    private final ExpiryTimers expiryTimers;
    private final FairScheduler scheduler;
    private boolean isChanged;
    private Map<Flow, FlowQueue> restored; // null unless slots are being read

    /**
     * A room with what waits in it; if that is not given, once all slots are {@linkplain #restore restored}.
     *
     * @param contents what waits, as the backlog counts it already; null if it has to be restored from the slots
     * @param backlog what waits in all buckets of the queue, which this one updates
     */
    public WaitingRequests(QueueRules rules, BucketContents contents, QueueStore store, QueueBacklog backlog) {
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
        if (contents.order() != null) {
            scheduler.restore(contents.order());
        } else {
            flowTable.flowQueues().forEach(line -> scheduler.enter(line.flow()));
        }
    }

    /** What waits, in figures. */
    public BucketContents contents() {
        if (isEmpty()) {
            return BucketContents.EMPTY;
        }
        List<BucketContents.FlowSummary> flows = new ArrayList<>(flowTable.flows());
        flowTable.flowQueues().forEach(line -> flows.add(line.summary()));
        return new BucketContents(flows, scheduler.state(), expiryTimers.counts());
    }

    /** How many parts {@link #contents} has: flows, tags and slots of alarms. */
    public int partCount() {
        return flowTable.flows() + scheduler.tags() + expiryTimers.buckets();
    }

    /** Whether {@link #contents} may have changed since this was called last. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /** Takes note of what a slot holds; each flow's slots in their order. */
    public void restore(long position, Waiting waiting) {
        if (restored == null) {
            restored = new HashMap<>();
        }
        restored.computeIfAbsent(waiting.flow(), flow -> new FlowQueue(flow, store.slots()))
                .restore(position, waiting);
        if (waiting.expiryTimer() != null) {
            expiryTimers.restore(waiting.expiryTimer());
        }
    }

    /** Goes on once all is restored: who came first is first. */
    public void resume() {
        if (restored == null) {
            return;
        }
        List<FlowQueue> all = new ArrayList<>(restored.values());
        restored = null;
        all.sort(Comparator.comparingLong(FlowQueue::headNumber).thenComparing(FlowQueue::flow));
        for (FlowQueue line : all) {
            flowTable.add(line);
            scheduler.enter(line.flow());
            backlog.add(line.flow().tier(), line.size(), line.tokens());
            backlog.addHead(line.headEnqueuedAtMs());
        }
    }

    /** Changes what the tiers get. */
    public void setRules(QueueRules rules) {
        scheduler.setShares(rules.tiers());
        flowTable.setRules(rules);
    }

    /** What waits, by priority and tier; valid until the next change. */
    public QueueOccupancy occupancy() {
        return flowTable.occupancy();
    }

    /** How many wait. */
    public long size() {
        return flowTable.size();
    }

    public boolean isEmpty() {
        return flowTable.flows() == 0;
    }

    /** The flow whose head leaves next, null if nobody waits. */
    public FlowQueue next() {
        return scheduler.next().map(flowTable::get).orElse(null);
    }

    /** When the one came that has waited longest, ms since the epoch; null if nobody waits. */
    public Long oldestEnqueuedAtMs() {
        return flowTable.oldestEnqueuedAtMs();
    }

    /** When the next one may expire, in ms; {@link Waiting#NEVER} if nobody ever does. */
    public long nextExpiryMs() {
        return isEmpty() ? Waiting.NEVER : Math.min(flowTable.soonestExpiry().headExpiresAtMs(), expiryTimers.dueMs());
    }

    /** Who has expired, null if nobody has or the budget is spent. */
    public Place nextExpired(long nowMs, WorkBudget budget) {
        FlowQueue soonest = flowTable.soonestExpiry();
        if (soonest != null && soonest.headExpiresAtMs() <= nowMs) {
            return budget.trySpend() ? soonest.head() : null;
        }
        return expiryTimers.nextDue(nowMs, budget);
    }

    /** Where the newest of those with a ticket waits, null if none does. */
    public Place find(Ticket ticket) {
        return store.tickets().get(ticket);
    }

    /** Who waits at a place. */
    public Waiting get(Place place) {
        if (store.slots().get(place) instanceof Waiting waiting) {
            return waiting;
        }
        throw new IllegalStateException("nobody waits at " + place);
    }

    /** Lets one in, behind those of its flow. */
    public void enter(Admission admission, long number, long enqueuedAtMs, long expiresAtMs) {
        isChanged = true;
        Flow flow = Waiting.flowOf(admission);
        FlowQueue line = flowTable.get(flow);
        if (line == null) {
            backlog.addHead(enqueuedAtMs);
            line = new FlowQueue(flow, store.slots());
            scheduler.enter(flow);
        } else {
            flowTable.remove(line);
        }
        ExpiryTimer alarm = line.expiresInOrder(expiresAtMs) ? null : expiryTimers.set(expiresAtMs, line.next());
        takeTicket(ticket(admission), line.next());
        line.append(new Waiting(admission, number, enqueuedAtMs, expiresAtMs, true, alarm));
        flowTable.add(line);
        backlog.add(
                flow.tier(), 1, QueueOccupancy.cappedCost(admission.request().cost()));
    }

    /** Lets the head of a flow go, since its turn has come. */
    public void serve(FlowQueue line, Waiting head) {
        remove(line.head(), head);
        scheduler.served(line.flow(), head.cost(), !line.isEmpty());
    }

    /** Lets one go whose turn has not come. */
    public void leave(Place place, Waiting waiting) {
        remove(place, waiting);
        if (flowTable.get(place.flow()) == null) {
            scheduler.leave(place.flow());
        }
    }

    /**
     * Who leaves before one that comes now to a flow, however the others share: its own and all of a higher priority.
     */
    public Ahead minAhead(Flow flow) {
        FlowQueue line = flowTable.get(flow);
        Ahead above = occupancy().above(flow.tier());
        return line == null ? above : new Ahead(above.requests() + line.size(), above.tokens() + line.tokens());
    }

    /** Who leaves before it if half of the tier's other clients have had their turn of this round. */
    public Ahead expectedAhead(Flow flow, long cost) {
        FlowQueue line = flowTable.get(flow);
        long size = line == null ? 0 : line.size();
        long tokens = line == null ? 0 : line.tokens();
        QueueOccupancy crowd = occupancy();
        Ahead least = crowd.ahead(flow.tier(), size, tokens);
        Ahead most = crowd.ahead(flow.tier(), size + 1, tokens + QueueOccupancy.cappedCost(cost));
        return new Ahead((least.requests() + most.requests()) / 2, (least.tokens() + most.tokens()) / 2);
    }

    public static Ticket ticket(Admission admission) {
        return new Ticket(admission.request().client(), admission.request().requestId());
    }

    private void remove(Place place, Waiting waiting) {
        isChanged = true;
        FlowQueue line = flowTable.get(place.flow());
        flowTable.remove(line);
        long headEnqueuedAtMs = line.headEnqueuedAtMs();
        line.remove(place.position(), waiting);
        backlog.add(place.flow().tier(), -1, -QueueOccupancy.cappedCost(waiting.cost()));
        backlog.removeHead(headEnqueuedAtMs);
        if (line.isEmpty()) {
            flowTable.forget(line);
        } else {
            backlog.addHead(line.headEnqueuedAtMs());
            flowTable.add(line);
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
