package dev.weir.shape.backlog;

import dev.weir.event.Admission;
import dev.weir.shape.backlog.QueueOccupancy.Ahead;
import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueEntry.Phase.InFlight;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.ExpiryTimer;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.QueueStore.Ticket;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The requests of a bucket that wait for their turn, in each order that is needed: which leaves next, which expires
 * next, which is newest. They wait for their first release, or are due for another attempt. {@link Attempts} stores the
 * latter, with all that were released and have not ended; {@link ScheduledRequests} has those that wait for their time.
 * This class emits no decisions.
 *
 * <p>If its rules have slots, a request keeps its place when it is released. Positions of a flow that is empty start
 * again with the number of the next request. Numbers grow faster than positions, also before slots are added, so that
 * a place is used twice only by requests that have waited for their time. A retry leaves before all of its flow that wait for their first release. A flow whose client has
 * no slots for its first request does not take part until slots of the client are free; nor does a tier that has none for
 * the next request of its flows.
 *
 * <p>The requests of a flow usually expire in the order in which they wait, so only the heads are watched. A request
 * that expires before another ahead of it has an expiry timer. Memory grows with the flows, not with the requests
 * behind their heads.
 */
public final class WaitingRequests {

    /** From what the waiting requests of a bucket are restored. */
    public sealed interface Contents {}

    /** A summary of what waits, which the backlog of the queue already counts. */
    public record Summarized(BucketContents summary) implements Contents {}

    /**
     * The requests themselves, which are all read.
     *
     * @param entries passes on the requests that wait or were released, those of each flow in order
     */
    public record Stored(Consumer<BiConsumer<Place, QueueEntry>> entries) implements Contents {}

    private final QueueStore store;
    private final QueueBacklog backlog;
    private final FlowTable flowTable;
    private final ExpiryTimers expiryTimers;
    private final Attempts attempts;
    private final ServiceTimes times = new ServiceTimes();
    private FairScheduler scheduler;
    private final ScheduledRequests scheduled;
    private QueueRules rules;
    private Pacing pacing;
    private boolean hasMinShares;
    private boolean isChanged;
    private long latestNumber; // of those that wait
    private Head next; // null if it has to be looked up

    /**
     * Creates the waiting requests of a bucket.
     *
     * @param pacing the pacing of the rules
     * @param contents what waits
     * @param schedule a summary of what waits for its time, which the backlog already counts
     * @param backlog counts what waits in all buckets of the queue; this one updates it
     */
    public WaitingRequests(
            QueueRules rules,
            Pacing pacing,
            Contents contents,
            ScheduleSummary schedule,
            QueueStore store,
            QueueBacklog backlog) {
        this.rules = rules;
        this.pacing = pacing;
        hasMinShares = rules.hasMinShares();
        this.store = store;
        this.backlog = backlog;
        expiryTimers = new ExpiryTimers(store.expiryTimers());
        attempts = new Attempts(store, backlog);
        flowTable = new FlowTable(rules);
        scheduler = new FairScheduler(rules.tiers());
        scheduled = new ScheduledRequests(schedule, store, backlog);
        if (contents instanceof Summarized summarized) {
            restore(summarized.summary());
        } else {
            restore(((Stored) contents).entries());
        }
    }

    private void restore(BucketContents contents) {
        for (BucketContents.FlowSummary figures : contents.flows()) {
            flowTable.add(new FlowQueue(figures, store.entries()));
            latestNumber = Math.max(latestNumber, figures.tail().number());
        }
        expiryTimers.restore(contents.expiryTimers());
        times.restore(contents.times());
        contents.attempts().forEach(attempts::restore);
        Set<Flow> flows = new LinkedHashSet<>();
        flowTable.flowQueues().forEach(queue -> flows.add(queue.flow()));
        flows.addAll(attempts.dueFlows());
        // the rules may have changed since the bucket was last on the heap
        if (contents.isSlotTime() != isSlotTime()) {
            startAgain();
        } else {
            scheduler.restore(contents.order(), flows);
            scheduler.readmitIf(flow -> hasClientSlots(head(flow)), flow -> hasTierSlots(head(flow)));
        }
    }

