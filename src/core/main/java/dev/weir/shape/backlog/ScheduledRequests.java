package dev.weir.shape.backlog;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.store.QueueEntry.Waiting;
import dev.weir.shape.store.QueueStore;
import dev.weir.shape.store.QueueStore.Ticket;
import dev.weir.shape.store.ScheduleKey;
import dev.weir.shape.store.ScheduleTable;
import dev.weir.time.DueTime;
import java.util.Optional;

/**
 * The requests of a bucket that wait for their time, before which they take no turn. They are in a table that is ordered
 * by time. The heap holds their number and the key of the first one, however many there are; these are also all that
 * is restored.
 *
 * <p>Each call takes a small constant number of reads and writes, except for the search for requests to purge.
 */
public final class ScheduledRequests {

    private final ScheduleTable table;
    private final KeyValueTable<Ticket, ScheduleKey> tickets;
    private final QueueBacklog backlog;
    private long size;
    private ScheduleKey first; // null if there is none
    private boolean isChanged;
    private long searchedBelow; // the number below which the search is for requests to purge
    private ScheduleKey searchedFrom =
            ScheduleKey.LEAST; // no request below that number has a smaller key; null if none is below

    /** @param summary what waits, which the backlog already counts */
    ScheduledRequests(ScheduleSummary summary, QueueStore store, QueueBacklog backlog) {
        table = store.schedule();
        tickets = store.scheduleTickets();
        this.backlog = backlog;
        size = summary.requests();
        first = summary.first().orElse(null);
    }

    /** Returns a summary of what waits. */
    public ScheduleSummary summary() {
        return new ScheduleSummary(size, Optional.ofNullable(first));
    }

    /** Returns whether {@link #summary} may have changed since the last call. */
    public boolean testAndClearChanged() {
        boolean changed = isChanged;
        isChanged = false;
        return changed;
    }

    public long size() {
        return size;
    }

    /** Returns the first time for which a request waits, in milliseconds; {@link DueTime#NEVER} if none waits. */
    public long dueMs() {
        return first == null ? DueTime.NEVER : first.atMs();
    }

    /** Returns the first request whose time has come; null if there is none. */
    public ScheduleKey due(long nowMs) {
        return dueMs() > nowMs ? null : first;
    }

    /** Adds a request. Of several with the same ticket, the newest can be found by it. */
    public void add(ScheduleKey key, Waiting waiting) {
        Ticket ticket = WaitingRequests.ticket(waiting.admission());
        ScheduleKey older = tickets.get(ticket);
        if (older != null) {
            table.put(older, table.get(older).withoutTicket());
        }
        tickets.put(ticket, key);
        table.put(key, waiting);
        if (first == null || key.compareTo(first) < 0) {
            first = key;
        }
        if (key.number() < searchedBelow && (searchedFrom == null || key.compareTo(searchedFrom) < 0)) {
            searchedFrom = key;
        }
        count(1);
    }

    /** Removes a request and returns it. */
    public Waiting remove(ScheduleKey key) {
        Waiting waiting = table.get(key);
        if (waiting == null) {
            throw new IllegalStateException("no request waits for " + key);
        }
        table.delete(key);
        if (waiting.hasTicket()) {
            tickets.delete(WaitingRequests.ticket(waiting.admission()));
        }
        count(-1);
        if (key.equals(first)) {
            first = size == 0 ? null : table.firstFrom(key.next());
        }
        return waiting;
    }

    private void count(long more) {
        size += more;
        backlog.addScheduled(more);
        isChanged = true;
    }

    /** Returns the newest request with a ticket; null if there is none. */
    public ScheduleKey find(Ticket ticket) {
        return size == 0 ? null : tickets.get(ticket);
    }

    /**
     * Returns the first request whose number is below this one; null if there is none. Later calls for the same number
     * continue where this one ended.
     */
    public ScheduleKey firstBelow(long number) {
        if (size == 0) {
            return null;
        }
        if (number != searchedBelow) {
            searchedBelow = number;
            searchedFrom = first;
        }
        ScheduleKey found = searchedFrom == null ? null : table.firstFrom(searchedFrom);
        while (found != null && found.number() >= number) {
            found = table.firstFrom(found.next());
        }
        searchedFrom = found;
        return found;
    }
}
