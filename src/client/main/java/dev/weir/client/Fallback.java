package dev.weir.client;

/** What a {@link WeirClient} answers where Weir does not. */
public enum Fallback {
    /** Allowed: a limit may be exceeded for as long as Weir is away. */
    FAIL_OPEN,
    /** Not allowed: nothing passes for as long as Weir is away. */
    FAIL_CLOSED,
    /** No answer, but a {@link NoDecisionException}. */
    FAIL
}
