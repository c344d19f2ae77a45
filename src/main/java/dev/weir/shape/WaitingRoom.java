package dev.weir.shape;

import dev.weir.policy.Admission;
import dev.weir.shape.Crowd.Ahead;
import dev.weir.shape.QueueStore.Alarm;
import dev.weir.shape.QueueStore.Place;
import dev.weir.shape.QueueStore.Ticket;
import dev.weir.shape.Slot.Waiting;
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
final class WaitingRoom {

    private final QueueStore store;
    private final Backlog backlog;
    private final FlowTable lines;
    private final Alarms alarms;
    private final FairScheduler scheduler;
    private boolean isChanged;
    private Map<Flow, Line> restored; // null unless slots are being read

    /**
     * A room with what waits in it; if that is not given, once all slots are {@linkplain #restore restored}.
     *
     * @param contents what waits, as the backlog counts it already; null if it has to be restored from the slots
     * @param backlog what waits in all buckets of the queue, which this one updates
     */
    WaitingRoom(QueueRules rules, BucketContents contents, QueueStore store, Backlog backlog) {
        this.store = store;
        this.backlog = backlog;
        alarms = new Alarms(store.alarms());
        lines = new FlowTable(rules);
        scheduler = new FairScheduler(rules.tiers());
        if (contents != null) {
            restore(contents);
        }
    }

    private void restore(BucketContents contents) {
        contents.flows().forEach(figures -> lines.add(new Line(figures, store.slots())));
        alarms.restore(contents.alarms());
        if (contents.order() != null) {
            scheduler.restore(contents.order());
        } else {
            lines.lines().forEach(line -> scheduler.enter(line.flow()));
        }
    }

    /** What waits, in figures. */
    BucketContents contents() {
        if (isEmpty()) {
            return BucketContents.EMPTY;
        }
        List<BucketContents.FlowFigures> flows = new ArrayList<>(lines.flows());
        lines.lines().forEach(line -> flows.add(line.figures()));
        return new BucketContents(flows, scheduler.state(), alarms.counts());
    }

    /** How many parts {@link #contents} has: flows, tags and slots of alarms. */
    int parts() {
        return lines.flows() + scheduler.tags() + alarms.buckets();
    }

    /** Whether {@link #contents} may have changed since this was called last. */
    boolean takeChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /** Takes note of what a slot holds; each flow's slots in their order. */
    void restore(long position, Waiting waiting) {
        if (restored == null) {
            restored = new HashMap<>();
        }
        restored.computeIfAbsent(waiting.flow(), flow -> new Line(flow, store.slots()))
                .restore(position, waiting);
        if (waiting.alarm() != null) {
            alarms.restore(waiting.alarm());
        }
    }

    /** Goes on once all is restored: who came first is first. */
    void resume() {
        if (restored == null) {
            return;
        }
        List<Line> all = new ArrayList<>(restored.values());
        restored = null;
        all.sort(Comparator.comparingLong(Line::headNumber).thenComparing(Line::flow));
        for (Line line : all) {
            lines.add(line);
            scheduler.enter(line.flow());
            backlog.add(line.flow().tier(), line.size(), line.tokens());
            backlog.addHead(line.headEnqueuedAtMs());
        }
    }

    /** Changes what the tiers get. */
    void setRules(QueueRules rules) {
        scheduler.setShares(rules.tiers());
        lines.setRules(rules);
    }

    /** What waits, by priority and tier; valid until the next change. */
    Crowd crowd() {
        return lines.crowd();
    }

    /** How many wait. */
    long size() {
        return lines.size();
    }

    boolean isEmpty() {
        return lines.flows() == 0;
    }

    /** The flow whose head leaves next, null if nobody waits. */
    Line next() {
        return scheduler.next().map(lines::get).orElse(null);
    }

    /** When the one came that has waited longest, ms since the epoch; null if nobody waits. */
    Long oldestEnqueuedAtMs() {
        return lines.oldestEnqueuedAtMs();
    }

    /** When the next one may expire, in ms; {@link Waiting#NEVER} if nobody ever does. */
    long nextExpiryMs() {
        return isEmpty() ? Waiting.NEVER : Math.min(lines.soonestExpiry().headExpiresAtMs(), alarms.dueMs());
    }

    /** Who has expired, null if nobody has or the budget is spent. */
    Place expired(long nowMs, Budget budget) {
        Line soonest = lines.soonestExpiry();
        if (soonest != null && soonest.headExpiresAtMs() <= nowMs) {
            return budget.spend() ? soonest.head() : null;
        }
        return alarms.ringing(nowMs, budget);
    }

    /** Where the newest of those with a ticket waits, null if none does. */
    Place find(Ticket ticket) {
        return store.tickets().get(ticket);
    }

    /** Who waits at a place. */
    Waiting at(Place place) {
        if (store.slots().get(place) instanceof Waiting waiting) {
            return waiting;
        }
        throw new IllegalStateException("nobody waits at " + place);
    }

    /** Lets one in, behind those of its flow. */
    void enter(Admission admission, long number, long enqueuedAtMs, long expiresAtMs) {
        isChanged = true;
        Flow flow = Waiting.flowOf(admission);
        Line line = lines.get(flow);
        if (line == null) {
            backlog.addHead(enqueuedAtMs);
            line = new Line(flow, store.slots());
            scheduler.enter(flow);
        } else {
            lines.remove(line);
        }
        Alarm alarm = line.expiresInOrder(expiresAtMs) ? null : alarms.set(expiresAtMs, line.next());
        takeTicket(ticket(admission), line.next());
        line.append(new Waiting(admission, number, enqueuedAtMs, expiresAtMs, true, alarm));
        lines.add(line);
        backlog.add(flow.tier(), 1, Crowd.counted(admission.request().cost()));
    }

    /** Lets the head of a flow go, since its turn has come. */
    void serve(Line line, Waiting head) {
        remove(line.head(), head);
        scheduler.served(line.flow(), head.cost(), !line.isEmpty());
    }

    /** Lets one go whose turn has not come. */
    void leave(Place place, Waiting waiting) {
        remove(place, waiting);
        if (lines.get(place.flow()) == null) {
            scheduler.left(place.flow());
        }
    }

    /** Who leaves before one that comes now to a flow, however the others share: its own and all of a higher priority. */
    Ahead surelyAhead(Flow flow) {
        Line line = lines.get(flow);
        Ahead above = crowd().above(flow.tier());
        return line == null ? above : new Ahead(above.requests() + line.size(), above.tokens() + line.tokens());
    }

    /** Who leaves before it if half of the tier's other clients have had their turn of this round. */
    Ahead expectedAhead(Flow flow, long cost) {
        Line line = lines.get(flow);
        long size = line == null ? 0 : line.size();
        long tokens = line == null ? 0 : line.tokens();
        Crowd crowd = crowd();
        Ahead least = crowd.ahead(flow.tier(), size, tokens);
        Ahead most = crowd.ahead(flow.tier(), size + 1, tokens + Crowd.counted(cost));
        return new Ahead((least.requests() + most.requests()) / 2, (least.tokens() + most.tokens()) / 2);
    }

    static Ticket ticket(Admission admission) {
        return new Ticket(admission.request().client(), admission.request().requestId());
    }

    private void remove(Place place, Waiting waiting) {
        isChanged = true;
        Line line = lines.get(place.flow());
        lines.remove(line);
        long headEnqueuedAtMs = line.headEnqueuedAtMs();
        line.remove(place.position(), waiting);
        backlog.add(place.flow().tier(), -1, -Crowd.counted(waiting.cost()));
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
