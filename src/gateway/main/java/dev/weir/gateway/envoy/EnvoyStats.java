package dev.weir.gateway.envoy;

/**
 * The counts of the calls of a rate limit service since its start.
 *
 * @param ok calls within the limits
 * @param overLimit calls over a limit
 * @param fallbacks requests of these calls that the fallback decided
 * @param shed requests of these calls that were denied because there were too many
 * @param invalid calls that were rejected as invalid
 * @param exhausted calls that were rejected because there were too many
 * @param incomplete calls that were closed because their message did not arrive
 * @param failed calls that ended with another error
 * @param cancelled calls that ended before their response: the caller cancelled them or their deadline passed
 * @param inProgress calls in progress
 */
public record EnvoyStats(
        long ok,
        long overLimit,
        long fallbacks,
        long shed,
        long invalid,
        long exhausted,
        long incomplete,
        long failed,
        long cancelled,
        int inProgress) {}
