package dev.weir.event;

/** Times at which something is due, in any unit. */
public final class DueTime {

    /** Later than all times: nothing is due, or it never happens. Minimums with other times need no special case. */
    public static final long NEVER = Long.MAX_VALUE;

    private DueTime() {}
}
