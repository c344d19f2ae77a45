package dev.weir.client;

/** Whether responses have the fields {@code X-RateLimit-…}, and what {@code X-RateLimit-Reset} means. */
public enum XRateLimitFields {
    /** Responses do not have them. */
    NONE,
    /** {@code X-RateLimit-Reset} is the number of seconds until the whole limit is free again. */
    DELTA_SECONDS,
    /** {@code X-RateLimit-Reset} is the time at which the whole limit is free again, in seconds since the epoch (UTC). */
    EPOCH_SECONDS
}
