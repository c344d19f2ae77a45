package dev.weir.service;

import dev.weir.runtime.Health;

/**
 * What the health checks report.
 *
 * @param status the name of the status
 * @param description a short description for users
 * @param isLive whether a restart would not help
 * @param isReady whether requests can be served
 */
public record HealthReport(String status, String description, boolean isLive, boolean isReady) {

    static HealthReport of(Health health) {
        return new HealthReport(health.name(), health.description(), health != Health.FAILED, health == Health.RUNNING);
    }
}
