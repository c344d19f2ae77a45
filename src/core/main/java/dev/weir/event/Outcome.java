package dev.weir.event;

/** The outcome of a request. */
public enum Outcome {
    ALLOWED,
    DENIED,
    /** The request waits in a queue. A release, or a later decision with another outcome, ends the wait. */
    QUEUED,
    /** The request waited past its deadline or the queue's {@code max-wait} and will not be released. */
    EXPIRED
}
