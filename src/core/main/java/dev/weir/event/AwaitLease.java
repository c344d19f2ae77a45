package dev.weir.event;

/**
 * There is no slice at hand of a quota that is shared, but one may come.
 *
 * @param key whose
 * @param maxWaitMs for how long it is waited for, from when the request came
 */
public record AwaitLease(StateKey key, long maxWaitMs) implements DecisionResult {}
