package dev.weir.shape.rules;

/**
 * How many released requests of a bucket may be processed at the same time, and what happens to each until its worker
 * has acknowledged it. A release occupies as many slots as it costs, at least one and at most all, until it is
 * acknowledged or its time is over.
 *
 * @param most the slots of each bucket, 1 to {@value #MOST}
 * @param ackTimeoutMs how long after its release, or after each EXTEND, an attempt is taken for lost
 * @param maxDurationMs how long an attempt lasts at most, whatever its worker extends; at least {@code ackTimeoutMs}
 * @param maxAttempts the failed attempts after which a request is given up, 1 to {@value #MOST_ATTEMPTS}. An attempt
 *     that no worker has claimed by an EXTEND does not count if it is lost, since workers that are down must not use up
 *     the attempts of what waits
 * @param retryBackoffMs how long the next attempt waits after the first failed one. Each further one doubles it, up to
 *     the longer of {@value #MAX_BACKOFF_MS} ms and this
 * @param caps the slots that a tier or a client may occupy
 */
public record InFlightRules(
        long most, long ackTimeoutMs, long maxDurationMs, int maxAttempts, long retryBackoffMs, InFlightCaps caps) {

    public static final long MOST = 100_000;
    public static final int MOST_ATTEMPTS = 1_000;
    public static final long DEFAULT_ACK_TIMEOUT_MS = 30_000;
    public static final long DEFAULT_MAX_DURATION_MS = 3_600_000;
    public static final int DEFAULT_MAX_ATTEMPTS = 5;
    public static final long DEFAULT_RETRY_BACKOFF_MS = 1_000;
    public static final long MAX_BACKOFF_MS = 3_600_000;

    private static final long MAX_MS = 30L * 24 * 3_600_000;

    /** @throws IllegalArgumentException if a part is out of its range; the message starts with the part's name */
    public InFlightRules {
        requireRange("max-in-flight", most, 1, MOST);
        requireRange("ack-timeout", ackTimeoutMs, 1, MAX_MS);
        requireRange("max-attempts", maxAttempts, 1, MOST_ATTEMPTS);
        requireRange("retry-backoff", retryBackoffMs, 0, MAX_MS);
        if (maxDurationMs < ackTimeoutMs || maxDurationMs > MAX_MS) {
            throw new IllegalArgumentException("max-duration must be at least ack-timeout and at most 30d");
        }
    }

    /** Creates rules whose tiers and clients may occupy all slots. */
    public InFlightRules(long most, long ackTimeoutMs, long maxDurationMs, int maxAttempts, long retryBackoffMs) {
        this(most, ackTimeoutMs, maxDurationMs, maxAttempts, retryBackoffMs, InFlightCaps.NONE);
    }

    /** Returns rules with the defaults of {@code queues.yaml}. */
    public static InFlightRules of(long most) {
        return new InFlightRules(
                most, DEFAULT_ACK_TIMEOUT_MS, DEFAULT_MAX_DURATION_MS, DEFAULT_MAX_ATTEMPTS, DEFAULT_RETRY_BACKOFF_MS);
    }

    /** Returns the slots that a request of this cost occupies. */
    public long slots(long cost) {
        return Math.max(1, Math.min(cost, most));
    }

    /** Returns these rules with at most so many slots of each bucket. */
    InFlightRules withAtMost(long slots) {
        return slots >= most
                ? this
                : new InFlightRules(slots, ackTimeoutMs, maxDurationMs, maxAttempts, retryBackoffMs, caps);
    }

    /** Returns these rules with other bounds of tiers and clients. */
    public InFlightRules withCaps(InFlightCaps others) {
        return new InFlightRules(most, ackTimeoutMs, maxDurationMs, maxAttempts, retryBackoffMs, others);
    }

    /** Returns whether a bucket has slots for another request of this cost, of which {@code used} are occupied. */
    public boolean hasSlots(long used, long cost) {
        return used + slots(cost) <= most;
    }

    /** Returns whether a tier has slots for another request of this cost; its requests occupy {@code used}. */
    public boolean hasTierSlots(String tier, long used, long cost) {
        return caps.hasTierSlots(tier, used, slots(cost));
    }

    /** Returns whether a client has slots for another request of this cost; its requests occupy {@code used}. */
    public boolean hasClientSlots(long used, long cost) {
        return caps.hasClientSlots(used, slots(cost));
    }

    /**
     * Returns how long a request waits for its next attempt, in milliseconds.
     *
     * @param failures the number of failed attempts
     */
    public long backoffMs(int failures) {
        if (failures == 0) {
            return 0;
        }
        long bound = Math.max(MAX_BACKOFF_MS, retryBackoffMs);
        int doublings = Math.min(failures - 1, 22); // 1 ms is more than an hour then, and 30 days do not overflow
        return Math.min(bound, retryBackoffMs << doublings);
    }

    private static void requireRange(String part, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(part + " must be " + min + " to " + max + ", is " + value);
        }
    }
}
