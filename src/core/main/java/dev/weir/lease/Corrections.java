package dev.weir.lease;

import dev.weir.limit.Limit;
import java.util.ArrayList;
import java.util.List;

/**
 * What a holder has to report to the ledger besides the usage of its leases.
 *
 * @param settled tokens used in excess of all leases
 * @param refunds refunds of usage that the ledger has charged; at most {@value #MAX_REFUNDS}
 * @param dueMs when the refunds are reported if no message is sent before, by the holder's clock;
 *     {@link Long#MAX_VALUE} if there are none
 */
public record Corrections(long settled, List<Refund> refunds, long dueMs) {

    /** The most refunds of a message. Further ones are dropped, so the tokens count as used. */
    public static final int MAX_REFUNDS = 256;

    /** With so many refunds, a message is due at once. */
    private static final int MANY_REFUNDS = 64;

    /** There is nothing to report. */
    public static final Corrections NONE = new Corrections(0, List.of(), Long.MAX_VALUE);

    public Corrections {
        refunds = List.copyOf(refunds);
    }

    /** Returns corrections that were stored. Refunds are due at once. */
    public static Corrections fromStore(long settled, List<Refund> refunds) {
        return new Corrections(settled, refunds, refunds.isEmpty() ? Long.MAX_VALUE : Long.MIN_VALUE);
    }

    Corrections withSettled(long more) {
        return new Corrections(sum(settled, more), refunds, dueMs);
    }

    /** @param atMs when it is reported at the latest */
    Corrections with(Refund refund, long atMs) {
        List<Refund> next = new ArrayList<>(refunds);
        int same = next.size() - 1;
        while (same >= 0
                && (next.get(same).leaseId() != refund.leaseId()
                        || next.get(same).sinceMs() != refund.sinceMs())) {
            same--;
        }
        if (same >= 0) {
            long tokens = sum(next.get(same).tokens(), refund.tokens());
            next.set(same, new Refund(refund.leaseId(), refund.sinceMs(), tokens));
        } else if (next.size() < MAX_REFUNDS) {
            next.add(refund);
        }
        return new Corrections(settled, next, next.size() >= MANY_REFUNDS ? Long.MIN_VALUE : Math.min(dueMs, atMs));
    }

    boolean isNone() {
        return settled == 0 && refunds.isEmpty();
    }

    /** Returns whether a message must be sent now. */
    boolean isDue(long nowMs) {
        return settled != 0 || dueMs <= nowMs;
    }

    /** Returns whether what is stored of these corrections equals what is stored of others. */
    boolean isStoredLike(Corrections other) {
        return settled == other.settled && refunds.equals(other.refunds);
    }

    static long sum(long tokens, long more) {
        return tokens + Math.min(more, Limit.MAX_LEVEL - tokens);
    }
}
