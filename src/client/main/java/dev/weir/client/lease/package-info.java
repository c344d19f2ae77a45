/**
 * Decisions in the client's process, with quota that it leases. Part of the implementation of the client, not of the
 * API: applications set {@code leased} in the builder of the client.
 */
package dev.weir.client.lease;
