package dev.weir.shape.backlog;

import dev.weir.shape.backlog.BucketContents.AttemptSummary;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The requests of a bucket that were released and have not ended: in flight, in backoff, or due. This class stores,
 * counts and finds them. {@code AttemptLifecycle} lists what happens to them.
 *
 * <p>Memory grows with their number, which the slots of the bucket bound, and those that wait for another attempt, which
 * its capacity bounds. Each call takes O(log n).
 */
public final class Attempts {

    private static final Comparator<AttemptSummary> SOONEST_FIRST = Comparator.comparingLong(AttemptSummary::untilMs)
            .thenComparing(AttemptSummary::flow)
            .thenComparingLong(AttemptSummary::position);

    /** Those that have waited for their time can have the number of others. */
    private static final Comparator<AttemptSummary> OLDEST_FIRST = Comparator.comparingLong(AttemptSummary::number)
            .thenComparing(AttemptSummary::flow)
            .thenComparingLong(AttemptSummary::position);

    private static final Comparator<Head> EXPIRES_FIRST = Comparator.comparingLong(Head::expiresAtMs)
            .thenComparing(Head::flow)
            .thenComparingLong(head -> head.place().position());

    private final QueueStore store;
    private final QueueBacklog backlog;
    private NavigableSet<AttemptSummary> timed = Collections.emptyNavigableSet(); // those in flight or in backoff
    private NavigableMap<Flow, TreeMap<Long, Head>> due = Collections.emptyNavigableMap(); // by position
    private NavigableSet<Head> expiring = Collections.emptyNavigableSet(); // those due that have a deadline
    private NavigableSet<AttemptSummary> waiting = Collections.emptyNavigableSet(); // those in backoff or due
    private long lastPosition = -1;
    private long dueCount;
    private long dueTokens; // their costs, each capped
    private InFlightCounts inFlight = InFlightCounts.NONE;
    private Map<String, Long> slotsByValue = Map.of();

    Attempts(QueueStore store, QueueBacklog backlog) {
        this.store = store;
        this.backlog = backlog;
    }

    /** Makes room for the first request. Most buckets have none, and there are many buckets. */
    private void makeRoom() {
        if (inFlight == InFlightCounts.NONE) {
            timed = new TreeSet<>(SOONEST_FIRST);
            due = new TreeMap<>();
            expiring = new TreeSet<>(EXPIRES_FIRST);
            waiting = new TreeSet<>(OLDEST_FIRST);
            inFlight = new InFlightCounts();
            slotsByValue = new HashMap<>();
        }
    }

    /** Restores one of {@link #summaries}, which the backlog already counts. */
    void restore(AttemptSummary summary) {
        if (summary.stage() == AttemptSummary.Stage.DUE) {
            addDue(summary.place(), get(summary.place()));
        } else {
            add(summary);
        }
    }

    /** Restores a request that is stored. If it was due, it is in backoff until {@link #makeDue}. */
    void restore(Place place, Attempted attempted) {
        AttemptSummary restored = AttemptSummary.of(place, attempted);
        add(restored);
        restored.addTo(backlog, 1);
    }

    /** Returns all of them. */
    List<AttemptSummary> summaries() {
        List<AttemptSummary> all = new ArrayList<>(size());
        all.addAll(timed);
        due.values().forEach(flow -> flow.values().forEach(retry -> all.add(AttemptSummary.ofDue(retry))));
        return all;
    }

    /** Returns the request at a place; null if none was released there, or if it has ended. */
    public Attempted get(Place place) {
        return store.entries().get(place) instanceof Attempted attempted ? attempted : null;
    }

    /** Adds a request that is in flight. */
    void add(Place place, Attempted attempted) {
        store.entries().put(place, attempted);
        restore(place, attempted);
    }

    /** Changes a request; it is in flight or in backoff then. */
    public void replace(Place place, Attempted before, Attempted after) {
        forget(place, before);
        add(place, after);
    }

    /**
     * Removes a request.
     *
     * @return whether it was due
     */
    boolean remove(Place place, Attempted attempted) {
        boolean wasDue = forget(place, attempted);
        store.entries().delete(place);
        if (attempted.request().hasTicket()) {
            store.tickets().delete(WaitingRequests.ticket(attempted.request().admission()));
        }
        return wasDue;
    }

    /** Makes a request due whose backoff is over. */
    void makeDue(Place place, Attempted attempted) {
        timed.remove(AttemptSummary.of(place, attempted));
        addDue(place, attempted);
    }

