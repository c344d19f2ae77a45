package dev.weir.shape;

/**
 * One client's requests of one tier: they leave in the order in which they came.
 *
 * @param tier the plan that decides priority and share; empty for requests without one
 * @param client who asks
 */
public record Flow(String tier, String client) {}
