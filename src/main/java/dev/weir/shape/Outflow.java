package dev.weir.shape;

/**
 * What a queue has released.
 *
 * @param arrival the pacing's state, under the rules it was counted by
 * @param lastNanos when the last one was released, ns since the epoch; no later one is released before
 * @param sequence how many it has released
 */
public record Outflow(Pacing.Arrival arrival, long lastNanos, long sequence) {}
