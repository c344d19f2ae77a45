package dev.weir.policy;

import java.util.OptionalLong;

/**
 * How the quota of a policy is shared: it is lent in leases to the holders that decide.
 *
 * @param maxWaitMs how long a request waits for a lease, 0 to 60,000 ms; 0 to deny it at once; empty to wait as long as
 *     leases take to arrive according to the measured round trip
 * @param byClients whether client libraries can hold leases too and decide by them
 */
public record Sharing(OptionalLong maxWaitMs, boolean byClients) {

    public static final long MAX_WAIT_MS = 60_000;

    public static final Sharing DEFAULT = new Sharing(OptionalLong.empty(), false);

    /** @throws IllegalArgumentException if the wait is out of its range */
    public Sharing {
        if (maxWaitMs.isPresent() && (maxWaitMs.getAsLong() < 0 || maxWaitMs.getAsLong() > MAX_WAIT_MS)) {
            throw new IllegalArgumentException(
                    "max-wait must be 0 to 1m, is " + DurationsAndSizes.duration(maxWaitMs.getAsLong()));
        }
    }
}
