package dev.weir.audit.finding;

import dev.weir.limit.Limit;
import java.util.EnumMap;
import java.util.Map;

/** How much was looked at, and what was found. Not for several threads. */
public final class AuditSummary {

    private final Map<UnverifiedReason, Long> unverified = new EnumMap<>(UnverifiedReason.class);
    private final Map<Mismatch.Kind, Long> mismatches = new EnumMap<>(Mismatch.Kind.class);
    private long requests;
    private long decisions;
    private long deadLetters;
    private long equal;
    private long sentToQueue;
    private long summed;
    private long summedByClients;

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
        summedByClients = isByClient ? plus(summedByClients, decisions) : summedByClients;
    }

    public void add(UnverifiedReason why) {
        add(why, 1);
    }

    public void add(UnverifiedReason why, long decisions) {
        unverified.merge(why, decisions, AuditSummary::plus);
    }

    /** Who writes decisions may tell of any number. */
    private static long plus(long sum, long more) {
        return Math.min(Limit.MAX_LEVEL, sum + more);
    }

    public void add(Mismatch.Kind kind) {
        mismatches.merge(kind, 1L, Long::sum);
    }

    /** Records of the request topic. */
    public long requests() {
        return requests;
    }

    /** Decisions on them, of any kind. */
    public long decisions() {
        return decisions;
    }

    /** Dead letters of them. */
    public long deadLetters() {
        return deadLetters;
    }

    /** Decisions on limits that are as recomputed, in every field. */
    public long equal() {
        return equal;
    }

    /** Requests that were sent to a queue, as recomputed; what the queue says is not. */
    public long sentToQueue() {
        return sentToQueue;
    }

    /** How often something allowed was added to what was taken of a shared quota. */
    public long summed() {
        return summed;
    }

    /** Of these, those that clients tell to have decided by themselves. */
    public long summedByClients() {
        return summedByClients;
    }

    /** By why. */
    public Map<UnverifiedReason, Long> unverified() {
        return unverified;
    }

    /** By kind. */
    public Map<Mismatch.Kind, Long> mismatches() {
        return mismatches;
    }

    /** How many differences there are. */
    public long mismatchCount() {
        return mismatches.values().stream().mapToLong(Long::longValue).sum();
    }
}
