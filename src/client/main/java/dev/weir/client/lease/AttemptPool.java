package dev.weir.client.lease;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;

/**
 * Keeps attempts for the next decisions, at most four for each processor. Thread-safe.
 */
// Unlike a ThreadLocal, the pool is collected with its client: a thread of an application, which can run for as long as
// the process, keeps nothing of a client that was closed. A thread always uses the same slot. If another thread of that
// slot has the attempt, it creates one.
final class AttemptPool {

    private static final int SLOTS_PER_PROCESSOR = 4;

    /** The distance of slots, so that no two of them are in one cache line. */
    private static final int STRIDE = 32;

    private final Supplier<DecisionAttempt> creator;
    private final AtomicReferenceArray<DecisionAttempt> slots;
    private final int mask;

    /** @param creator returns a new attempt */
    AttemptPool(Supplier<DecisionAttempt> creator) {
        this.creator = creator;
        int count =
                Integer.highestOneBit(SLOTS_PER_PROCESSOR * Runtime.getRuntime().availableProcessors());
        mask = count - 1;
        slots = new AtomicReferenceArray<>(count * STRIDE);
    }

    /** Returns an attempt that no other thread uses. */
    DecisionAttempt take() {
        DecisionAttempt attempt = slots.getAndSet(slot(), null);
        return attempt == null ? creator.get() : attempt;
    }

    /** Keeps an attempt that the calling thread has taken, and that has ended normally. */
    void giveBack(DecisionAttempt attempt) {
        slots.setRelease(slot(), attempt);
    }

    private int slot() {
        return (int) (Thread.currentThread().getId() & mask) * STRIDE;
    }
}