    /** Returns a summary of what waits. */
    public BucketContents contents() {
        if (isEmpty() && attempts.isEmpty()) {
            return BucketContents.EMPTY;
        }
        List<BucketContents.FlowSummary> flows = new ArrayList<>(flowTable.flows());
        flowTable.flowQueues().forEach(queue -> flows.add(queue.summary()));
        return new BucketContents(
                flows, isSlotTime(), scheduler.state(), expiryTimers.counts(), attempts.summaries(), times.summary());
    }

    /** Returns the number of parts of {@link #contents}: flows, tags, intervals of timers, released requests and their times. */
    public int partCount() {
        return flowTable.flows() + scheduler.tags() + expiryTimers.intervals() + attempts.size() + times.size();
    }

    /** Returns whether {@link #contents} may have changed since the last call. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    /**
     * Restores all requests. Flows start in the order of their heads' arrival.
     *
     * @param entries passes on the requests that wait or were released, those of each flow in order
     */
    private void restore(Consumer<BiConsumer<Place, QueueEntry>> entries) {
        Map<Flow, FlowQueue> restored = new HashMap<>();
        entries.accept((place, entry) -> {
            if (entry instanceof Attempted attempted) {
                attempts.restore(place, attempted);
            } else if (entry instanceof Waiting waiting) {
                restored.computeIfAbsent(place.flow(), flow -> new FlowQueue(flow, store.entries()))
                        .restore(place, waiting, pacing);
                if (waiting.expiryTimer() != null) {
                    expiryTimers.restore(waiting.expiryTimer());
                }
            }
        });
        List<FlowQueue> all = new ArrayList<>(restored.values());
        all.sort(FlowTable.OLDEST_FIRST);
        for (FlowQueue queue : all) {
            flowTable.add(queue);
            latestNumber = Math.max(latestNumber, queue.tailNumber());
            scheduler.enter(
                    queue.flow(), expectedService(queue.flow(), queue.head().cost()));
            backlog.add(queue.flow().tier(), queue.size(), queue.tokens());
            backlog.addHead(queue.head().enqueuedAtMs());
        }
    }

    /** Changes the shares of the tiers, and the pace by which requests are counted. */
    public void setRules(QueueRules newRules, Pacing newPacing) {
        if (!newPacing.isSameAs(pacing)) {
            flowTable.flowQueues().forEach(FlowQueue::forgetPace);
        }
        boolean wasSlotTime = isSlotTime();
        rules = newRules;
        pacing = newPacing;
        hasMinShares = rules.hasMinShares();
        next = null;
        scheduler.readmitAll();
        scheduler.setShares(rules.tiers());
        flowTable.setRules(rules);
        if (isSlotTime() != wasSlotTime) {
            startAgain();
        }
    }

    /** Returns whether service is the time of slots, and not tokens. */
    private boolean isSlotTime() {
        return rules.inFlight() != null;
    }

    /** Has the flows share from now on, since past service was counted otherwise. */
    private void startAgain() {
        scheduler = new FairScheduler(rules.tiers());
        List<FlowQueue> all = new ArrayList<>();
        flowTable.flowQueues().forEach(all::add);
        all.sort(FlowTable.OLDEST_FIRST);
        Set<Flow> flows = new LinkedHashSet<>(attempts.dueFlows());
        all.forEach(queue -> flows.add(queue.flow()));
        flows.forEach(flow -> scheduler.enter(flow, 0));
    }

    /** Returns the service that the next request of a flow is expected to take if it has this cost. */
    public long expectedService(Flow flow, long cost) {
        return rules.inFlight() == null ? cost : rules.service(cost, times.expectedMs(flow, rules.inFlight()));
    }

    /** Returns what waits by priority and tier. The result is valid until the next change. */
    public QueueOccupancy occupancy() {
        return flowTable.occupancy();
    }

    /** Returns the number of waiting requests, with those that wait for another attempt or for their time. */
    public long size() {
        return flowTable.size() + attempts.waiting() + scheduled.size();
    }

    /**
     * Returns whether no request waits for its turn. Some may be in flight, or wait for the end of their backoff or for
     * their time.
     */
    public boolean isEmpty() {
        return flowTable.flows() == 0 && !attempts.hasDue();
    }

    /** Returns the requests that wait for their time. */
    public ScheduledRequests scheduled() {
        return scheduled;
    }

    /** Returns the released requests that have not ended. */
    public Attempts attempts() {
        return attempts;
    }

    /** Returns whether there are slots for a request of this cost. */
    public boolean hasSlots(long cost) {
        InFlightRules inFlight = rules.inFlight();
        return inFlight == null || inFlight.hasSlots(attempts.slots(), cost);
    }

