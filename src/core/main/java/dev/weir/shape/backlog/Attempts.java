package dev.weir.shape.backlog;

import dev.weir.shape.backlog.BucketContents.AttemptSummary;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.store.QueueEntry.Attempted;
import dev.weir.shape.store.QueueEntry.Phase.InFlight;
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

    private static final Comparator<Timed> SOONEST_FIRST = Comparator.comparingLong(Timed::untilMs)
            .thenComparing(timed -> timed.place.flow())
            .thenComparingLong(timed -> timed.place.position());

    /** A request in flight, or in backoff; it occupies no slots then. */
    private record Timed(
            long untilMs, Place place, long number, long cost, long slots, long startedAtMs, boolean isInFlight) {

        static Timed of(Place place, Attempted attempted) {
            long number = attempted.request().number();
            long cost = attempted.request().cost();
            return attempted.phase() instanceof InFlight lasting
                    ? new Timed(lasting.untilMs(), place, number, cost, lasting.slots(), lasting.startedAtMs(), true)
                    : new Timed(attempted.phase().untilMs(), place, number, cost, 0, 0, false);
        }

        AttemptSummary summary() {
            AttemptSummary.Stage stage = isInFlight ? AttemptSummary.Stage.IN_FLIGHT : AttemptSummary.Stage.BACKOFF;
            return new AttemptSummary(place.flow(), place.position(), number, cost, slots, stage, untilMs, startedAtMs);
        }
    }

    private static final Comparator<Numbered> OLDEST_FIRST = Comparator.comparingLong(Numbered::number)
            .thenComparing(one -> one.place.flow())
            .thenComparingLong(one -> one.place.position());

    private static final Comparator<Head> EXPIRES_FIRST = Comparator.comparingLong(Head::expiresAtMs)
            .thenComparing(Head::flow)
            .thenComparingLong(head -> head.place().position());

    /** A request that waits for another attempt. Those that have waited for their time can have the number of others. */
    private record Numbered(long number, Place place) {}

    private final QueueStore store;
    private final QueueBacklog backlog;
    private NavigableSet<Timed> timed = Collections.emptyNavigableSet();
    private NavigableMap<Flow, TreeMap<Long, Head>> due = Collections.emptyNavigableMap(); // by position
    private NavigableSet<Head> expiring = Collections.emptyNavigableSet(); // those due that have a deadline
    private NavigableSet<Numbered> waiting = Collections.emptyNavigableSet(); // those in backoff or due
    private long lastPosition = -1;
    private long dueCount;
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
        Place place = new Place(summary.flow(), summary.position());
        if (summary.stage() == AttemptSummary.Stage.DUE) {
            addDue(place, get(place));
        } else {
            add(new Timed(
                    summary.untilMs(),
                    place,
                    summary.number(),
                    summary.cost(),
                    summary.slots(),
                    summary.startedAtMs(),
                    summary.stage() == AttemptSummary.Stage.IN_FLIGHT));
        }
    }

    /** Restores a request that is stored. If it was due, it is in backoff until {@link #makeDue}. */
    void restore(Place place, Attempted attempted) {
        Timed restored = Timed.of(place, attempted);
        add(restored);
        countInBacklog(restored, 1);
    }

    /** Returns all of them. */
    List<AttemptSummary> summaries() {
        List<AttemptSummary> all = new ArrayList<>(size());
        timed.forEach(one -> all.add(one.summary()));
        due.values().forEach(flow -> flow.values()
                .forEach(retry -> all.add(new AttemptSummary(
                        retry.flow(),
                        retry.place().position(),
                        retry.number(),
                        retry.cost(),
                        0,
                        AttemptSummary.Stage.DUE,
                        0,
                        0))));
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
        timed.remove(Timed.of(place, attempted));
        addDue(place, attempted);
    }

    private void add(Timed added) {
        makeRoom();
        lastPosition = Math.max(lastPosition, added.place.position());
        timed.add(added);
        if (!added.isInFlight) {
            waiting.add(new Numbered(added.number, added.place));
        }
        count(added, 1);
    }

    private void count(Timed one, int sign) {
        if (one.isInFlight) {
            Flow flow = one.place.flow();
            if (sign > 0) {
                inFlight.add(flow.tier(), one.slots, one.startedAtMs);
            } else {
                inFlight.remove(flow.tier(), one.slots, one.startedAtMs);
            }
            InFlightCounts.add(flow.value(), sign * one.slots, slotsByValue);
        }
    }

    private void countInBacklog(Timed one, int sign) {
        String tier = one.place.flow().tier();
        if (!one.isInFlight) {
            backlog.add(tier, sign, sign * QueueOccupancy.cappedCost(one.cost));
            backlog.addRetries(sign);
        } else if (sign > 0) {
            backlog.addInFlight(tier, one.slots, one.startedAtMs);
        } else {
            backlog.removeInFlight(tier, one.slots, one.startedAtMs);
        }
    }

    private void addDue(Place place, Attempted attempted) {
        makeRoom();
        Head retry = Head.of(place, attempted);
        due.computeIfAbsent(place.flow(), flow -> new TreeMap<>()).put(place.position(), retry);
        if (retry.expiresAtMs() != DueTime.NEVER) {
            expiring.add(retry);
        }
        waiting.add(new Numbered(attempted.request().number(), place));
        lastPosition = Math.max(lastPosition, place.position());
        dueCount++;
    }

    /** Removes a request from the heap. Returns whether it was due. */
    private boolean forget(Place place, Attempted attempted) {
        Timed removed = Timed.of(place, attempted);
        countInBacklog(removed, -1);
        if (!removed.isInFlight) {
            waiting.remove(new Numbered(removed.number, place));
        }
        if (timed.remove(removed)) {
            count(removed, -1);
            return false;
        }
        TreeMap<Long, Head> retries = due.get(place.flow());
        expiring.remove(retries.remove(place.position()));
        if (retries.isEmpty()) {
            due.remove(place.flow());
        }
        dueCount--;
        return true;
    }

    /** Returns a request whose time in flight or in backoff is over; null if there is none. */
    public Place overdue(long nowMs) {
        return dueMs() > nowMs ? null : timed.first().place;
    }

    /** Returns when the first time in flight or in backoff is over, in milliseconds; {@link DueTime#NEVER} if none is. */
    public long dueMs() {
        return timed.isEmpty() ? DueTime.NEVER : timed.first().untilMs;
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
