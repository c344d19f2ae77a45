package dev.weir.client.lease;

import dev.weir.event.Decision;

/** The result for a request that leases may decide. */
public sealed interface LeaseReply {

    /**
     * Leases decide the request.
     *
     * @param decision the decision
     */
    record Decided(Decision decision) implements LeaseReply {}

    /** Why a request has no decision now. */
    enum Undecided implements LeaseReply {
        /** It must be sent over the topic. */
        OVER_TOPIC,
        /** It waits for a lease, or would wait if it could. */
        WAITS,
        /** The maximum number of requests is waiting already. */
        NO_ROOM,
        /** The ledger did not respond in time. */
        NO_LEASE,
        /** The ledger has not responded for longer than the request would wait. */
        NO_LEDGER
    }
}
