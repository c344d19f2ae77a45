package dev.weir.policy;

/** Why a decision is what it is; also a metric label, so the set is closed. */
public enum Reason {
    /** Every limit permits it. */
    WITHIN_LIMITS,
    /** No policy matches. */
    NO_POLICY,
    /** A {@link Kind#SETTLE} was booked. */
    SETTLED,
    /** A limit refuses it for now. */
    LIMIT_EXCEEDED,
    /** The cost is above what a limit can ever give. */
    COST_NEVER_FITS,
    /** The request's size is above the policy's {@code max-size}. */
    TOO_LARGE
}
