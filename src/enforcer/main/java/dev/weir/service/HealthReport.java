package dev.weir.service;

import dev.weir.runtime.Health;
import java.util.Optional;

/**
 * What the health checks report.
 *
 * @param status the name of the status
 * @param description a short description for users
 * @param isLive whether a restart would not help
 * @param isReady whether requests can be served
 * @param notice what an operator should know although requests are served; empty if there is nothing
 */
public record HealthReport(
        String status, String description, boolean isLive, boolean isReady, Optional<String> notice) {

    /** Creates a report without a notice. */
    public HealthReport(String status, String description, boolean isLive, boolean isReady) {
        this(status, description, isLive, isReady, Optional.empty());
    }

    static HealthReport of(Health health, Optional<String> notice) {
        return new HealthReport(
                health.name(), health.description(), health != Health.FAILED, health == Health.RUNNING, notice);
    }
}
