package dev.weir.decision;

import dev.weir.decision.state.HeldCharge;
import dev.weir.event.AwaitLease;
import dev.weir.event.RequestKind;
import dev.weir.lease.holder.LastCheck;
import dev.weir.lease.holder.LastRequest;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.time.DueTime;
import java.util.Optional;
import java.util.OptionalLong;

/** The check of shared limits by the leases held of them. */
final class LeasedCheck extends PolicyCheck {

    /** Why the leases do not suffice. */
    private enum Shortage {
        NONE,
        /** Less is available. */
        TOO_LITTLE,
        /** Other requests wait for what is available. */
        BEHIND_WAITING,
        /** The ledger has not answered the question of a PEEK. */
        UNANSWERED
    }

    /** The leases, and what the request changes of them. */
    final LeaseEffects effects;

    private final LeasedPolicy leased;
    private final LeaseBook book;
    private final long nowMs;
    private final long atMs;
    private final Shortage shortage;

    private LeasedCheck(LeasedPolicy of, LeaseEffects effects, long atMs, Shortage shortage) {
        super(of);
        this.effects = effects;
        this.leased = of;
        this.book = effects.book();
        this.nowMs = of.nowMs;
        this.atMs = atMs;
        this.shortage = shortage;
    }

    /**
     * Compares the cost with what is available to a decision at {@code atMs}, which is not before
     * {@link LeasedPolicy#decisionTimeMs}. For a PEEK, which takes nothing, this is also what the ledger could lend.
     */
    static LeasedCheck of(LeasedPolicy of, long atMs) {
        Shortage shortage = of.takes() ? shortage(of, atMs) : Shortage.NONE;
        return new LeasedCheck(of, LeaseEffects.none(of.book), atMs, shortage);
    }

    private static Shortage shortage(LeasedPolicy of, long atMs) {
        LeaseBook book = of.book;
        long cost = of.request.cost();
        long nowMs = of.nowMs;
        if (!of.isPeek()) {
            boolean isBehindWaiting = of.isFirstAttempt && of.mayWait() && of.leases.hasWaiting(of.key);
            return isBehindWaiting
                    ? Shortage.BEHIND_WAITING
                    : cost > book.available(nowMs, atMs) ? Shortage.TOO_LITTLE : Shortage.NONE;
        }
        if (book.covers(cost, of.leaseTerms, nowMs, atMs)) {
            return Shortage.NONE;
        }
        return of.neverFits() || book.isAnswered(cost, of.leaseTerms, nowMs)
                ? Shortage.TOO_LITTLE
                : Shortage.UNANSWERED;
    }

    private LeasedCheck with(LeaseEffects next) {
        return new LeasedCheck(leased, next, atMs, shortage);
    }

    /** Returns whether the request may be permitted if it waits. */
    boolean shouldWait() {
        return exceeds()
                && leased.mayWait()
                && !observes()
                && !leased.neverFits()
                && leased.maxWaitMs() > 0
                && (leased.isPeek()
                        ? shortage == Shortage.UNANSWERED
                        : shortage == Shortage.BEHIND_WAITING
                                || book.mayBeGranted(leased.request.cost(), leased.leaseTerms, nowMs));
    }

    /** Returns what the request must wait for, null if it must {@linkplain #shouldWait not wait}. */
    AwaitLease awaitLease() {
        return shouldWait() ? new AwaitLease(leased.key, leased.maxWaitMs()) : null;
    }

    /** Returns this check with the demand or the question of the request, which each request has once. */
    LeasedCheck demanded() {
        long cost = leased.request.cost();
        if (!leased.isFirstAttempt) {
            return this;
        }
        if (shortage == Shortage.UNANSWERED) {
            return with(effects.withQuestion(cost));
        }
        boolean demands = leased.request.kind() == RequestKind.CONSUME && cost > 0;
        if (!demands || leased.neverFits() || leased.postpones()) {
            return this;
        }
        LeaseEffects demanded = effects.with(book.withDemand(cost, nowMs));
        return with(exceeds() ? demanded.withUnmetDemand(cost) : demanded);
    }

