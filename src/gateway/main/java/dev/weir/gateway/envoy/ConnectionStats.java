package dev.weir.gateway.envoy;

/**
 * The counts of the connections of a rate limit service since its start.
 *
 * @param open open connections
 * @param untrusted connections that were closed because of the address of the caller
 * @param tooMany connections that were closed because there were too many
 * @param tooSlow connections that were closed because their handshakes took too long
 * @param resets connections that were closed because their caller reset too many calls
 * @param noDescriptors attempts to accept a connection that failed
 */
public record ConnectionStats(int open, long untrusted, long tooMany, long tooSlow, long resets, long noDescriptors) {}
