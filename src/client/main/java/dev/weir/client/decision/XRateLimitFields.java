package dev.weir.client.decision;

/** Whether responses have the fields {@code X-RateLimit-…}, and in which format. */
public enum XRateLimitFields {
    /** Responses do not have them. */
    NONE,
    /** {@code X-RateLimit-Reset} is the number of seconds until the whole limit is free again. */
    DELTA_SECONDS,
    /** {@code X-RateLimit-Reset} is the time at which the whole limit is free again, in seconds since the epoch (UTC). */
    EPOCH_SECONDS,
    /**
     * The format of OpenAI's API. Each policy has its own fields, whose names end in its id: with the policy {@code
     * tokens}, they are {@code x-ratelimit-limit-tokens}, {@code x-ratelimit-remaining-tokens} and {@code
     * x-ratelimit-reset-tokens}. They are those of its limit with the least remaining. The last one is the duration until
     * the whole limit is free again, such as {@code 6m0s}.
     *
     * @see <a href="https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers">Rate limits in headers</a>
     */
    OPENAI
}
