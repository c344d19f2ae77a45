package dev.weir.audit.finding;

import java.time.Duration;
import java.time.Instant;

/**
 * The records to verify.
 *
 * @param from in each partition, verify the first request at or after this time, and all later ones; null: all
 * @param to in each partition, verify the requests before the first one at or after this time; null: all
 * @param policyLag how long after a policy change an instance may not have applied it yet
 */
public record AuditRange(Instant from, Instant to, Duration policyLag) {

    /** Returns whether a time, in ms since the epoch, is in the range. */
    public boolean contains(long timestampMs) {
        return (from == null || timestampMs >= from.toEpochMilli()) && (to == null || timestampMs < to.toEpochMilli());
    }
}
