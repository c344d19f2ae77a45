package dev.weir.event;

/**
 * There is no slice at hand of a quota that is shared, but one may come.
 *
 * @param on whose
 * @param maxWaitMs for how long it is waited for, from when the request came
 */
public record AwaitLease(StateKey on, long maxWaitMs) implements DecisionResult {}
