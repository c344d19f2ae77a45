package dev.weir.audit;

import dev.weir.audit.finding.Mismatch.RecordPosition;

/**
 * A dead letter of a request.
 *
 * @param reason null if the header is missing
 * @param timestampMs when it was written, ms since the epoch
 */
public record AuditedDeadLetter(String reason, RecordPosition place, long timestampMs) {}
