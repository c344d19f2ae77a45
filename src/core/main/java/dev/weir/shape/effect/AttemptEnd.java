package dev.weir.shape.effect;

/** How an attempt has ended. */
public enum AttemptEnd {
    DONE,

    /** Its worker asked for another attempt. */
    RETRY,

    /** Its worker reported that no attempt can succeed. */
    FAILED,

    /** Its worker has claimed it, and reported nothing in time. */
    TIMED_OUT,

    /** No worker has claimed it in time. */
    UNCLAIMED,

    /** It failed or timed out, and was the last one. */
    EXHAUSTED
}
