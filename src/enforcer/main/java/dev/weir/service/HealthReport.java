package dev.weir.service;

import dev.weir.runtime.Health;
import java.util.List;

/**
 * What the health checks report.
 *
 * @param status the name of the status
 * @param description a short description for users
 * @param isLive whether a restart would not help
 * @param isReady whether requests can be served
 * @param problems problems that an operator must fix, each with its fix
 */
public record HealthReport(String status, String description, boolean isLive, boolean isReady, List<String> problems) {

    public HealthReport {
        problems = List.copyOf(problems);
    }

    /** Creates a report without problems. */
    public HealthReport(String status, String description, boolean isLive, boolean isReady) {
        this(status, description, isLive, isReady, List.of());
    }

    static HealthReport of(Health health, List<String> problems) {
        return new HealthReport(
                health.name(), health.description(), health != Health.FAILED, health == Health.RUNNING, problems);
    }
}
