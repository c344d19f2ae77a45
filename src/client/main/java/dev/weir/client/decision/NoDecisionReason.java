package dev.weir.client.decision;

/**
 * Why Weir has not decided a request. The names are also values of the label {@code end} of the metric
 * {@code weir.client.requests}.
 */
public enum NoDecisionReason {
    /**
     * The client did not become ready in time, since the brokers are away or a topic does not exist, or an
     * {@link Error} has stopped it. The request was not sent.
     */
    NOT_READY,
    /** No decision arrived in time. Weir may still decide and charge the request. */
    TIMED_OUT,
    /**
     * The broker rejected the request or did not confirm it in time. In the second case Weir may still decide and
     * charge it.
     */
    NOT_WRITTEN,
    /** The maximum number of requests was waiting already. The request was not sent. */
    TOO_MANY_WAITING,
    /**
     * Requests arrive faster than they are decided, so this one would not have been decided in time. The request was not
     * sent.
     */
    OVERLOADED,
    /** The circuit was open, because too many recent requests got no decision. The request was not sent. */
    CIRCUIT_OPEN,
    /**
     * No lease arrived in time. The request was not sent; it is charged only if a lease arrived at the very moment of
     * the time-out.
     */
    NO_LEASE,
    /**
     * The client holds no lease, and the ledger has not answered for longer than the request would have waited. The
     * request was not sent.
     */
    NO_LEDGER,
    /**
     * A decision arrived that cannot be decoded, for example one of a later version, or the schema registry did not
     * return its schema. The request may have been charged.
     */
    UNREADABLE,
    /** The client was closed. If the request was sent, Weir may still decide and charge it. */
    CLOSED;

    /**
     * Returns whether there is no decision because there were too many requests, although Weir works. Such a request is
     * refused even by {@link dev.weir.client.Fallback#FAIL_OPEN}, unless
     * {@link dev.weir.client.ClientBuilder#fallbackOnOverload} is set.
     *
     * @return whether the request was shed
     */
    public boolean isOverload() {
        return this == TOO_MANY_WAITING || this == OVERLOADED;
    }
}
