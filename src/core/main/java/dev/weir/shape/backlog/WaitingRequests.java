package dev.weir.shape.backlog;

import dev.weir.event.Admission;
import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.backlog.QueueStore.Alarm;
import dev.weir.shape.backlog.QueueStore.Place;
import dev.weir.shape.backlog.QueueStore.Ticket;
import dev.weir.shape.backlog.Slot.Waiting;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Who waits in a queue, in every order that matters: who leaves next, who expires next, who came last. It knows nothing of the
 * pace and gives no answers.
 *
 * <p>Those of a flow mostly expire in the order in which they wait, so it is enough to watch the heads; one that expires before
 * another ahead of it has an alarm. Memory grows with the flows, not with those behind their heads.
 */
public final class WaitingRequests {

    private final QueueStore store;
    private final QueueBacklog backlog;
    private final FlowTable lines;
    private final ExpiryTimers alarms;
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
        alarms = new ExpiryTimers(store.alarms());
        lines = new FlowTable(rules);
        scheduler = new FairScheduler(rules.tiers());
        if (contents != null) {
            restore(contents);
        }
    }

    private void restore(BucketContents contents) {
        contents.flows().forEach(figures -> lines.add(new FlowQueue(figures, store.slots())));
        alarms.restore(contents.alarms());
        if (contents.order() != null) {
            scheduler.restore(contents.order());
        } else {
            lines.lines().forEach(line -> scheduler.enter(line.flow()));
        }
    }

    /** What waits, in figures. */
    public BucketContents contents() {
        if (isEmpty()) {
            return BucketContents.EMPTY;
        }
        List<BucketContents.FlowFigures> flows = new ArrayList<>(lines.flows());
        lines.lines().forEach(line -> flows.add(line.figures()));
        return new BucketContents(flows, scheduler.state(), alarms.counts());
    }

    /** How many parts {@link #contents} has: flows, tags and slots of alarms. */
    public int parts() {
        return lines.flows() + scheduler.tags() + alarms.buckets();
    }

    /** Whether {@link #contents} may have changed since this was called last. */
    public boolean takeChanged() {
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
        if (waiting.alarm() != null) {
            alarms.restore(waiting.alarm());
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
            lines.add(line);
            scheduler.enter(line.flow());
            backlog.add(line.flow().tier(), line.size(), line.tokens());
            backlog.addHead(line.headEnqueuedAtMs());
        }
    }

    /** Changes what the tiers get. */
    public void setRules(QueueRules rules) {
        scheduler.setShares(rules.tiers());
        lines.setRules(rules);
    }

    /** What waits, by priority and tier; valid until the next change. */
    public QueueOccupancy crowd() {
        return lines.crowd();
    }

    /** How many wait. */
    public long size() {
        return lines.size();
    }

    public boolean isEmpty() {
        return lines.flows() == 0;
    }

    /** The flow whose head leaves next, null if nobody waits. */
    public FlowQueue next() {
        return scheduler.next().map(lines::get).orElse(null);
    }

    /** When the one came that has waited longest, ms since the epoch; null if nobody waits. */
    public Long oldestEnqueuedAtMs() {
        return lines.oldestEnqueuedAtMs();
    }

    /** When the next one may expire, in ms; {@link Waiting#NEVER} if nobody ever does. */
    public long nextExpiryMs() {
        return isEmpty() ? Waiting.NEVER : Math.min(lines.soonestExpiry().headExpiresAtMs(), alarms.dueMs());
    }

    /** Who has expired, null if nobody has or the budget is spent. */
    public Place expired(long nowMs, WorkBudget budget) {
        FlowQueue soonest = lines.soonestExpiry();
        if (soonest != null && soonest.headExpiresAtMs() <= nowMs) {
            return budget.spend() ? soonest.head() : null;
        }
        return alarms.ringing(nowMs, budget);
    }

    /** Where the newest of those with a ticket waits, null if none does. */
    public Place find(Ticket ticket) {
        return store.tickets().get(ticket);
    }

    /** Who waits at a place. */
    public Waiting at(Place place) {
        if (store.slots().get(place) instanceof Waiting waiting) {
            return waiting;
        }
        throw new IllegalStateException("nobody waits at " + place);
    }

    /** Lets one in, behind those of its flow. */
    public void enter(Admission admission, long number, long enqueuedAtMs, long expiresAtMs) {
        isChanged = true;
        Flow flow = Waiting.flowOf(admission);
        FlowQueue line = lines.get(flow);
        if (line == null) {
            backlog.addHead(enqueuedAtMs);
            line = new FlowQueue(flow, store.slots());
            scheduler.enter(flow);
        } else {
            lines.remove(line);
        }
        Alarm alarm = line.expiresInOrder(expiresAtMs) ? null : alarms.set(expiresAtMs, line.next());
        takeTicket(ticket(admission), line.next());
        line.append(new Waiting(admission, number, enqueuedAtMs, expiresAtMs, true, alarm));
        lines.add(line);
        backlog.add(flow.tier(), 1, QueueOccupancy.counted(admission.request().cost()));
    }

    /** Lets the head of a flow go, since its turn has come. */
    public void serve(FlowQueue line, Waiting head) {
        remove(line.head(), head);
        scheduler.served(line.flow(), head.cost(), !line.isEmpty());
    }

    /** Lets one go whose turn has not come. */
    public void leave(Place place, Waiting waiting) {
        remove(place, waiting);
        if (lines.get(place.flow()) == null) {
            scheduler.left(place.flow());
        }
    }

    /** Who leaves before one that comes now to a flow, however the others share: its own and all of a higher priority. */
    public Ahead surelyAhead(Flow flow) {
        FlowQueue line = lines.get(flow);
        Ahead above = crowd().above(flow.tier());
        return line == null ? above : new Ahead(above.requests() + line.size(), above.tokens() + line.tokens());
    }

    /** Who leaves before it if half of the tier's other clients have had their turn of this round. */
    public Ahead expectedAhead(Flow flow, long cost) {
        FlowQueue line = lines.get(flow);
        long size = line == null ? 0 : line.size();
        long tokens = line == null ? 0 : line.tokens();
        QueueOccupancy crowd = crowd();
        Ahead least = crowd.ahead(flow.tier(), size, tokens);
        Ahead most = crowd.ahead(flow.tier(), size + 1, tokens + QueueOccupancy.counted(cost));
        return new Ahead((least.requests() + most.requests()) / 2, (least.tokens() + most.tokens()) / 2);
    }

    public static Ticket ticket(Admission admission) {
        return new Ticket(admission.request().client(), admission.request().requestId());
    }

    private void remove(Place place, Waiting waiting) {
        isChanged = true;
        FlowQueue line = lines.get(place.flow());
        lines.remove(line);
        long headEnqueuedAtMs = line.headEnqueuedAtMs();
        line.remove(place.position(), waiting);
        backlog.add(place.flow().tier(), -1, -QueueOccupancy.counted(waiting.cost()));
        backlog.removeHead(headEnqueuedAtMs);
        if (line.isEmpty()) {
            lines.forget(line);
        } else {
            backlog.addHead(line.headEnqueuedAtMs());
            lines.add(line);
        }
        if (waiting.alarm() != null) {
            alarms.clear(waiting.alarm());
        }
        if (waiting.hasTicket()) {
            store.tickets().delete(ticket(waiting.admission()));
        }
    }

    private void takeTicket(Ticket ticket, Place place) {
        Place older = store.tickets().get(ticket);
        if (older != null) {
            store.slots().put(older, at(older).withoutTicket());
        }
        store.tickets().put(ticket, place);
    }
}