    /**
     * Returns the request that leaves next; null if none waits for its turn, or if the clients or tiers of all that do have
     * no slots for them. The bucket may have no slots for it.
     */
    public Head next() {
        for (Flow flow = nextFlow(); next == null && flow != null; flow = nextFlow()) {
            Head head = head(flow);
            if (!hasClientSlots(head)) {
                scheduler.holdNextFlow();
            } else if (!hasTierSlots(head)) {
                scheduler.holdNextTier();
            } else {
                next = head;
            }
        }
        return next;
    }

    private Head head(Flow flow) {
        return attempts.hasDue(flow)
                ? attempts.firstDue(flow)
                : flowTable.get(flow).head();
    }

    private Flow nextFlow() {
        return next == null ? scheduler.next().orElse(null) : null;
    }

    private boolean hasClientSlots(Head head) {
        InFlightRules inFlight = rules.inFlight();
        return inFlight == null
                || inFlight.hasClientSlots(attempts.slotsOfValue(head.flow().value()), head.cost());
    }

    private boolean hasTierSlots(Head head) {
        InFlightRules inFlight = rules.inFlight();
        String tier = head.flow().tier();
        return inFlight == null || inFlight.hasTierSlots(tier, attempts.slotsOfTier(tier), head.cost());
    }

    /** Returns when the request that arrived first was queued, in milliseconds since the epoch; null if none waits. */
    public Long oldestEnqueuedAtMs() {
        return flowTable.flows() == 0 ? null : (Long) flowTable.oldest().head().enqueuedAtMs();
    }

    /**
     * Returns the place of a request whose number is below this one: the first that waits for its first release, or else
     * for another attempt; null if there is none.
     */
    public Place firstBelow(long number) {
        FlowQueue oldest = flowTable.oldest();
        return oldest == null || oldest.head().number() >= number
                ? attempts.firstBelow(number)
                : oldest.head().place();
    }

    /** Returns when the next request may expire, in milliseconds; {@link DueTime#NEVER} if none ever does. */
    public long nextExpiryMs() {
        Head soonest = soonestToExpire();
        return Math.min(soonest == null ? DueTime.NEVER : soonest.expiresAtMs(), expiryTimers.dueMs());
    }

    /** Returns the head of a flow, or the retry that is due, that expires first; null if there is none. */
    private Head soonestToExpire() {
        Head retry = attempts.firstToExpire();
        if (flowTable.flows() == 0) {
            return retry;
        }
        Head head = flowTable.soonestExpiry().head();
        return retry == null || head.expiresAtMs() <= retry.expiresAtMs() ? head : retry;
    }

    /** Returns the place of a request that has expired; null if there is none, or if the budget is spent. */
    public Place nextExpired(long nowMs, WorkBudget budget) {
        Head soonest = soonestToExpire();
        if (soonest != null && soonest.expiresAtMs() <= nowMs) {
            return budget.trySpend() ? soonest.place() : null;
        }
        return expiryTimers.nextDue(nowMs, budget);
    }

    /** Returns the place of the newest request with a ticket, null if none waits or is in flight. */
    public Place find(Ticket ticket) {
        return store.tickets().get(ticket);
    }

    /** Returns what is at a place; null if nothing is. */
    public QueueEntry entry(Place place) {
        return store.entries().get(place);
    }

    /** Returns the request that waits at a place. */
    public Waiting get(Place place) {
        if (store.entries().get(place) instanceof Waiting waiting) {
            return waiting;
        }
        throw new IllegalStateException("no request waits at " + place);
    }

    /**
     * Appends a request to a flow.
     *
     * @param arrival its number in the order of arrival; it counts as having arrived last even if it has waited for its
     *     time
     */
    public void enter(Flow flow, Admission admission, long arrival, long enqueuedAtMs, long expiresAtMs) {
        noteChange();
        long number = Math.max(arrival, latestNumber);
        latestNumber = number;
        FlowQueue waiting = flowTable.get(flow);
        FlowQueue queue = waiting == null ? new FlowQueue(flow, store.entries(), startOf(number)) : waiting;
        Place place = queue.next();
        ExpiryTimer timer = queue.expiresInOrder(expiresAtMs) ? null : expiryTimers.set(expiresAtMs, place);
        takeTicket(ticket(admission), place);
        Waiting entered = new Waiting(admission, number, enqueuedAtMs, expiresAtMs, true, timer);
        if (waiting == null) {
            if (!attempts.hasDue(flow)) {
                scheduler.enter(flow, expectedService(flow, entered.cost()));
            }
            queue.append(entered, pacing);
            flowTable.add(queue);
            backlog.addHead(queue.head().enqueuedAtMs());
        } else {
            flowTable.change(queue, each -> each.append(entered, pacing));
        }
        backlog.add(flow.tier(), 1, QueueOccupancy.cappedCost(entered.cost()));
    }

