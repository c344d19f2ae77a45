package dev.weir.runtime;

import dev.weir.server.HealthReport;
import java.util.List;

/** The health of an enforcer. */
public enum Health {
    /** The enforcer has not made any decisions yet. */
    STARTING("the enforcer is starting"),

    /** Both applications are running. */
    RUNNING("the enforcer is running"),

    /**
     * The enforcer was running before, and partitions are being reassigned, possibly to the replacement of a failed
     * thread, or their state is being restored.
     */
    REBALANCING("partitions are moving or their state is being restored"),

    /** A stream thread has stalled, for example because it waits for disk space or brokers. */
    STANDSTILL("a stream thread has stalled; check the free disk space and the brokers"),

    /** A topic that the enforcer needs was deleted. It stays so until the instances are restarted. */
    TOPIC_DELETED("a topic was deleted while the enforcer was running"),

    /** An application has failed, and the process is about to end. */
    FAILED("the enforcer has failed");

    private final String description;

    Health(String description) {
        this.description = description;
    }

    /** Returns a short description for users. */
    public String description() {
        return description;
    }

    /**
     * Returns what the health checks report.
     *
     * @param missing what is missing, in words that name no brokers; empty if nothing is
     */
    public HealthReport report(List<String> missing) {
        return new HealthReport(name(), description, this != FAILED, this == RUNNING, missing);
    }
}
