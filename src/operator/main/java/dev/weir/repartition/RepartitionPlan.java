package dev.weir.repartition;

import java.util.List;

/**
 * What a repartitioning will do.
 *
 * @param requests the name of the request topic
 * @param from the present number of partitions of the state
 * @param to the number of partitions of the request topic, and of the state afterwards
 * @param isUnfinished whether an earlier repartitioning was interrupted
 * @param topics the topics that get partitions, in this order
 * @param records the number of offsets of the changelogs to read, an upper bound of the records
 */
public record RepartitionPlan(
        String requests, int from, int to, boolean isUnfinished, List<String> topics, long records) {

    public RepartitionPlan {
        topics = List.copyOf(topics);
    }

    /** Returns whether the state has as many partitions as the request topic already. */
    public boolean isDone() {
        return from == to && !isUnfinished;
    }
}
