package dev.weir.decision.state;

import dev.weir.limit.Charge;
import dev.weir.limit.Concurrency;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Slots;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The state of a key with what a reservation holds of it, before or after this is changed. An immutable value. Accounts
 * that do not continue those which the reservation was charged to are never changed.
 *
 * @param stored the state as it is stored
 * @param state the state at the time of the change, under the policy's current limits
 * @param accounts the accounts after the change, including suspended ones
 * @param delayed the charges of delayed requests after the change
 * @param hold what the reservation holds
 * @param terms the policy's current terms; empty if it is not in force, or has another key by now
 * @param nowMs the time of the change
 */
public record HeldState(
        PolicyState stored,
        PolicyState state,
        List<LimitAccount<?>> accounts,
        List<DelayedCharge> delayed,
        Hold hold,
        List<Policy.Term> terms,
        long nowMs) {

    /**
     * What a reservation holds of a key.
     *
     * @param charged what it was charged
     */
    public record Hold(ReservationRecord reservation, HeldCharge.Counted charged) {

        Charge charge() {
            return new Charge(reservation.number(), charged.chargedAtMs(), reservation.cost());
        }

        long slotEndMs() {
            return reservation.slotEndMs(charged);
        }

        boolean holds(DelayedCharge charge) {
            return charge.reservation() == reservation.number();
        }

        boolean holdsAccountOf(long origin) {
            return origin > 0 && charged.origins().contains(origin);
        }
    }

    /**
     * Returns the state before the change.
     *
     * @param policy the version of the policy that is in force, null if there is none
     */
    public static HeldState of(
            PolicyState stored, ReservationRecord reservation, HeldCharge.Counted held, Policy policy, long nowMs) {
        long atMs = Math.max(stored.lastChargeMs(), nowMs);
        boolean continues = policy != null && policy.countsUnder(held.key());
        PolicyState started = stored.startedBy(atMs);
        PolicyState state = continues ? started.migrateTo(policy, atMs) : started;
        List<Policy.Term> terms = continues ? policy.terms() : List.of();
        return new HeldState(
                stored, state, state.allAccounts(), state.delayed(), new Hold(reservation, held), terms, nowMs);
    }

    private long atMs() {
        return Math.max(state.lastChargeMs(), nowMs);
    }

    /** Returns this after the slots were freed. */
    public HeldState freed() {
        return changed(this::freed);
    }

    private LimitAccount<?> freed(LimitAccount<?> account) {
        return account.limit() instanceof Concurrency limit
                ? with(limit, account, limit.freed(slots(account), hold.reservation.cost(), hold.slotEndMs(), atMs()))
                : account;
    }

    /** Returns this after the slots were prolonged to the end of the renewed reservation. */
    public HeldState renewed(ReservationRecord renewed) {
        return freed().withState(state.keptUntil(renewed.endMs()))
                .changed(account -> account.limit() instanceof Concurrency limit
                        ? with(
                                limit,
                                account,
                                limit.taken(
                                        slots(account),
                                        hold.reservation.cost(),
                                        renewed.slotEndMs(hold.charged),
                                        atMs()))
                        : account);
    }

    private static Slots slots(LimitAccount<?> account) {
        return (Slots) account.state();
    }

    @SuppressWarnings("ReferenceEquality") // an unchanged state is the same object
    private static LimitAccount<?> with(Concurrency limit, LimitAccount<?> account, Slots next) {
        return account.state() == next ? account : new LimitAccount<>(limit, next);
    }

    /**
     * Returns this as if the request had had another cost from its start. A larger cost of one that has not started yet is
     * charged as far as the limit with the smallest bound on debt permits.
     */
    public HeldState settled(long actualCost) {
        if (isDelayed()) {
            List<DelayedCharge> others = new ArrayList<>();
            for (DelayedCharge each : delayed) {
                boolean isHeld = hold.holds(each);
                if (!isHeld) {
                    others.add(each);
                } else if (actualCost > 0) {
                    others.add(each.settled(Math.min(actualCost, Math.max(each.cost(), smallestMaxUsed()))));
                }
            }
            return withDelayed(others);
        }
        List<LimitAccount<?>> next = new ArrayList<>(accounts);
        for (int i = 0; i < next.size(); i++) {
            if (isHeld(i) && !(next.get(i).limit() instanceof Concurrency)) {
                LimitAccount<?> account = next.get(i);
                long maxUsed = i < terms.size()
                        ? terms.get(i).maxUsed()
                        : 2 * account.limit().capacity();
                next.set(i, account.settled(hold.charge(), actualCost, maxUsed, atMs()));
            }
        }
        return withAccounts(next);
    }

    /** Returns the most tokens in use that all limits of the policy permit after a SETTLE. */
    private long smallestMaxUsed() {
        long smallest = Long.MAX_VALUE;
        for (Policy.Term term : terms) {
            smallest = term.limit() instanceof Concurrency ? smallest : Math.min(smallest, term.maxUsed());
        }
        return smallest;
    }

    /** Returns this after the charges became final. */
    public HeldState forgotten() {
        if (isDelayed()) {
            return withDelayed(delayed.stream()
                    .map(each -> hold.holds(each) ? each.settled(each.cost()) : each)
                    .toList());
        }
        return changed(account -> account.forgotten(hold.charge()));
    }

    /** Returns whether the reservation still holds anything: its accounts may have been replaced, such as by a RESET. */
    public boolean isHeld() {
        boolean isHeld = isDelayed();
        for (int i = 0; i < accounts.size() && !isHeld; i++) {
            isHeld = isHeld(i);
        }
        return isHeld;
    }

    private boolean isDelayed() {
        return delayed.stream().anyMatch(hold::holds);
    }

    private boolean isHeld(int index) {
        return hold.holdsAccountOf(state.reserved().origin(index));
    }

    private HeldState changed(UnaryOperator<LimitAccount<?>> change) {
        List<LimitAccount<?>> next = new ArrayList<>(accounts);
        for (int i = 0; i < next.size(); i++) {
            next.set(i, isHeld(i) ? change.apply(next.get(i)) : next.get(i));
        }
        return withAccounts(next);
    }

    private HeldState withAccounts(List<LimitAccount<?>> next) {
        return new HeldState(stored, state, next, delayed, hold, terms, nowMs);
    }

    private HeldState withDelayed(List<DelayedCharge> next) {
        return new HeldState(stored, state, accounts, next, hold, terms, nowMs);
    }

    private HeldState withState(PolicyState next) {
        return new HeldState(stored, next, accounts, delayed, hold, terms, nowMs);
    }

    /** Returns whether the change has an effect. */
    @SuppressWarnings("ReferenceEquality") // what is unchanged is the same object
    public boolean isChanged() {
        boolean isChanged = delayed != state.delayed() || !state.reserved().equals(stored.reserved());
        List<LimitAccount<?>> before = state.allAccounts();
        for (int i = 0; i < accounts.size() && !isChanged; i++) {
            isChanged = accounts.get(i) != before.get(i);
        }
        return isChanged;
    }

    /** Returns the state to store. */
    public PolicyState toStore() {
        return state.corrected(nowMs, accounts, delayed);
    }
}
