package dev.weir.event;

import dev.weir.policy.Policy;

/**
 * The limit that explains a decision, and its values after that decision. Times are whole milliseconds, rounded up.
 *
 * @param label for a policy, {@link Policy.Term#label}, {@code max-size}, {@code idempotency}, {@code reservation} or
 *     {@code refund}. For a
 *     queue, {@code capacity}, {@code total.capacity}, {@code max-wait}, {@code deadline}, {@code cost}, or the key field
 *     that the request lacks. For a RESET of a policy that does not apply, the id of the policy
 * @param limit the most that can be used at once; null if there is no such number
 * @param windowMs the window, or the time to refill an empty bucket; null if there is none
 * @param remaining the largest cost that would pass now; null if it is not counted
 * @param resetAfterMs the time until the whole limit is available again; null if unknown
 */
public record LimitStatus(String label, Long limit, Long windowMs, Long remaining, Long resetAfterMs) {

    private static final LimitStatus NOT_LIMITED = new LimitStatus(null, null, null, null, null);

    /** Returns this status; null if it has no values, as in the record of a decision that no limit explains. */
    public LimitStatus orNull() {
        return equals(NOT_LIMITED) ? null : this;
    }

    /** Returns the status of a bound that counts nothing. */
    public static LimitStatus of(String label, Long limit) {
        return new LimitStatus(label, limit, null, null, null);
    }
}
