package dev.weir.event;

/**
 * A limit that is enforced on a request, and its values after the decision. Times are whole milliseconds, rounded up.
 *
 * <p>{@code quota} tokens become available every {@code windowMs}: a client that spreads them evenly keeps the limit.
 * They are {@code limit} and {@code per} of the policy, both multiplied by the same whole number if {@code burst} is
 * above {@code limit}, so that {@code remaining} is never above {@code quota}.
 *
 * <pre>
 *   fixed-window 100/1m            quota 100, windowMs 60,000
 *   gcra 600/1m, burst 1           quota 600, windowMs 60,000     remaining is 0 or 1
 *   token-bucket 10/1s, burst 95   quota 100, windowMs 10,000     remaining is 0 to 95
 * </pre>
 *
 * @param policyId the id of the policy
 * @param number the place of the limit in its policy, from 1
 * @param quota the tokens that become available per window, 0 or more
 * @param windowMs the window; null if the limit has none because it permits nothing or limits concurrency
 * @param remaining the largest cost that would pass now; null if it is not known
 * @param resetAfterMs the time until the whole limit is available again; null if it is not known
 * @param retryAfterMs the time until this limit permits the same cost; 0 if it permits it, null if it never does or if
 *     it is not known
 */
public record EnforcedLimit(
        String policyId, int number, long quota, Long windowMs, Long remaining, Long resetAfterMs, Long retryAfterMs) {

    /** The most limits that a decision lists. */
    public static final int MOST = 16;
}
