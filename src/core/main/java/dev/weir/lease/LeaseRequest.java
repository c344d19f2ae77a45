package dev.weir.lease;

import java.util.List;

/**
 * A message from a holder to a ledger: the usage of the holder's leases and, optionally, a request for another lease, a
 * question, or a reset.
 *
 * @param number echoed by the response; a holder accepts only the response to its latest request, question or renewals. 0
 *     if there are none
 * @param holder the name of the sender
 * @param wanted the tokens that are requested or asked about
 * @param usage what the holder has used
 * @param roundTripMs the measured round trip of this holder's requests, 0 if unknown
 * @param isReset whether to free all usage, after the reports are charged
 */
public record LeaseRequest(long number, String holder, Wanted wanted, Usage usage, long roundTripMs, boolean isReset) {

    /**
     * The most refunds of a message, and the most freed slots. Further ones are dropped, so the tokens count as used, and
     * the slots until their end.
     */
    public static final int MAX_REFUNDS = 256;

    /**
     * The tokens that a message requests or asks about.
     *
     * @param minTokens tokens that the first waiting request needs; a smaller lease cannot serve it. 0 if no request
     *     waits
     * @param waitingTokens tokens that all waiting requests need, {@code minTokens} or more
     * @param requestedTokens tokens that the holder expects to use within a term, {@code waitingTokens} or more; 0 if
     *     no lease is requested
     * @param checkedTokens tokens of which the ledger is asked whether it would lend them, without lending any; 0 for no
     *     question. Not together with a request for a lease
     */
    public record Wanted(long minTokens, long waitingTokens, long requestedTokens, long checkedTokens) {

        /** Creates the tokens of a request for a lease. */
        public Wanted(long minTokens, long waitingTokens, long requestedTokens) {
            this(minTokens, waitingTokens, requestedTokens, 0);
        }

        /** Nothing is requested, nor asked. */
        public static final Wanted NONE = new Wanted(0, 0, 0);

        /** Returns the tokens of a question. */
        public static Wanted check(long tokens) {
            return new Wanted(0, 0, 0, tokens);
        }
    }

    /**
     * The usage of one lease. A later report includes everything in earlier ones.
     *
     * @param leaseId the lease
     * @param used tokens used in total
     * @param lastUsedMs the decision time of the last use; meaningless if there was none
     * @param held tokens that are neither used nor returned
     * @param isReserved whether some of the tokens used may be refunded later
     * @param slots of a limit of concurrency: when the slots end that were used since the last report. What is missing
     *     counts as used until a {@code ttl} after the last use
     */
    public record Report(long leaseId, long used, long lastUsedMs, long held, boolean isReserved, List<SlotUse> slots) {

        public Report {
            slots = List.copyOf(slots);
        }

        /** Creates a report of tokens. */
        public Report(long leaseId, long used, long lastUsedMs, long held, boolean isReserved) {
            this(leaseId, used, lastUsedMs, held, isReserved, List.of());
        }

        /** Creates a report of tokens whose usage is final. */
        public Report(long leaseId, long used, long lastUsedMs, long held) {
            this(leaseId, used, lastUsedMs, held, false);
        }
    }

    /**
     * Corrections of usage that was reported before.
     *
     * @param number higher than those of all earlier refunds and freed slots of the holder, so that a repeated message
     *     changes nothing; 0 if there are none
     * @param refunds refunds of tokens
     * @param freed slots that were freed before their end
     * @param renewals slots to prolong, at most {@value SlotRenewal#MAX_PER_MESSAGE}; the ledger answers, so the message
     *     neither requests a lease nor asks a question
     */
    public record Refunds(long number, List<Refund> refunds, List<FreedSlots> freed, List<SlotRenewal> renewals) {

        /** There are no refunds. */
        public static final Refunds NONE = new Refunds(0, List.of());

        public Refunds {
            refunds = List.copyOf(refunds);
            freed = List.copyOf(freed);
            renewals = List.copyOf(renewals);
        }

        /** Creates refunds of tokens. */
        public Refunds(long number, List<Refund> refunds) {
            this(number, refunds, List.of(), List.of());
        }

        boolean isNone() {
            return refunds.isEmpty() && freed.isEmpty() && renewals.isEmpty();
        }
    }

    /**
     * What a holder has used.
     *
     * @param reports the usage of leases, each absolute since the lease was granted
     * @param settled tokens used in excess of all leases; ledgers ignore it if it is negative
     * @param refunds refunds of what these or earlier reports say
     */
    public record Usage(List<Report> reports, long settled, Refunds refunds) {

        public Usage {
            reports = List.copyOf(reports);
        }

        /** Creates a usage without refunds. */
        public Usage(List<Report> reports, long settled) {
            this(reports, settled, Refunds.NONE);
        }

        public boolean isNone() {
            return reports.isEmpty() && settled == 0 && refunds.isNone();
        }
    }

    /** Creates a message without refunds. */
    public LeaseRequest(
            long number,
            String holder,
            Wanted wanted,
            List<Report> reports,
            long settled,
            long roundTripMs,
            boolean isReset) {
        this(number, holder, wanted, new Usage(reports, settled), roundTripMs, isReset);
    }

    /** Creates a message of a holder with at most one waiting request. */
    public LeaseRequest(
            long number,
            String holder,
            long minTokens,
            long requestedTokens,
            List<Report> reports,
            long settled,
            long roundTripMs) {
        this(number, holder, new Wanted(minTokens, minTokens, requestedTokens), reports, settled, roundTripMs, false);
    }

    public List<Report> reports() {
        return usage.reports;
    }

    public long settled() {
        return usage.settled;
    }

    public Refunds refunds() {
        return usage.refunds;
    }

    public long minTokens() {
        return wanted.minTokens;
    }

    public long waitingTokens() {
        return wanted.waitingTokens;
    }

    public long requestedTokens() {
        return wanted.requestedTokens;
    }

    public long checkedTokens() {
        return wanted.checkedTokens;
    }

    /** Returns a message that reports usage, without refunds, and requests no lease. */
    public static LeaseRequest report(String holder, List<Report> reports, long settled) {
        return report(holder, new Usage(reports, settled));
    }

    /** Returns a message that reports usage and requests no lease. */
    public static LeaseRequest report(String holder, Usage usage) {
        return new LeaseRequest(0, holder, new Wanted(0, 0, 0), usage, 0, false);
    }

    /** Returns a message that only asks whether tokens would be lent, at least 1. */
    public static LeaseRequest check(String holder, long tokens) {
        return new LeaseRequest(0, holder, Wanted.check(tokens), List.of(), 0, 0, false);
    }

    /** Returns whether the message requests a lease. */
    public boolean requestsLease() {
        return wanted.requestedTokens > 0;
    }

    /** Returns whether the message asks to prolong slots. */
    public boolean isRenewal() {
        return !refunds().renewals.isEmpty();
    }

    /** Returns whether a request may wait for the response. */
    public boolean isAwaited() {
        return wanted.minTokens > 0 || isCheck() || isRenewal();
    }

    /** Returns whether the message asks what could be lent. */
    public boolean isCheck() {
        return wanted.checkedTokens > 0;
    }
}
