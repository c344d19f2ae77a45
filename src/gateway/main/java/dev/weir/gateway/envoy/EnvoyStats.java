package dev.weir.gateway.envoy;

/**
 * The counts of the calls of a rate limit service since its start.
 *
 * @param ok calls within the limits
 * @param overLimit calls over a limit
 * @param undecided requests of these calls that Weir did not decide
 * @param errors calls without a response
 * @param inProgress calls in progress
 */
public record EnvoyStats(long ok, long overLimit, Undecided undecided, Errors errors, int inProgress) {

    /**
     * Requests that Weir did not decide.
     *
     * @param fallbacks requests that the fallback decided
     * @param shed requests that were denied because there were too many
     */
    public record Undecided(long fallbacks, long shed) {}

    /**
     * Calls without a response.
     *
     * @param invalid calls that were rejected as invalid
     * @param exhausted calls that were rejected because there were too many
     * @param incomplete calls that were closed because their message did not arrive
     * @param failed calls that ended with another error
     * @param cancelled calls that the caller cancelled, or whose deadline passed
     */
    public record Errors(long invalid, long exhausted, long incomplete, long failed, long cancelled) {}
}
