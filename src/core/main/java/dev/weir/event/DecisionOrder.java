package dev.weir.event;

/**
 * The position of a decision among those of its stream task. A task decides most requests in the order of their offsets
 * in its partition of the request topic. A request that waited for shared quota, or was routed from another partition,
 * is decided in between.
 *
 * <pre>
 *   request offsets   17   18   19   20        18 waits
 *   decisions         17   19   18   20        18 has the order (afterOffset 19, step 1)
 * </pre>
 *
 * @param afterOffset the last offset that the task had read from its own partition; -1 if it had read none
 * @param step the number of the decision among those with this {@code afterOffset}, from 1; numbers can be skipped
 */
public record DecisionOrder(long afterOffset, int step) implements Comparable<DecisionOrder> {

    @Override
    public int compareTo(DecisionOrder other) {
        int byOffset = Long.compare(afterOffset, other.afterOffset);
        return byOffset != 0 ? byOffset : Integer.compare(step, other.step);
    }
}
