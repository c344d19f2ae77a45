package dev.weir.policy;

/** What a policy does with a request that exceeds its limits. */
public enum OnExceed {
    /** Denied, and told so. */
    DENY,
    /** Denied, while the outside is to be told that all is well. */
    SHADOW_BAN,
    /** Allowed, with a note that it would have been denied. */
    OBSERVE,
    /** Sent to a queue, which releases it later. */
    SHAPE
}
