package dev.weir.audit.finding;

import dev.weir.limit.Limit;
import java.util.EnumMap;
import java.util.Map;

/** The number of audited records and the results. Not thread-safe. */
public final class AuditSummary {

    private final Map<UnverifiedReason, Long> unverified = new EnumMap<>(UnverifiedReason.class);
    private final Map<Mismatch.Kind, Long> mismatches = new EnumMap<>(Mismatch.Kind.class);
    private long requests;
    private long decisions;
    private long deadLetters;
    private long equal;
    private long sentToQueue;
    private long summed;
    private long reportedByClients;

    public void addRequest() {
        requests++;
    }

    public void addDecision() {
        decisions++;
    }

    public void addDeadLetter() {
        deadLetters++;
    }

    public void addEqual() {
        equal++;
    }

    public void addSentToQueue() {
        sentToQueue++;
    }

    public void addSummed(long decisions, boolean isByClient) {
        summed = plus(summed, decisions);
        reportedByClients = isByClient ? plus(reportedByClients, decisions) : reportedByClients;
    }

    public void add(UnverifiedReason reason) {
        add(reason, 1);
    }

    public void add(UnverifiedReason reason, long decisions) {
        unverified.merge(reason, decisions, AuditSummary::plus);
    }

    /** Adds up to a bound: the counts in records of other writers may be arbitrarily large. */
    private static long plus(long sum, long more) {
        return Math.min(Limit.MAX_LEVEL, sum + more);
    }

    public void add(Mismatch.Kind kind) {
        mismatches.merge(kind, 1L, Long::sum);
    }

    /** Returns the number of records on the request topic. */
    public long requests() {
        return requests;
    }

    /** Returns the number of decisions on them, of any kind. */
    public long decisions() {
        return decisions;
    }

    /** Returns the number of their dead letters. */
    public long deadLetters() {
        return deadLetters;
    }

    /** Returns the number of decisions on limits that equal the recomputed ones in every field. */
    public long equal() {
        return equal;
    }

    /**
     * Returns the number of requests that were sent to a queue, as recomputed. The decisions of the queue are
     * not recomputed.
     */
    public long sentToQueue() {
        return sentToQueue;
    }

    /** Returns the number of allowed decisions that were added to the sums of shared quotas. */
    public long summed() {
        return summed;
    }

    /** Returns the number of these that leased clients reported. */
    public long reportedByClients() {
        return reportedByClients;
    }

    /** Returns the number of unverified requests and releases, by reason. */
    public Map<UnverifiedReason, Long> unverified() {
        return unverified;
    }

    /** Returns the number of mismatches, by kind. */
    public Map<Mismatch.Kind, Long> mismatches() {
        return mismatches;
    }

    /** Returns the number of mismatches. */
    public long mismatchCount() {
        return mismatches.values().stream().mapToLong(Long::longValue).sum();
    }
}
