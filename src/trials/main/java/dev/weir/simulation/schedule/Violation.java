package dev.weir.simulation.schedule;

import java.util.function.Supplier;

/** A promise that does not hold. */
public final class Violation extends AssertionError {

    private static final long serialVersionUID = 1;

    public final Promise promise;

    /** The promises that are checked. */
    public enum Promise {
        /** Each request is decided once, in the transaction that commits its offset. */
        ANSWERED_ONCE,
        /** The decision is that of an undisturbed run. */
        DECIDED_ALIKE,
        /** No limit admits more than it may. */
        WITHIN_LIMITS,
        /** All clients together use no more than a shared limit admits. */
        NEVER_ABOVE,
        /** Lent quota returns to the ledger, and used quota is charged there. */
        ACCOUNTED_FOR,
        /** Each queued request ends once. */
        ENDS_ONCE,
        /** Sequences have no gaps, and no release is before its predecessor. */
        IN_SEQUENCE,
        /** No queue releases faster than its rate. */
        IN_PACE,
        /**
         * No bucket has more in flight than it, its tiers and clients have slots, nor have all buckets more than their
         * total; each attempt is released once, is ended by its client or its time, and is followed by no more than
         * permitted.
         */
        WITHIN_SLOTS,
        /** Once a pause is committed, its queue releases nothing until it is resumed. */
        PAUSED,
        /** Queues use the broker's time, whatever the clocks of their instances. */
        BY_BROKER_TIME,
        /** A restored task is equal to that of its owner at the last commit. */
        RESTORED_AS_IT_WAS,
        /** The heap and the stores keep no more than is needed. */
        BOUNDED,
        /** All instances end with the same policies, the last good ones. */
        POLICIES_AGREE,
        /** After the faults have ended, all requests end. */
        DRAINS
    }

    public Violation(Promise promise, String what) {
        super(promise + ": " + what);
        this.promise = promise;
    }

    /** @param what returns the description: most checks succeed, and long texts take time */
    public static void unless(boolean holds, Promise promise, Supplier<String> what) {
        if (!holds) {
            throw new Violation(promise, what.get());
        }
    }
}
