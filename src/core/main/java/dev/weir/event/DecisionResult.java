package dev.weir.event;

/**
 * What the policies say of a request: the answer, or that its answer is a queue's to give, or that it is to wait for
 * one.
 */
public sealed interface DecisionResult permits Decision, Admission, AwaitLease {}
