package dev.weir.audit;

import dev.weir.audit.finding.AuditRange;
import dev.weir.event.Request;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * The task to audit, and what is known about its requests and decisions.
 *
 * @param partition the partition of the task
 * @param boundsByPartition the bounds of the request topic, by partition
 * @param taskOf the partition of the task that decides a client's requests
 * @param retained what has not been deleted
 * @param areQueuesDone whether the queues have answered all requests that were sent to them
 * @param drainedTasks the tasks that have decided all requests that were routed to them
 * @param range the range from which the offsets were computed
 */
public record AuditScope(
        int partition,
        Map<Integer, Bounds> boundsByPartition,
        ToIntFunction<String> taskOf,
        Retained retained,
        boolean areQueuesDone,
        Set<Integer> drainedTasks,
        AuditRange range) {

    /**
     * What the topics still have.
     *
     * @param allRequests whether no request of the task's own partition was deleted
     * @param allDecisions whether no decision was deleted
     * @param allReleases whether no release was deleted
     * @param deadLettersFromMs dead letters up to this time may have been deleted, ms since the epoch; the minimum if
     *     none was
     */
    public record Retained(boolean allRequests, boolean allDecisions, boolean allReleases, long deadLettersFromMs) {}

    /**
     * The offsets of a partition of the request topic.
     *
     * @param begin the offset of the first retained request
     * @param from the offset of the first request to verify; earlier ones are only replayed for their usage
     * @param to the offset after the last request to verify
     * @param end the offset after the last request
     * @param decidedTo the offset up to which all requests are decided or routed; null if unknown
     */
    public record Bounds(long begin, long from, long to, long end, Long decidedTo) {

        boolean isDecided(long offset) {
            return decidedTo != null && offset < decidedTo;
        }
    }

    public AuditScope {
        boundsByPartition = Map.copyOf(boundsByPartition);
        drainedTasks = Set.copyOf(drainedTasks);
    }

    Bounds bounds(int of) {
        return boundsByPartition.get(of);
    }

    /** Returns the offset of the first request of the own partition to verify. */
    long from() {
        return bounds(partition).from;
    }

    /** Returns the offset after the last request of the own partition to verify. */
    long to() {
        return bounds(partition).to;
    }

    /** Returns the offset after the last request of the own partition. */
    long end() {
        return bounds(partition).end;
    }

    /** Returns whether such a request may exist, or may have existed. */
    boolean mayContain(Request.Source source) {
        Bounds of = bounds(source.partition());
        return of != null && source.offset() >= 0 && source.offset() < of.end;
    }

    /** Returns whether a task has decided all requests that were routed to it. */
    boolean isRoutedDone(int task) {
        return drainedTasks.contains(task);
    }

    /** Returns whether no request of any partition, and no decision of this one, was deleted. */
    boolean isAllRetained() {
        return retained.allDecisions && boundsByPartition.values().stream().allMatch(of -> of.begin == 0);
    }

    /** Returns whether all retained requests of all partitions are to be verified. */
    boolean isEverythingInScope() {
        return boundsByPartition.values().stream().allMatch(of -> of.from <= of.begin && of.to >= of.end);
    }

    boolean isInScope(Request.Source source) {
        Bounds of = bounds(source.partition());
        return of != null && source.offset() >= of.from && source.offset() < of.to;
    }
}
