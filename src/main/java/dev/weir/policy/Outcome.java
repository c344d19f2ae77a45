package dev.weir.policy;

/** What became of a request. */
public enum Outcome {
    ALLOWED,
    DENIED
}
