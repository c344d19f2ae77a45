package dev.weir.event;

/**
 * The position of a decision among those of its task. A task decides most requests in the order of their offsets on its
 * partition of the request topic. A request that waited for shared quota, or was routed from another partition, is
 * decided in between.
 *
 * <pre>
 *   request offsets   17   18   19   20        18 waits
 *   decisions         17   19   18   20        18 has the order (afterOffset 19, step 1)
 * </pre>
 *
 * @param afterOffset the last request that the task had taken from its own partition; -1 if it had taken none
 * @param step counts the decisions with this {@code afterOffset}, from 1; numbers may be missing
 */
public record DecisionOrder(long afterOffset, int step) implements Comparable<DecisionOrder> {

    @Override
    public int compareTo(DecisionOrder other) {
        int byOffset = Long.compare(afterOffset, other.afterOffset);
        return byOffset != 0 ? byOffset : Integer.compare(step, other.step);
    }
}
