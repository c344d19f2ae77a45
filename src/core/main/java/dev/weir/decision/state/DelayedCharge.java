package dev.weir.decision.state;

import dev.weir.event.LimitOverride;
import dev.weir.limit.Charge;
import dev.weir.limit.LimitAccount;

/**
 * A charge that counts from the start of its request on, because a policy of another layer delays that request.
 *
 * @param startMs when the request starts, in milliseconds since the epoch
 * @param cost tokens, above 0
 * @param override the limit of the request, null if it has none or its policy allows none
 * @param uncounted a bit for each of {@link PolicyState#allAccounts} that it does not change. The limit was unlimited or
 *     suspended when the request was decided, or is one of slots, which are taken at once
 * @param reservation the number of the request's reservation, by which the cost can be corrected; 0 if it has none
 */
public record DelayedCharge(long startMs, long cost, LimitOverride override, long uncounted, long reservation) {

    /** Instead of the index of an account: there is none. */
    static final int NO_SOURCE = -1;

    /** Creates a charge that changes all accounts. */
    public DelayedCharge(long startMs, long cost, LimitOverride override) {
        this(startMs, cost, override, 0);
    }

    /** Creates a charge that belongs to no reservation. */
    public DelayedCharge(long startMs, long cost, LimitOverride override, long uncounted) {
        this(startMs, cost, override, uncounted, 0);
    }

    /** Returns whether it changes an account, by its index in {@link PolicyState#allAccounts}. */
    boolean counts(int index) {
        return (uncounted & 1L << index) == 0;
    }

    /**
     * Returns this charge after a migration of the accounts. One that starts unused takes the place of one that ends,
     * so if the charge did not change that one, it does not change this one either.
     *
     * @param sources for each new account the index of the one that it continues; {@link #NO_SOURCE} if it starts
     *     unused
     */
    DelayedCharge migrated(int[] sources) {
        long ending = uncounted;
        for (int source : sources) {
            ending &= source == NO_SOURCE ? -1 : ~(1L << source);
        }
        long next = 0;
        for (int i = 0; i < sources.length; i++) {
            boolean counts = sources[i] == NO_SOURCE ? ending == 0 : counts(sources[i]);
            next |= counts ? 0 : 1L << i;
        }
        return next == uncounted ? this : new DelayedCharge(startMs, cost, override, next, reservation);
    }

    /** Returns an account with the limit that applied to the request. */
    LimitAccount<?> ofRequest(LimitAccount<?> account) {
        return override == null ? account : account.withTokens(override.limit(), override.windowMs());
    }

    /** Returns this charge with its final cost, above 0. */
    DelayedCharge settled(long actualCost) {
        return new DelayedCharge(startMs, actualCost, override, uncounted);
    }

    /** Returns the account, with its own limit, after the charge. */
    LimitAccount<?> chargeTo(LimitAccount<?> account) {
        return override == null ? charged(account) : account.withUsageOf(charged(ofRequest(account)));
    }

    private LimitAccount<?> charged(LimitAccount<?> account) {
        return reservation == 0
                ? account.charge(cost, startMs)
                : account.chargeReserved(new Charge(reservation, startMs, cost));
    }
}
