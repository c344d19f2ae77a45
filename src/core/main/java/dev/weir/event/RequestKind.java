package dev.weir.event;

/** What a request does with its cost. */
public enum RequestKind {
    /** Charges the cost if all limits permit it. */
    CONSUME,
    /** Checks whether the cost would pass, without charging it. */
    PEEK,
    /**
     * Corrects an earlier charge by a signed cost. It is allowed whatever remains, and can put a limit into debt. A
     * negative cost is a refund, which shared limits deny.
     */
    SETTLE,
    /** Withdraws a waiting request with the same requestId and client from a queue. */
    CANCEL,
    /**
     * Frees all usage of the limits that apply to a request with this tier and these attributes. Shared limits are
     * freed for all who share them. With a {@linkplain Request#policyId policyId}, only the limits of that policy are
     * freed, and it alone decides; if it does not apply, the request is denied. The cost is ignored.
     */
    RESET;

    /** Returns whether limits permit every request of this kind, whatever remains: it corrects earlier charges. */
    public boolean isCorrection() {
        return this == SETTLE || this == RESET;
    }
}