    /**
     * Returns the position of a flow's first request, behind those of all released ones. Numbers grow faster than
     * positions, unless requests have waited for their time.
     */
    private long startOf(long number) {
        return Math.max(number, attempts.lastPosition() + 1);
    }

    /** Has a released request wait for its turn again, whose backoff is over. */
    public void enterAgain(Place place, Attempted attempted) {
        noteChange();
        if (!waitsIn(place.flow())) {
            scheduler.enter(
                    place.flow(),
                    expectedService(place.flow(), attempted.request().cost()));
        }
        scheduler.readmit(place.flow()); // another request is the first of its flow
        attempts.makeDue(place, attempted);
    }

    /**
     * Removes the next request at its turn, for good.
     *
     * @param entry what is at its place
     */
    public void serve(Head head, QueueEntry entry) {
        remove(head.place(), entry);
        scheduler.served(head.flow(), head.cost(), waitsIn(head.flow()));
    }

    /**
     * Releases the next request at its turn. It stays at its place, among the {@link #attempts}.
     *
     * @param before what is at its place
     * @param after the request in flight
     * @param charge the service that its flow is charged
     */
    public void release(Head head, QueueEntry before, Attempted after, long charge) {
        if (before instanceof Attempted retry) {
            noteChange();
            attempts.replace(head.place(), retry, after);
        } else {
            unlink(head.place(), (Waiting) before, queue -> queue.takeHead((Waiting) before));
            attempts.add(head.place(), after);
        }
        scheduler.served(head.flow(), charge, waitsIn(head.flow()));
    }

    /** Adds to what a flow was charged for an attempt that lasts. */
    public void chargeMore(Flow flow, long change) {
        noteChange();
        scheduler.correct(flow, change);
    }

    /** Charges a flow for the time that an attempt which ends now has lasted, instead of the time that was expected. */
    public void settle(Flow flow, Attempted attempted, long nowMs) {
        if (rules.inFlight() != null) {
            InFlight ended = (InFlight) attempted.phase();
            long lastedMs = ended.lastedMs(nowMs);
            chargeMore(flow, rules.service(attempted.request().cost(), lastedMs) - ended.charge());
            times.record(flow, lastedMs);
        }
    }

    /** Has flows take part again for which slots may be free now: those of the client and the tier of this one. */
    public void readmit(Flow flow) {
        noteChange();
        scheduler.readmit(flow);
    }

    /**
     * Removes a request that expires, is withdrawn or evicted while it waits, or a released one that has ended.
     *
     * @param entry what is at its place
     */
    public void leave(Place place, QueueEntry entry) {
        boolean waited = remove(place, entry);
        readmit(place.flow()); // or another request may be the first of its flow
        if (waited && !waitsIn(place.flow())) {
            scheduler.leave(place.flow());
        }
        if (isEmpty() && attempts.isEmpty()) {
            times.clear();
        }
    }

    private boolean waitsIn(Flow flow) {
        return flowTable.get(flow) != null || attempts.hasDue(flow);
    }

    /** Returns a time before which no waiting request expires, in milliseconds; {@link DueTime#NEVER} if none does. */
    public long soonestExpiryMs() {
        Head soonest = soonestToExpire();
        return Math.min(soonest == null ? DueTime.NEVER : soonest.expiresAtMs(), expiryTimers.soonestMs());
    }

    /** Returns bounds of what leaves before a request of this cost that arrives now in a flow. */
    public AheadRange ahead(Flow flow, long cost) {
        return isOrderUnknown()
                ? aheadAtMost(flow)
                : new ServiceOrder(rules, flowTable, scheduler, next(), false).ahead(flow, cost, false);
    }

