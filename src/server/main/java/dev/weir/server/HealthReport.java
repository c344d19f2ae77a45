package dev.weir.server;

import java.util.List;

/**
 * What the health checks report.
 *
 * @param status the name of the status
 * @param description a short description for users
 * @param isLive whether a restart would not help
 * @param isReady whether requests can be served
 * @param missing what is missing, in words that name no brokers; empty if nothing is. Something can be missing although
 *     the process is ready, if waiting for it would not help
 */
public record HealthReport(String status, String description, boolean isLive, boolean isReady, List<String> missing) {

    public HealthReport {
        missing = List.copyOf(missing);
    }

    /** Returns the report of a process whose client has stopped. */
    public static HealthReport ofStoppedClient() {
        return new HealthReport(
                "CLIENT_STOPPED",
                "an error has ended a thread of the client; see the log, and restart the process",
                false,
                false,
                List.of());
    }
}
