package dev.weir.app;

/** How an enforcer is. */
public enum Health {
    /** It has not decided anything yet. */
    STARTING("the enforcer is starting"),

    /** Both of its applications run. */
    RUNNING("the enforcer runs"),

    /** It ran, and will again: partitions are moving, or their state is being restored. */
    REBALANCING("partitions are moving or their state is being restored"),

    /** One of its applications is dead, and the process ends. */
    FAILED("the enforcer has failed");

    private final String description;

    Health(String description) {
        this.description = description;
    }

    public String description() {
        return description;
    }
}
