package dev.weir.policy;

import java.util.OptionalLong;

/**
 * How a limit is shared: what is left of it is lent to those who decide.
 *
 * @param maxWaitMs how long a request waits for a lease if none is at hand, 0 to a minute; 0: it is denied at once;
 *     empty: as long as leases take to arrive, by the measured round trip
 * @param byClients whether client libraries may hold leases as well, and decide by themselves
 */
public record Sharing(OptionalLong maxWaitMs, boolean byClients) {

    public static final long MAX_WAIT_MS = 60_000;

    public static final Sharing DEFAULT = new Sharing(OptionalLong.empty(), false);

    /** @throws IllegalArgumentException if the wait is out of its range */
    public Sharing {
        if (maxWaitMs.isPresent() && (maxWaitMs.getAsLong() < 0 || maxWaitMs.getAsLong() > MAX_WAIT_MS)) {
            throw new IllegalArgumentException("max-wait must be 0 to 1min, is " + maxWaitMs.getAsLong() + "ms");
        }
    }
}
