package dev.weir.client;

/** Why there is no decision of Weir's on a request; also a metric label, so the set is closed. */
public enum NoDecisionReason {
    /** None came in time. It may still be made, and charged. */
    TIMED_OUT,
    /** The broker did not take the request, or did not say so in time; then it may still be decided, and charged. */
    NOT_WRITTEN,
    /** As many as may wait were waiting; it was not sent. */
    TOO_MANY_WAITING,
    /** Too many were not answered lately; it was not sent. */
    CIRCUIT_OPEN,
    /** No quota was lent to this client while it waited for it; nothing is charged. */
    NO_LEASE,
    /** A decision came that cannot be read, or the schema registry does not say how. */
    UNREADABLE,
    /** The client was closed. */
    CLOSED
}
