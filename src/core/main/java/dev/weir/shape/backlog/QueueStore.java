package dev.weir.shape.backlog;

import dev.weir.decision.KeyValueTable;

/**
 * Where one queue keeps what waits. Whoever works on a queue is alone with its store.
 *
 * @param slots each flow's slots
 * @param tickets where a request waits; of several with one ticket, the newest
 * @param expiryTimers where the requests wait that may expire before others that are ahead of them
 */
public record QueueStore(
        KeyValueTable<Place, Slot> slots,
        KeyValueTable<Ticket, Place> tickets,
        KeyValueTable<ExpiryTimer, Place> expiryTimers) {

    /**
     * A slot of a flow.
     *
     * @param position counts from 0 since the flow last was empty
     */
    public record Place(Flow flow, long position) {}

    /** What a requester knows a request by. */
    public record Ticket(String client, String requestId) {}

    /**
     * A note of when a request expires.
     *
     * @param bucket the tenth of a second in which it does
     * @param index counts the notes of the bucket
     */
    public record ExpiryTimer(long bucket, long index) {}
}
