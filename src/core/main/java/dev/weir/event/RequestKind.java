package dev.weir.event;

/** What a request wants of its limits. */
public enum RequestKind {
    /** Takes its cost if every limit permits it. */
    CONSUME,
    /** Asks whether its cost would pass; takes nothing. */
    PEEK,
    /**
     * Corrects an earlier request by a signed cost: allowed whatever is left, into debt if need be. A negative cost is
     * a refund, which shared limits deny.
     */
    SETTLE,
    /** Withdraws a request of the same id and client that waits in a queue. */
    CANCEL
}
