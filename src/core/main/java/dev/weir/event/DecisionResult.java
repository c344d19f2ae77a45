package dev.weir.event;

/**
 * The result of applying the policies to a request: a decision, an admission to a queue, which decides, or the need to
 * wait for a lease.
 */
public sealed interface DecisionResult permits Decision, Admission, AwaitLease {}