    private void add(AttemptSummary added) {
        makeRoom();
        lastPosition = Math.max(lastPosition, added.position());
        timed.add(added);
        if (added.isWaiting()) {
            waiting.add(added);
        } else {
            countInFlight(added, 1);
        }
    }

    private void countInFlight(AttemptSummary one, int sign) {
        inFlight.add(one.flow().tier(), one.slots(), one.startedAtMs(), sign);
        InFlightCounts.add(one.flow().value(), sign * one.slots(), slotsByValue);
    }

    private void addDue(Place place, Attempted attempted) {
        makeRoom();
        Head retry = Head.of(place, attempted);
        due.computeIfAbsent(place.flow(), flow -> new TreeMap<>()).put(place.position(), retry);
        if (retry.expiresAtMs() != DueTime.NEVER) {
            expiring.add(retry);
        }
        waiting.add(AttemptSummary.ofDue(retry));
        lastPosition = Math.max(lastPosition, place.position());
        dueCount++;
        dueTokens += QueueOccupancy.cappedCost(retry.cost());
    }

    /** Removes a request from the heap. Returns whether it was due. */
    private boolean forget(Place place, Attempted attempted) {
        AttemptSummary removed = AttemptSummary.of(place, attempted);
        removed.addTo(backlog, -1);
        boolean wasTimed = timed.remove(removed);
        if (removed.isWaiting()) {
            waiting.remove(removed);
        } else {
            countInFlight(removed, -1);
        }
        if (wasTimed) {
            return false;
        }
        TreeMap<Long, Head> retries = due.get(place.flow());
        expiring.remove(retries.remove(place.position()));
        if (retries.isEmpty()) {
            due.remove(place.flow());
        }
        dueCount--;
        dueTokens -= QueueOccupancy.cappedCost(attempted.request().cost());
        return true;
    }

    /** Returns a request whose time in flight or in backoff is over; null if there is none. */
    public Place overdue(long nowMs) {
        return dueMs() > nowMs ? null : timed.first().place();
    }

    /** Returns when the first time in flight or in backoff is over, in milliseconds; {@link DueTime#NEVER} if none is. */
    public long dueMs() {
        return timed.isEmpty() ? DueTime.NEVER : timed.first().untilMs();
    }

    /** Returns the place of a request below a number that waits for another attempt; null if none does. */
    Place firstBelow(long number) {
        return waiting.isEmpty() || waiting.first().number() >= number
                ? null
                : waiting.first().place();
    }

    /** Returns the retry of a flow that leaves next; null if none is due. */
    Head firstDue(Flow flow) {
        TreeMap<Long, Head> retries = due.get(flow);
        return retries == null ? null : retries.firstEntry().getValue();
    }

    /** Returns the retry that is due whose deadline comes first; null if none has a deadline. */
    Head firstToExpire() {
        return expiring.isEmpty() ? null : expiring.first();
    }

    boolean hasDue() {
        return dueCount > 0;
    }

    /** Returns the number of retries that are due. */
    public long dueCount() {
        return dueCount;
    }

    /** Returns the total cost of the retries that are due, with each cost capped. */
    public long dueTokens() {
        return dueTokens;
    }

    boolean hasDue(Flow flow) {
        return due.containsKey(flow);
    }

    /** Returns the flows in which a retry is due. */
    Set<Flow> dueFlows() {
        return due.keySet();
    }

    /** Returns a position that no request has exceeded; -1 if there was none. */
    long lastPosition() {
        return lastPosition;
    }

    public boolean isEmpty() {
        return timed.isEmpty() && dueCount == 0;
    }

    /** Returns how many requests are in flight, or wait for another attempt. */
    int size() {
        return timed.size() + (int) dueCount;
    }

    /** Returns how many requests are in flight. */
    public long inFlight() {
        return inFlight.requests();
    }

    /** Returns how many slots the requests in flight occupy. */
    public long slots() {
        return inFlight.slots();
    }

    /** Returns when the oldest request in flight was released, in milliseconds since the epoch; null if there is none. */
    public Long oldestSinceMs() {
        return inFlight.oldestSinceMs();
    }

    /** Returns how many slots the requests in flight of a tier occupy. */
    long slotsOfTier(String tier) {
        return inFlight.slotsOfTier(tier);
    }

    /** Returns how many slots the requests in flight of each tier occupy, for those that have any. */
    public Map<String, Long> slotsByTier() {
        return inFlight.slotsByTier();
    }

    /** Returns how many slots the requests in flight occupy whose flows have this value. */
    long slotsOfValue(String value) {
        return slotsByValue.getOrDefault(value, 0L);
    }

    /** Returns how many requests wait for another attempt. */
    public long waiting() {
        return waiting.size();
    }
}
