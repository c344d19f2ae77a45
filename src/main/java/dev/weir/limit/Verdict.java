package dev.weir.limit;

/**
 * What one limit says to one request. Times are whole milliseconds, rounded up.
 *
 * <p>{@code remaining} is what can still be had now; {@code resetAfterMs} is when the whole limit is free again.
 */
public sealed interface Verdict {

    long remaining();

    long resetAfterMs();

    /** The request passes this limit. */
    record Allowed(long remaining, long resetAfterMs) implements Verdict {}

    /** The request does not pass now; it does after {@code retryAfterMs} if nothing else comes. */
    record Denied(long remaining, long resetAfterMs, long retryAfterMs) implements Verdict {}

    /** The cost is above the limit's capacity: it never passes. */
    record NeverFits(long remaining, long resetAfterMs) implements Verdict {}
}
