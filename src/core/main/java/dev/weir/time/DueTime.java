package dev.weir.time;

/** Times at which something is due, and waits until then, in any unit. */
public final class DueTime {

    /** Later than all times: nothing is due, or it never happens. Minimums with other times need no special case. */
    public static final long NEVER = Long.MAX_VALUE;

    private DueTime() {}

    /**
     * Returns the time {@code wait} after {@code now}.
     *
     * @param wait 0 or more; {@link #NEVER} if it does not end
     */
    public static long after(long now, long wait) {
        return wait >= NEVER - Math.max(0, now) ? NEVER : now + wait;
    }
}
