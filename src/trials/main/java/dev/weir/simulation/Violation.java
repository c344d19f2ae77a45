package dev.weir.simulation;

/** Something that is promised and does not hold. */
final class Violation extends AssertionError {

    private static final long serialVersionUID = 1;

    final Promise promise;

    /** What is checked after each event. */
    enum Promise {
        /** What is read is answered, once, and in the same transaction. */
        ANSWERED_ONCE,
        /** The answer is the one of an undisturbed run. */
        DECIDED_ALIKE,
        /** No limit admits more than it may. */
        WITHIN_LIMITS,
        /** All clients together are let do no more than a limit that they share admits. */
        NEVER_ABOVE,
        /** What is lent comes back to the ledger, and what was used is charged there. */
        ACCOUNTED_FOR,
        /** What waits ends once. */
        ENDS_ONCE,
        /** Sequences have no gap, and no release is before its predecessor. */
        IN_SEQUENCE,
        /** No queue lets go faster than its rate. */
        IN_PACE,
        /** Queues go by the broker's time, whatever the clocks of their instances. */
        BY_BROKER_TIME,
        /** Who restores a task finds what its owner had at the last commit. */
        RESTORED_AS_IT_WAS,
        /** No more is kept, on the heap or in the stores, than there is a use for. */
        BOUNDED,
        /** All instances end up with the same policies, the last good ones. */
        POLICIES_AGREE,
        /** Once troubles are over, all comes to its end. */
        DRAINS
    }

    Violation(Promise promise, String what) {
        super(promise + ": " + what);
        this.promise = promise;
    }

    static void unless(boolean holds, Promise promise, String what) {
        if (!holds) {
            throw new Violation(promise, what);
        }
    }
}
