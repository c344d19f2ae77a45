package dev.weir.client;

/** What {@link WeirClient#decide} returns if Weir does not decide in time. */
public enum Fallback {
    /**
     * The request is allowed. While Weir is unavailable, limits may be exceeded. Requests that are shed because there
     * are too many are refused, unless {@link ClientBuilder#fallbackOnOverload} is set.
     */
    FAIL_OPEN,
    /** The request is not allowed. While Weir is unavailable, no request passes. */
    FAIL_CLOSED,
    /** The future fails with a {@link NoDecisionException}. */
    FAIL
}
