package dev.weir.bench;

import java.time.Duration;

/**
 * How long to measure.
 *
 * @param rounds how often each candidate has its turn
 * @param turn how long a turn lasts
 * @param warmUp requests that each candidate has done before: what it does by then is compiled
 */
public record RunPlan(int rounds, Duration turn, long warmUp) {}