    /**
     * Returns bounds of what leaves before a request that arrives later.
     *
     * @param isAfterNext whether it arrives when the next one has left; then that counts too
     * @param mayExpire whether the upper bound must hold even if requests ahead expire
     */
    public AheadRange aheadLater(Flow flow, long cost, boolean isAfterNext, boolean mayExpire) {
        return isOrderUnknown()
                ? aheadAtMost(flow)
                : new ServiceOrder(rules, flowTable, scheduler, next(), mayExpire).ahead(flow, cost, isAfterNext);
    }

    /** Returns whether some tier can leave before higher priorities. */
    public boolean hasMinShares() {
        return hasMinShares;
    }

    /** Returns whether the order depends on how long requests are processed, or on retries. */
    private boolean isOrderUnknown() {
        return rules.inFlight() != null || attempts.hasDue() || hasMinShares;
    }

    /** Returns whether lower priorities can leave before higher ones. */
    private boolean canPassHigherPriorities() {
        return hasMinShares
                || rules.inFlight() != null && !rules.inFlight().caps().isEmpty();
    }

    /**
     * Returns wide bounds: what waits in the flow, and what waits in the priority and all higher ones with all retries. Lower
     * priorities leave before too while a client or a tier has no slots, or if a tier has a least share.
     */
    private AheadRange aheadAtMost(Flow flow) {
        QueueOccupancy all = occupancy();
        Ahead most = canPassHigherPriorities() ? new Ahead(all.size(), all.tokens()) : all.from(flow.tier());
        return new AheadRange(of(flow), new Ahead(most.requests() + attempts.waiting(), most.tokens()));
    }

    /** Returns what waits in a flow. */
    public Ahead of(Flow flow) {
        FlowQueue queue = flowTable.get(flow);
        return queue == null ? AheadRange.NOTHING : new Ahead(queue.size(), queue.tokens());
    }

    /**
     * Returns whether no request of a flow expires if nothing but the flow is served; false if it is unknown.
     *
     * @param startNanos when the time that the flow's head takes begins at the latest
     * @param current the pace of the bucket
     */
    public boolean isInTime(Flow flow, long startNanos, Pacing current) {
        FlowQueue queue = flowTable.get(flow);
        return queue == null || isCounted(queue, current) && queue.isInTime(startNanos, current);
    }

    /**
     * Returns a lower bound of when a new request of a flow would leave if some request ahead of it in the flow
     * expired; {@link DueTime#NEVER} if none ever does, {@link FlowBounds#UNKNOWN} if it is unknown.
     *
     * @param current the pace of the bucket
     */
    public long afterExpiryNanos(Flow flow, long cost, Pacing current) {
        FlowQueue queue = flowTable.get(flow);
        if (queue == null) {
            return DueTime.NEVER;
        }
        return isCounted(queue, current) ? queue.afterExpiryNanos(cost, current) : FlowBounds.UNKNOWN;
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

    /** Removes what is at a place. Returns whether it waited for its turn. */
    private boolean remove(Place place, QueueEntry entry) {
        if (entry instanceof Attempted attempted) {
            noteChange();
            return attempts.remove(place, attempted);
        }
        Waiting waiting = (Waiting) entry;
        unlink(place, waiting, queue -> queue.remove(place, waiting));
        if (waiting.hasTicket()) {
            store.tickets().delete(ticket(waiting.admission()));
        }
        return true;
    }

    /** Takes a request out of its flow. */
    private void unlink(Place place, Waiting waiting, Consumer<FlowQueue> change) {
        noteChange();
        FlowQueue queue = flowTable.get(place.flow());
        Head before = queue.head();
        flowTable.change(queue, change);
        backlog.add(place.flow().tier(), -1, -QueueOccupancy.cappedCost(waiting.cost()));
        backlog.removeHead(before.enqueuedAtMs());
        if (!queue.isEmpty()) {
            backlog.addHead(queue.head().enqueuedAtMs());
        }
        if (waiting.expiryTimer() != null) {
            expiryTimers.cancel(waiting.expiryTimer());
        }
    }

    private void takeTicket(Ticket ticket, Place place) {
        Place older = store.tickets().get(ticket);
        if (older != null) {
            store.entries().put(older, withoutTicket(entry(older)));
        }
        store.tickets().put(ticket, place);
    }

    private static QueueEntry withoutTicket(QueueEntry entry) {
        return entry instanceof Attempted attempted ? attempted.withoutTicket() : ((Waiting) entry).withoutTicket();
    }
}
