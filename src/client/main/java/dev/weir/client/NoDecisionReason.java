package dev.weir.client;

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
    /** The circuit was open, because too many recent requests got no decision. The request was not sent. */
    CIRCUIT_OPEN,
    /**
     * No lease arrived in time. The request was not sent; it is charged only if a lease arrived at the very moment of
     * the time-out.
     */
    NO_LEASE,
    /**
     * A decision arrived that cannot be decoded, for example one of a later version, or the schema registry did not
     * return its schema. The request may have been charged.
     */
    UNREADABLE,
    /** The client was closed. If the request was sent, Weir may still decide and charge it. */
    CLOSED
}
