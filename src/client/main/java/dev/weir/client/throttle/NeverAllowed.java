package dev.weir.client.throttle;

/** What a {@link ThrottledConsumer} does with a record that can never be allowed. */
public enum NeverAllowed {
    /** The record is not returned, and its offset is committed with the next record of its partition. */
    SKIP,
    /** The record is returned as if it were allowed. */
    DELIVER,
    /**
     * {@link ThrottledConsumer#poll} throws a {@link RecordDeniedException}, or an {@link IllegalArgumentException} if
     * the record has no valid request. Its next call asks for a decision again, so processing continues once the policy
     * is changed.
     */
    THROW
}
