package dev.weir.lease.holder;

import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.time.DueTime;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a holder has asked the ledger last, and what it knows of the ledger by the answers. An immutable value.
 *
 * <p>What remains of the limit is what the leases hold and what the ledger could lend by its last response:
 *
 * <pre>
 *   remaining            free by the last response + returned since − used without a lease since + available
 * </pre>
 *
 * <p>Tokens in the leases of other holders do not remain, used or not. Without a response within a term, what remains
 * is unknown.
 *
 * @param request the latest request for a lease
 * @param scarcity what was not free according to the last response to a request
 * @param check the latest question
 * @param balance what is known of the tokens that the leases do not cover
 */
public record LedgerAnswers(LastRequest request, Scarcity scarcity, LastCheck check, LedgerBalance balance) {

    /** Nothing was asked, and nothing is known. */
    static final LedgerAnswers NONE =
            new LedgerAnswers(LastRequest.NONE, Scarcity.NONE, LastCheck.NONE, LedgerBalance.UNKNOWN);

    /** Returns what remains for this holder; empty if the ledger has not responded within a term. */
    OptionalLong remaining(long available, long nowMs) {
        return balance.isKnown(nowMs) ? OptionalLong.of(plus(available)) : OptionalLong.empty();
    }

    private long plus(long available) {
        return LedgerBalance.plus(balance.lendable(), available);
    }

    /** Returns whether the cost could be used now, as far as the leases or a recent response of the ledger show. */
    boolean covers(long cost, long available, LeaseTerms terms, long nowMs) {
        return cost <= available || (balance.isFresh(terms, nowMs) && cost <= plus(available));
    }

    /** Returns whether the ledger could lend some tokens by its last response. */
    private boolean isFree(long tokens, long nowMs) {
        return balance.isKnown(nowMs) && tokens <= balance.free();
    }

    /** Returns the answer to the last question, if the ledger would not lend some tokens. */
    Optional<LastCheck.Refused> refusedCheck(long tokens, LeaseTerms terms, long nowMs) {
        return check instanceof LastCheck.Refused refused
                        && !isFree(tokens, nowMs)
                        && refused.refuses(tokens, terms, nowMs)
                ? Optional.of(refused)
                : Optional.empty();
    }

    /**
     * Returns whether a request for some tokens could be granted. For a while after a refusal, the refused amount or
     * more cannot, unless a later response says that as much is free.
     */
    boolean mayBeGranted(long tokens, LeaseTerms terms, long nowMs) {
        return request.mayBeGranted(tokens, terms, nowMs) || isFree(tokens, nowMs);
    }

    /** Returns whether the limit has not as many tokens left, according to the ledger's last response. */
    boolean isUnavailable(long tokens, long nowMs) {
        return !isFree(tokens, nowMs) && scarcity.lacks(tokens, nowMs);
    }

    /** Returns whether the last question is unanswered, and not to be repeated yet. */
    boolean isAsking(LeaseTerms terms, long nowMs) {
        return check instanceof LastCheck.Pending pending && !pending.isToRepeat(terms, nowMs);
    }

    /** Returns when the request or question was sent that a response answers; empty if it answers none. */
    OptionalLong sentMs(LeaseResponse response) {
        if (response instanceof LeaseResponse.Checked) {
            return check instanceof LastCheck.Pending pending && pending.number() == response.number()
                    ? OptionalLong.of(pending.sentMs())
                    : OptionalLong.empty();
        }
        return request instanceof LastRequest.Pending pending && pending.number() == response.number()
                ? OptionalLong.of(pending.sentMs())
                : OptionalLong.empty();
    }

    /** Returns the answers after a message was sent that reports all usage, and returns tokens of leases. */
    LedgerAnswers reported(long returned) {
        boolean isAwaited = request.isPending() || check instanceof LastCheck.Pending;
        return with((isAwaited ? balance : balance.sent()).returned(returned));
    }

    /** Returns the answers after tokens were used in excess of leases. */
    LedgerAnswers used(long tokens) {
        return with(balance.used(tokens));
    }

    /** Returns the answers after a request was sent. */
    LedgerAnswers requested(LastRequest.Pending next) {
        return new LedgerAnswers(next, scarcity, check, balance);
    }

    /** Returns the answers after a question was sent. */
    LedgerAnswers questioned(LastCheck.Pending next) {
        return new LedgerAnswers(request, scarcity, next, balance);
    }

    /** Returns the answers without a refusal: what was refused may be granted soon. */
    LedgerAnswers withoutRefusal() {
        return request.isPending() ? this : new LedgerAnswers(LastRequest.NONE, Scarcity.NONE, check, balance);
    }

    /**
     * Returns the answers after the request was granted.
     *
     * @param lease the lease
     */
    LedgerAnswers granted(LeaseResponse.Granted granted, Lease lease, LeaseTerms terms, long nowMs) {
        return new LedgerAnswers(
                new LastRequest.Idle(nowMs, nowMs + terms.leadMs()),
                granted.isLast() ? Scarcity.of(1, false, terms, nowMs) : Scarcity.NONE,
                check,
                balance.withResponse(granted, terms, lease.expiresAtMs(), nowMs));
    }

    /** Returns the answers after the request was refused, which must be unanswered. */
    LedgerAnswers refused(LeaseResponse.Refused refused, LeaseTerms terms, long nowMs) {
        long retryAtMs = DueTime.after(nowMs, refused.retryAfterMs());
        OptionalLong waiting = ((LastRequest.Pending) request).waitingTokens();
        return new LedgerAnswers(
                new LastRequest.Refused(nowMs, waiting, retryAtMs, Math.min(retryAtMs, nowMs + terms.termMs())),
                waiting.isEmpty() ? scarcity : Scarcity.of(waiting.getAsLong(), refused.isLent(), terms, nowMs),
                check,
                balance.withResponse(refused, terms, Lease.LONG_AGO_MS, nowMs));
    }

    /** Returns the answers after the question was answered, which must be unanswered. */
    LedgerAnswers checked(LeaseResponse.Checked checked, LeaseTerms terms, long nowMs) {
        long tokens = ((LastCheck.Pending) check).tokens();
        LastCheck next = checked.retryAfterMs() == 0
                ? LastCheck.NONE
                : new LastCheck.Refused(nowMs, tokens, DueTime.after(nowMs, checked.retryAfterMs()), checked.isLent());
        return new LedgerAnswers(
                request, scarcity, next, balance.withResponse(checked, terms, Lease.LONG_AGO_MS, nowMs));
    }

    /** Returns the answers after the ledger has renewed slots. */
    LedgerAnswers renewed(LeaseResponse.Renewed renewed, LeaseTerms terms, long nowMs) {
        return with(balance.withResponse(renewed, terms, Lease.LONG_AGO_MS, nowMs));
    }

    private LedgerAnswers with(LedgerBalance next) {
        return new LedgerAnswers(request, scarcity, check, next);
    }

    /** Returns the time from which nothing of this has an effect. */
    long idleAtMs(LeaseTerms terms) {
        return Math.max(Math.max(balance.untilMs(), check.idleAtMs(terms)), request.nextAttemptAtMs(terms));
    }
}
