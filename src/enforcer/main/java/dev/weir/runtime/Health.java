package dev.weir.runtime;

/** How an enforcer is. */
public enum Health {
    /** It has not decided anything yet. */
    STARTING("the enforcer is starting"),

    /** Both of its applications run. */
    RUNNING("the enforcer runs"),

    /**
     * It ran, and will again: partitions are moving, also to a thread that replaces one, or their state is being
     * restored.
     */
    REBALANCING("partitions are moving or their state is being restored"),

    /** A thread waits, and nothing is decided or released by it: for room on the disk, or for brokers. */
    STANDSTILL("a thread stands still: is the disk full, do the brokers answer?"),

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
