package dev.weir.shape;

import java.util.List;

/**
 * A queue as it is at some time.
 *
 * @param rules those in force, or the last that were
 * @param isDeleted it takes no more, and drains by its last rules
 * @param waiting how many requests wait
 * @param waitingTokens what they cost together; one counts for 2<sup>35</sup> at most
 * @param tiers those that are named by the rules or that somebody waits in, higher priorities first, then by name
 * @param oldestWaitMs how long the oldest of them has waited, null if none waits
 * @param released how many it has released
 * @param nextReleaseAtNanos when the next one leaves if nothing else comes and it does not expire before, ns since the
 *     epoch; null if nobody waits
 */
public record QueueView(
        QueueRules rules,
        boolean isDeleted,
        long waiting,
        long waitingTokens,
        List<OfTier> tiers,
        Long oldestWaitMs,
        long released,
        Long nextReleaseAtNanos) {

    /** How many requests of one tier wait; the tier is null for those that have none. */
    public record OfTier(String tier, Share share, long waiting) {}
}
