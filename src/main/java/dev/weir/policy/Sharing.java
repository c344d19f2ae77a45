package dev.weir.policy;

/**
 * How a limit is shared by those who decide: what is left of it is lent to them, in slices.
 *
 * @param maxWaitMs how long a request waits for a slice if none is at hand, 0 to a minute; 0: it is denied at once
 * @param byClients whether clients may hold slices as well, and decide by themselves
 */
public record Sharing(long maxWaitMs, boolean byClients) {

    public static final long MAX_WAIT_MS = 60_000;

    public static final Sharing DEFAULT = new Sharing(100, false);

    /** @throws IllegalArgumentException if the wait is out of its range */
    public Sharing {
        if (maxWaitMs < 0 || maxWaitMs > MAX_WAIT_MS) {
            throw new IllegalArgumentException("max-wait must be 0 to 1min, is " + maxWaitMs + "ms");
        }
    }
}
