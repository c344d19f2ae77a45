package dev.weir.audit;

import dev.weir.audit.finding.AuditRange;
import dev.weir.event.Request;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * Which task, and what is known of its requests and their decisions otherwise.
 *
 * @param partition the task's own one
 * @param boundsByPartition by partition, what there is of the request topic
 * @param taskOf the partition of the task that decides a client's requests
 * @param hasAllRequests whether no request of the own partition was deleted
 * @param hasAllDecisions whether no decision was deleted
 * @param deadLettersFromMs dead letters up to then may have been deleted, ms since the epoch; least if none was
 * @param areQueuesDone whether the queues have answered all that was sent to them
 * @param drainedTasks the tasks that have decided all requests that were routed to them
 * @param range whence the offsets are
 */
public record AuditScope(
        int partition,
        Map<Integer, Bounds> boundsByPartition,
        ToIntFunction<String> taskOf,
        boolean hasAllRequests,
        boolean hasAllDecisions,
        long deadLettersFromMs,
        boolean areQueuesDone,
        Set<Integer> drainedTasks,
        AuditRange range) {

    /**
     * What there is of a partition of the request topic.
     *
     * @param begin the offset of the first that there is
     * @param from the offset of the first that is judged; those before are decided for what they used
     * @param to the offset behind the last that is judged
     * @param end the offset behind the last that there is
     * @param decidedTo the offset up to which all are decided or routed, null if that is not known
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

    /** The offset of the first request of the own partition that is judged. */
    long from() {
        return bounds(partition).from;
    }

    /** The offset behind the last request of the own partition that is judged. */
    long to() {
        return bounds(partition).to;
    }

    /** The offset behind the last request of the own partition. */
    long end() {
        return bounds(partition).end;
    }

    /** Whether there may be, or may have been, such a request. */
    boolean mayContain(Request.Source source) {
        Bounds of = bounds(source.partition());
        return of != null && source.offset() >= 0 && source.offset() < of.end;
    }

    /** Whether a task has decided all requests that were routed to it. */
    boolean isRoutedDone(int task) {
        return drainedTasks.contains(task);
    }

    /** Whether nothing of any partition of the request topic, and no decision of this one, was deleted. */
    boolean isAllRetained() {
        return hasAllDecisions && boundsByPartition.values().stream().allMatch(of -> of.begin == 0);
    }

    /** Whether all requests that there are, of all partitions, are judged. */
    boolean isEverythingInScope() {
        return boundsByPartition.values().stream().allMatch(of -> of.from <= of.begin && of.to >= of.end);
    }

    boolean isInScope(Request.Source source) {
        Bounds of = bounds(source.partition());
        return of != null && source.offset() >= of.from && source.offset() < of.to;
    }
}
