package dev.weir.audit;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;

/**
 * The partitions that have requests for the tasks of other partitions, as far as they have been read. Not thread-safe.
 */
public final class MisplacedPartitions {

    private final Map<Integer, Set<Integer>> partitionsByTask = new HashMap<>();
    private final Map<Integer, TaskResult> audited = new HashMap<>();

    /** The partitions that were read for a task, and whether all its decisions are retained. */
    private record TaskResult(IntPredicate read, boolean decisionsWhole) {}

    /** Records that a partition has a request for the task of another one. */
    void add(int task, int partition) {
        partitionsByTask.computeIfAbsent(task, any -> new HashSet<>()).add(partition);
    }

    /** Returns the partitions that have requests for a task. */
    Set<Integer> partitionsFor(int task) {
        return partitionsByTask.getOrDefault(task, Set.of());
    }

    /**
     * Records that a task was audited.
     *
     * @param read the partitions that were read for it
     * @param decisionsWhole whether none of its decisions was deleted
     */
    void audited(int task, IntPredicate read, boolean decisionsWhole) {
        audited.put(task, new TaskResult(read, decisionsWhole));
    }

    /**
     * Returns whether a task was audited without reading a partition, because it has no decision on a request of it.
     */
    boolean isUnread(int task, int partition) {
        return audited.containsKey(task) && !audited.get(task).read.test(partition);
    }

    /** Returns whether none of the decisions of an audited task was deleted. */
    boolean hasAllDecisions(int task) {
        return audited.get(task).decisionsWhole;
    }
}
