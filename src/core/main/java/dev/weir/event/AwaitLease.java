package dev.weir.event;

/**
 * The result that a request must wait for a lease: the leases held for a shared quota do not cover it, but the ledger
 * may grant another.
 *
 * @param key the key of the shared quota
 * @param maxWaitMs how long to wait for a lease, in milliseconds since the request arrived
 */
public record AwaitLease(StateKey key, long maxWaitMs) implements DecisionResult {}
