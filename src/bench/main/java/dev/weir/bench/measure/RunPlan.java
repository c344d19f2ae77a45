package dev.weir.bench.measure;

import java.time.Duration;

/**
 * How long to measure.
 *
 * @param rounds how often each candidate is measured
 * @param turn the duration of one measurement
 * @param warmUp how many requests each candidate processes before, so that its code is compiled
 */
public record RunPlan(int rounds, Duration turn, long warmUp) {}
