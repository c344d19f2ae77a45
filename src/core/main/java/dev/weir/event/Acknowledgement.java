package dev.weir.event;

/**
 * What a worker reports about an attempt of a released request: the content of a {@link RequestKind#COMPLETE} or {@link
 * RequestKind#EXTEND}.
 *
 * @param receipt the text of the {@link Receipt} that names the attempt; copied from the release
 * @param result how the attempt ended; null for an EXTEND
 * @param retryAfterMs how long the next attempt waits at least, in milliseconds, 0 to {@link #MAX_RETRY_AFTER_MS}; null
 *     for the queue's backoff, and unless the result is {@link Result#RETRY}
 * @param error what went wrong, at most {@value #MAX_ERROR_LENGTH} characters; null if unknown
 */
public record Acknowledgement(String receipt, Result result, Long retryAfterMs, String error) {

    /** The longest wait that a worker can ask for: 30 days. */
    public static final long MAX_RETRY_AFTER_MS = 2_592_000_000L;

    /** The most characters of an error. */
    public static final int MAX_ERROR_LENGTH = 500;

    /**
     * Returns the attempt that the receipt names.
     *
     * @throws IllegalArgumentException if the text is not a receipt
     */
    public Receipt attempt() {
        return Receipt.parse(receipt);
    }

    /** How an attempt ended. */
    public enum Result {
        /** The request was processed. */
        DONE,
        /** The attempt failed. The request is released again, unless this was the last attempt. */
        RETRY,
        /** The request failed. It is not released again. */
        FAILED
    }
}
