package dev.weir.decision;

import dev.weir.decision.state.LimitTimeline;
import dev.weir.decision.state.PolicyState;
import dev.weir.event.RequestKind;
import dev.weir.limit.Charge;
import dev.weir.limit.Concurrency;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Slots;
import dev.weir.limit.Unlimited;

/**
 * The usage of a policy's limits by the key of a request, before or after it is charged.
 *
 * @param of the policy
 * @param state the state of the key at the policy's own time, under its current limits
 * @param accounts the accounts of the state, with the limits of the request
 * @param nowMs the time of the request; a policy that observes goes by its own time, if that is later
 * @param ownMs the policy's own time: that of the last charge, or of the request if that is later
 * @param adopted whether the state has to be stored also if nothing is charged
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record KeyUsage(
        CountedPolicy of, PolicyState state, LimitAccount<?>[] accounts, long nowMs, long ownMs, boolean adopted) {

    /**
     * Returns the usage before the request. A RESET frees it, including that of delayed requests which have not started
     * yet.
     *
     * @param atMs the time of the request
     */
    static KeyUsage at(CountedPolicy of, long atMs) {
        long nowMs = of.observes() ? of.notBeforeMs(atMs) : atMs;
        if (of.stored == null) {
            return of(of, PolicyState.fresh(of.policy, nowMs), nowMs, nowMs, false);
        }
        if (of.request.kind() == RequestKind.RESET) {
            return of(of, of.stored.reset(of.policy, nowMs), nowMs, nowMs, true);
        }
        long ownMs = of.clockMs(nowMs);
        PolicyState state = of.stored.startedBy(ownMs).withoutExpiredSteps(ownMs);
        if (state.hasLimitsOf(of.policy)) {
            return of(of, state, nowMs, ownMs, false);
        }
        // Converted accounts are stored also with a denial, because the reported wait starts now, unless the old state
        // has expired and might have been deleted.
        boolean adopted = ownMs < of.stored.expiresAtMs() && state.isConvertedBy(of.policy, ownMs);
        return of(of, state.migrateTo(of.policy, ownMs), nowMs, ownMs, adopted);
    }

    private static KeyUsage of(CountedPolicy of, PolicyState state, long nowMs, long ownMs, boolean adopted) {
        LimitAccount<?>[] accounts = new LimitAccount<?>[state.accounts().size()];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = of.ofRequest(state.accounts().get(i));
        }
        return new KeyUsage(of, state, accounts, nowMs, ownMs, adopted);
    }

    int size() {
        return accounts.length;
    }

    boolean isUnlimited(int index) {
        return accounts[index].limit() instanceof Unlimited;
    }

    /** Returns whether delayed requests of other policies have yet to start, between which this one could pass. */
    boolean hasDelayed() {
        return !state.delayed().isEmpty();
    }

    private boolean isOfSlots(int index) {
        return accounts[index].limit() instanceof Concurrency;
    }

    /** Returns the time at which a limit is checked: slots are taken at once, also if the request is delayed. */
    private long checkedAtMs(int index, long startMs) {
        return isOfSlots(index) ? ownMs : startMs;
    }

    boolean permits(int index, long startMs) {
        long atMs = checkedAtMs(index, startMs);
        return hasDelayed()
                ? timeline(index).permits(of.request.cost(), atMs)
                : accounts[index].permits(of.request.cost(), atMs);
    }

    /**
     * Returns the first time from {@code startMs} on, or for slots from the policy's own time on, at which a limit that the
     * request fits permits it.
     */
    long nextPermittedMs(int index, long startMs) {
        long fromMs = checkedAtMs(index, startMs);
        return hasDelayed()
                ? timeline(index).nextPermittedMs(of.request.cost(), fromMs)
                : accounts[index].waitMs(of.request.cost(), fromMs) + fromMs;
    }

    long remaining(int index, long startMs) {
        long atMs = checkedAtMs(index, startMs);
        return hasDelayed() ? timeline(index).remaining(atMs) : accounts[index].remaining(atMs);
    }

    /** Returns how long after the request the whole limit is available, if nothing is charged after {@code startMs}. */
    long resetAfterMs(int index, long startMs) {
        long atMs = checkedAtMs(index, startMs);
        return hasDelayed()
                ? timeline(index).resetAtMs(atMs) - nowMs
                : accounts[index].resetAfterMs(atMs) + atMs - nowMs;
    }

    private LimitTimeline timeline(int index) {
        return new LimitTimeline(state.accounts().get(index), state.delayedOf(index), of.override);
    }

    /** Returns the usage after the request was charged at {@code atMs}; this usage if it does not change. */
    KeyUsage charged(long atMs, Reserving reserving) {
        LimitAccount<?>[] next = new LimitAccount<?>[accounts.length];
        for (int i = 0; i < next.length; i++) {
            next[i] = reserving.isPresent() ? reserved(i, atMs, reserving) : charged(i, atMs);
        }
        return with(reservedState(reserving), next, atMs);
    }

    private LimitAccount<?> charged(int index, long atMs) {
        return switch (of.request.kind()) {
            case RESET -> accounts[index];
            case SETTLE ->
                isOfSlots(index)
                        ? accounts[index]
                        : accounts[index].chargeUpTo(of.terms.get(index).maxUsed(), of.request.cost(), atMs);
            default -> accounts[index].charge(of.request.cost(), atMs);
        };
    }

    /** Returns an account after the charge of a reservation, or after its slots were taken. */
    private LimitAccount<?> reserved(int index, long atMs, Reserving reserving) {
        return accounts[index].limit() instanceof Concurrency limit
                ? slotsTaken(limit, accounts[index], reserving)
                : accounts[index].chargeReserved(new Charge(reserving.number(), atMs, of.request.cost()));
    }

    private LimitAccount<?> slotsTaken(Concurrency limit, LimitAccount<?> account, Reserving reserving) {
        long endMs = reserving.startMs() + reserving.slotMs(of.policy);
        return new LimitAccount<>(limit, limit.taken((Slots) account.state(), of.request.cost(), endMs, ownMs));
    }

    private PolicyState reservedState(Reserving reserving) {
        return reserving.isPresent() && of.policy.countsUsage()
                ? state.reservedBy(reserving.number(), reserving.endMs())
                : state;
    }

    /** Returns the usage after the denial was charged to the limits that count denials; this usage if none does. */
    KeyUsage deniedCharged() {
        LimitAccount<?>[] next = new LimitAccount<?>[accounts.length];
        for (int i = 0; i < next.length; i++) {
            boolean counts = !of.rejects() && accounts[i].limit().countDenied();
            next[i] = counts ? accounts[i].chargeDenied(of.request.cost(), ownMs) : accounts[i];
        }
        return with(state, next, ownMs);
    }

    /**
     * Returns the usage with a charge that counts from {@code startMs} on, and with the slots taken now; this usage if no
     * limit counts anything.
     */
    KeyUsage chargedLater(long startMs, Reserving reserving) {
        boolean counts = false;
        LimitAccount<?>[] nextAccounts = accounts.clone();
        for (int i = 0; i < accounts.length; i++) {
            if (accounts[i].limit() instanceof Concurrency limit) {
                nextAccounts[i] = slotsTaken(limit, accounts[i], reserving);
            } else {
                counts |= !isUnlimited(i);
            }
        }
        PolicyState next = reservedState(reserving);
        return with(
                counts ? next.withDelayed(startMs, of.request.cost(), of.override, reserving.number()) : next,
                nextAccounts,
                ownMs);
    }

    @SuppressWarnings("ReferenceEquality") // an unchanged account is the same object
    private KeyUsage with(PolicyState next, LimitAccount<?>[] nextAccounts, long atMs) {
        boolean isChanged = adopted || next != state;
        for (int i = 0; i < accounts.length && !isChanged; i++) {
            isChanged = nextAccounts[i] != accounts[i];
        }
        return isChanged
                ? new KeyUsage(
                        of, next.charged(nowMs, atMs, toStore(nextAccounts)), nextAccounts, nowMs, ownMs, adopted)
                : this;
    }

    /** Returns the accounts to store. They have the policy's limits, whatever those of the request are. */
    private LimitAccount<?>[] toStore(LimitAccount<?>[] next) {
        if (of.override == null) {
            return next;
        }
        LimitAccount<?>[] toStore = new LimitAccount<?>[next.length];
        for (int i = 0; i < toStore.length; i++) {
            toStore[i] = state.accounts().get(i).withUsageOf(next[i]);
        }
        return toStore;
    }
}
