package dev.weir.gateway.envoy;

/**
 * The counts of a rate limit service since its start.
 *
 * @param ok calls within the limits
 * @param overLimit calls over a limit
 * @param fallbacks requests of these calls that the fallback decided
 * @param shed requests of these calls that were denied because there were too many
 * @param invalid calls that were rejected as invalid
 * @param exhausted calls that were rejected because there were too many
 * @param failed calls that ended with another error
 * @param cancelled calls that ended before their response: the caller cancelled them or their deadline passed
 * @param inProgress calls in progress
 * @param connections open connections
 * @param untrusted connections that were closed because of the address of the caller
 * @param tooMany connections that were closed because there were too many
 */
public record EnvoyStats(
        long ok,
        long overLimit,
        long fallbacks,
        long shed,
        long invalid,
        long exhausted,
        long failed,
        long cancelled,
        int inProgress,
        int connections,
        long untrusted,
        long tooMany) {}
