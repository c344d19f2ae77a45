package dev.weir.event;

/** What a request does with its cost. */
public enum RequestKind {
    /**
     * Charges the cost if all limits permit it. With {@link Request#reserveMs}, or if it passes a concurrency limit, it
     * creates a reservation, identified by client and requestId.
     */
    CONSUME,
    /** Checks whether the cost would pass, without charging it. */
    PEEK,
    /**
     * Corrects an earlier charge by a signed cost. It is allowed whatever remains, and can put a limit into debt. A
     * negative cost is a refund, which shared limits deny. It changes no slots of a concurrency limit.
     *
     * <p>If it {@linkplain Request#settles names a reservation}, its cost is instead what the request really cost, 0 or
     * more: the request counts as if it had cost that from the start. The slots are freed, and the reservation ends.
     */
    SETTLE,
    /**
     * Withdraws a waiting request with the same requestId and client from a queue. Without a queue, it ends the
     * reservation with this requestId as a {@link #SETTLE} with cost 0 does: nothing was done.
     */
    CANCEL,
    /**
     * Frees all usage of the limits that apply to a request with this tier and these attributes. Shared limits are
     * freed for all who share them. With a {@linkplain Request#policyId policyId}, only the limits of that policy are
     * freed, and it alone decides; if it does not apply, the request is denied. The cost is ignored.
     */
    RESET,
    /** Ends the reservation with the same requestId and client: keeps its charges and frees its slots. */
    RELEASE,
    /**
     * Prolongs the reservation with the same requestId and client: it ends as long after this request as it was first
     * granted for.
     */
    RENEW,
    /** Ends an attempt of a released request: see {@link Acknowledgement}. */
    COMPLETE,
    /** Claims an attempt of a released request, and prolongs the time in which it must be completed. */
    EXTEND;

    /** Returns whether a request of this kind is the answer of a worker to a release, with an {@link Acknowledgement}. */
    public boolean isAcknowledgement() {
        return this == COMPLETE || this == EXTEND;
    }

    /** Returns whether limits permit every request of this kind, whatever remains: it corrects earlier charges. */
    public boolean isCorrection() {
        return this == SETTLE || this == RESET;
    }
}
