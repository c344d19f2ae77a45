package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What the demand of a partition is counted for.
 *
 * @param pace the pace of each bucket
 * @param total the pace of all together; empty if the total has no rate
 * @param mostInFlight the slots of all together; empty if there is no bound
 * @param nowNanos the time of the report
 * @param horizonNanos the time until which requests could be released now
 */
public record DemandScope(
        Pacing pace, Optional<Pacing> total, OptionalLong mostInFlight, long nowNanos, long horizonNanos) {}
