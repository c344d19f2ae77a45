package dev.weir.event;

/**
 * A number of tokens that a request brings along, and that replaces the one of a limit for this request. It applies to
 * the limits of policies with {@code allow-override} whose windows are exactly {@code windowMs} long. All other limits
 * ignore it. Usage is counted as without an override, so requests with different values share one count.
 *
 * <pre>
 *   fixed-window 10/1m, 8 in use, cost 1:   no override  → permitted, 1 remains
 *                                           20 per 1m    → permitted, 11 remain
 *                                           5 per 1m     → denied, 0 remain
 *                                           20 per 1h    → permitted, 1 remains
 * </pre>
 *
 * @param limit tokens per window, 0 to {@link dev.weir.limit.Limit#MAX_CAPACITY}; 0 denies every cost above 0
 * @param windowMs the length of the window in milliseconds, 1 to {@link dev.weir.limit.Limit#MAX_LEVEL}
 */
public record LimitOverride(long limit, long windowMs) {}