    /**
     * Returns this check after the leases were used, unless the request is denied. A reset frees what all holders have
     * used.
     *
     * @param reserving the reservation that the request creates, which can be refunded
     */
    LeasedCheck charged(boolean denied, Reserving reserving) {
        long cost = leased.request.cost();
        if (!denied && leased.request.kind() == RequestKind.RESET) {
            return with(effects.reset());
        }
        if (denied || cost == 0) {
            return this;
        }
        LeaseBook charged;
        if (leased.request.kind() == RequestKind.SETTLE) {
            charged = policy().limitsConcurrency() ? book : book.settle(cost, nowMs, atMs);
        } else if (policy().limitsConcurrency()) {
            charged = book.reserveSlots(cost, nowMs, atMs, reserving.lentSlotsEndMs(policy(), atMs));
        } else {
            charged = reserving.isPresent() ? book.reserve(cost, nowMs, atMs) : book.take(cost, nowMs, atMs);
        }
        return with(effects.with(charged));
    }

    /** Returns what a reservation took of the leases since an earlier check. */
    HeldCharge.Leased held(LeasedCheck before, Reserving reserving) {
        Optional<HeldCharge.LentSlotsEnd> slots = policy().limitsConcurrency()
                ? Optional.of(new HeldCharge.LentSlotsEnd(
                        reserving.slotMs(policy()), reserving.lentSlotsEndMs(policy(), atMs)))
                : Optional.empty();
        return new HeldCharge.Leased(leased.key, observes(), atMs, book.takenSince(before.book), slots);
    }

    @Override
    boolean isShared() {
        return true;
    }

    /** An observing policy does not refuse, nor delay, a request until it is known. */
    @Override
    boolean exceeds() {
        return shortage != Shortage.NONE && !(shortage == Shortage.UNANSWERED && observes());
    }

    @Override
    boolean refuses(int index) {
        return exceeds() && (leased.neverFits() ? neverFits(index) : index == leased.tightestIndex);
    }

    @Override
    boolean mayBind(int index) {
        return index == leased.tightestIndex;
    }

    @Override
    long clockMs() {
        return atMs;
    }

    /**
     * Returns what the leases hold and the ledger could lend by its last response; null if it is unknown, or if the
     * request exceeds the limit although as much was left then.
     */
    @Override
    Long remaining(int index) {
        OptionalLong left = book.remaining(nowMs, atMs);
        boolean isUnknown = left.isEmpty() || (exceeds() && left.getAsLong() >= leased.request.cost());
        return isUnknown ? null : (Long) left.getAsLong();
    }

    @Override
    Long resetAfterMs(int index) {
        return null;
    }

    @Override
    long retryAfterMs(int index) {
        LastRequest last = book.request();
        Optional<LastCheck.Refused> checked = refusedCheck();
        if (checked.isPresent()
                && checked.get().retryAtMs() < DueTime.NEVER) { // or the ledger has another limit by now
            return Math.max(1, checked.get().retryAtMs() - nowMs);
        }
        if (isLeaseLate(index) || book.mayBeGranted(leased.request.cost(), leased.leaseTerms, nowMs)) {
            long elapsedMs = last instanceof LastRequest.Pending pending ? nowMs - pending.sentMs() : 0;
            return Math.max(1, leased.leases.roundTripMs() - elapsedMs);
        }
        boolean isKnown = last instanceof LastRequest.Refused refused && refused.retryAtMs() < DueTime.NEVER;
        // otherwise the ledger does not know the current limit yet
        long retryAtMs = isKnown ? ((LastRequest.Refused) last).retryAtMs() : last.nextAttemptAtMs(leased.leaseTerms);
        return Math.max(1, retryAtMs - nowMs);
    }

    /** Returns whether the amount may be free although no lease of it has arrived, or other holders have it unused. */
    @Override
    boolean isLeaseMissing(int index) {
        Optional<LastCheck.Refused> checked = refusedCheck();
        if (checked.isPresent()) {
            return refuses(index) && checked.get().isLent();
        }
        return isLeaseLate(index)
                || (refuses(index) && !leased.neverFits() && book.isLent(leased.request.cost(), nowMs));
    }

    /** Returns the answer of the ledger to a question, if it would not lend what the request needs. */
    private Optional<LastCheck.Refused> refusedCheck() {
        return leased.isPeek() && exceeds() && !leased.neverFits()
                ? book.refusedCheck(leased.request.cost(), leased.leaseTerms, nowMs)
                : Optional.empty();
    }

    private boolean isLeaseLate(int index) {
        return refuses(index)
                && !leased.neverFits()
                && !book.isScarce(leased.request.cost(), nowMs)
                && (shortage == Shortage.BEHIND_WAITING
                        || book.mayBeGranted(leased.request.cost(), leased.leaseTerms, nowMs));
    }
}
