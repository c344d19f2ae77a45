package dev.weir.audit;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;

/** Which partitions have requests that belong to other ones, as far as they were read. Not for several threads. */
public final class MisplacedPartitions {

    private final Map<Integer, Set<Integer>> partitionsByTask = new HashMap<>();
    private final Map<Integer, TaskResult> audited = new HashMap<>();

    /** What was read with a task, and whether none of its decisions was deleted. */
    private record TaskResult(IntPredicate read, boolean decisionsWhole) {}

    /** A partition has a request for the task of another one. */
    void add(int task, int partition) {
        partitionsByTask.computeIfAbsent(task, any -> new HashSet<>()).add(partition);
    }

    /** The partitions that have requests for a task. */
    Set<Integer> partitionsFor(int task) {
        return partitionsByTask.getOrDefault(task, Set.of());
    }

    /**
     * A task was audited.
     *
     * @param read which partitions were read with it
     * @param decisionsWhole whether no decision of it was deleted
     */
    void audited(int task, IntPredicate read, boolean decisionsWhole) {
        audited.put(task, new TaskResult(read, decisionsWhole));
    }

    /** Whether a task was audited without reading a partition: there is no decision on a request from there. */
    boolean isUnread(int task, int partition) {
        return audited.containsKey(task) && !audited.get(task).read.test(partition);
    }

    /** Whether no decision of a task that was audited was deleted. */
    boolean hasAllDecisions(int task) {
        return audited.get(task).decisionsWhole;
    }
}
