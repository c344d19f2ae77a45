package dev.weir.decision.state;

import dev.weir.limit.LimitAccount;
import java.util.ArrayList;
import java.util.List;

/**
 * What reservations need to find the accounts of a {@link PolicyState} again that they were charged to. The origin of an
 * account is the number of the first reservation that was charged to it. A RESET, or terms that do not continue the
 * usage with its times, end it: the next reservation gives the account another one, and earlier ones do not find it.
 *
 * <pre>
 *   reservation 7     origins [7, 7]      RESET        origins []
 *   reservation 9     origins [7, 7]      number 12    origins [12, 12]      7 and 9 change nothing any more
 * </pre>
 *
 * @param untilMs when the last reservation ends; the state is kept until then
 * @param origins the origin of each of {@link PolicyState#allAccounts}, 0 if it has none; empty if no account has one
 */
public record ReservedUse(long untilMs, List<Long> origins) {

    /** No reservation was charged. */
    public static final ReservedUse NONE = new ReservedUse(Long.MIN_VALUE, List.of());

    public ReservedUse {
        origins = List.copyOf(origins);
    }

    /** Returns the origin of an account, 0 if it has none. */
    public long origin(int index) {
        return index < origins.size() ? origins.get(index) : 0;
    }

    /**
     * Returns this after a reservation was charged to those of the accounts that count usage.
     *
     * @param all how many accounts there are, including suspended ones
     */
    ReservedUse with(long number, long endMs, List<LimitAccount<?>> accounts, int all) {
        List<Long> next = new ArrayList<>(all);
        for (int i = 0; i < all; i++) {
            boolean begins = i < accounts.size()
                    && origin(i) == 0
                    && accounts.get(i).limit().countsUsage();
            next.add(begins ? (Long) number : (Long) origin(i));
        }
        return until(endMs, next);
    }

    /** Returns this with an end that is not before {@code endMs}. */
    ReservedUse until(long endMs) {
        return endMs <= untilMs ? this : new ReservedUse(endMs, origins);
    }

    private ReservedUse until(long endMs, List<Long> others) {
        return new ReservedUse(Math.max(untilMs, endMs), others);
    }

    /**
     * Returns this after a migration.
     *
     * @param sources for each new account the index of the one that it continues with its times;
     *     {@link DelayedCharge#NO_SOURCE} if there is none
     */
    ReservedUse migrated(int[] sources) {
        List<Long> next = new ArrayList<>(sources.length);
        for (int source : sources) {
            next.add(source == DelayedCharge.NO_SOURCE ? (Long) 0L : (Long) origin(source));
        }
        return new ReservedUse(untilMs, next);
    }
}
