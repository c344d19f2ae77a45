package dev.weir.event;

/** What became of a request. */
public enum Outcome {
    ALLOWED,
    DENIED,
    /** It waits in a queue; a release, or a later decision with another outcome, tells how that ended. */
    QUEUED,
    /** It waited until it was useless. */
    EXPIRED
}
