package dev.weir.policy;

/**
 * The record times at which a version of a policy is in force, unless a later version replaces it.
 *
 * @param fromMs the first time, in milliseconds since the epoch; 0 for no beginning
 * @param untilMs the time after the last one, in milliseconds since the epoch; {@link #NO_END} for no end
 */
public record EffectivePeriod(long fromMs, long untilMs) {

    /** The end of a period without an end. */
    public static final long NO_END = Long.MAX_VALUE;

    /** All times. */
    public static final EffectivePeriod ALWAYS = new EffectivePeriod(0, NO_END);

    /** @throws IllegalArgumentException if a time is out of its range; the message names the key of the policy file */
    public EffectivePeriod {
        if (fromMs < 0 || fromMs > RequestRules.MAX_TIMESTAMP_MS) {
            throw new IllegalArgumentException("effective-from must be 1970 to 9999, is " + fromMs + " ms");
        }
        if (untilMs < 0 || (untilMs > RequestRules.MAX_TIMESTAMP_MS && untilMs != NO_END)) {
            throw new IllegalArgumentException("effective-until must be 1970 to 9999, is " + untilMs + " ms");
        }
        if (untilMs <= fromMs) {
            throw new IllegalArgumentException("effective-until must be after effective-from");
        }
    }

    /** Returns the period from a time on, without an end. */
    public static EffectivePeriod from(long fromMs) {
        return new EffectivePeriod(fromMs, NO_END);
    }
}
