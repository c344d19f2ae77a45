package dev.weir.shape.store;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.rules.Flow;

/**
 * The store of the requests of one bucket that wait or were released and have not ended. It is used by one thread at a time.
 *
 * @param entries the requests of each flow
 * @param tickets the places of requests; of several requests with the same ticket, the newest
 * @param expiryTimers the places of requests that may expire before others ahead of them
 * @param schedule the requests that wait for their time
 * @param scheduleTickets the keys of these requests; of several with the same ticket, the newest
 */
public record QueueStore(
        KeyValueTable<Place, QueueEntry> entries,
        KeyValueTable<Ticket, Place> tickets,
        KeyValueTable<ExpiryTimer, Place> expiryTimers,
        ScheduleTable schedule,
        KeyValueTable<Ticket, ScheduleKey> scheduleTickets) {

    /**
     * A place in a flow.
     *
     * @param flow the flow
     * @param position counts up within a flow; the first since it was empty is the number of its request, or a later one
     */
    public record Place(Flow flow, long position) {}

    /** The identity by which a request can be withdrawn. */
    public record Ticket(String client, String requestId) {}

    /**
     * The key of an expiry timer.
     *
     * @param interval the tenth of a second in which the request expires
     * @param index the number of the timer in that tenth of a second
     */
    public record ExpiryTimer(long interval, long index) {}
}
