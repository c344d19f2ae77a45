package dev.weir.event;

import dev.weir.policy.Policy;

/**
 * The limit that explains a decision, and its figures after that decision. Times are whole milliseconds, rounded up.
 *
 * @param label {@link Policy.Term#label}; {@code max-size}, {@code idempotency} or {@code refund}; of a queue: {@code
 *     capacity}, {@code total.capacity}, {@code max-wait}, {@code deadline}, {@code cost}, or the key field that the
 *     request lacks
 * @param limit the most that the limit permits at once; null if it has no such figure
 * @param windowMs the window, or the time in which an empty bucket fills; null if there is none
 * @param remaining the cost that still passes now; null if that is not counted
 * @param resetAfterMs the time until the whole limit is free again; null if that is not known
 */
public record LimitStatus(String label, Long limit, Long windowMs, Long remaining, Long resetAfterMs) {

    /** A bound that counts nothing. */
    public static LimitStatus of(String label, Long limit) {
        return new LimitStatus(label, limit, null, null, null);
    }
}
