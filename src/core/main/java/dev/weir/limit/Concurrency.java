package dev.weir.limit;

/**
 * A limit on what is going on at once: at most {@code limit} slots are in use. A slot is in use from the charge until
 * it is freed or, if its holder does not free it, until it ends. Each operation takes the same time whatever the limit
 * and the slots in use.
 *
 * <pre>
 *   limit 2, ttl 60 s     t=0: two slots are taken, until 60,000      t=5,000: denied, wait 55,000 ms
 *                         t=9,000: one is freed                       t=9,000: permitted
 *                         t=60,000: the other one has ended           t=60,000: one is in use, until 69,000
 * </pre>
 *
 * @param limit slots, 1 to {@value #MAX_LIMIT}
 * @param ttlMs how long a slot is in use if it is not freed, 1 to {@value #MAX_TTL_MS} ms
 */
public record Concurrency(long limit, long ttlMs) implements Limit<Slots> {

    /** The most slots. */
    public static final long MAX_LIMIT = 1_000_000;

    /** 30 days. */
    public static final long MAX_TTL_MS = 2_592_000_000L;

    /** @throws IllegalArgumentException if the limit or the time is out of its range */
    public Concurrency {
        if (limit < 1 || limit > MAX_LIMIT) {
            throw new IllegalArgumentException("limit must be 1 to " + MAX_LIMIT + ", is " + limit);
        }
        if (ttlMs < 1 || ttlMs > MAX_TTL_MS) {
            throw new IllegalArgumentException("ttl must be 1 ms to 30 d, is " + ttlMs + " ms");
        }
    }

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public long maxUsed() {
        return MAX_LEVEL;
    }

    /** Returns 0: no time makes slots available, but the end of what uses them. */
    @Override
    public long windowMs(long nowMs) {
        return 0;
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof Concurrency concurrency && concurrency.ttlMs == ttlMs;
    }

    @Override
    public boolean countDenied() {
        return false;
    }

    @Override
    public Slots initialState(long nowMs) {
        return Slots.NONE;
    }

    /** {@inheritDoc} It is negative after the limit was lowered, until enough slots have ended. */
    @Override
    public long available(Slots slots, long nowMs) {
        return limit - slots.inUse(nowMs);
    }

    @Override
    public long waitMs(Slots slots, long cost, long nowMs) {
        return slots.waitMs(limit - cost, nowMs);
    }

    /** Takes slots for the whole {@code ttl}. A negative cost frees nothing: each slot is freed by its own end. */
    @Override
    public Slots charge(Slots slots, long cost, long nowMs) {
        return taken(slots, cost, nowMs + ttlMs, nowMs);
    }

    /**
     * Returns the slots after {@code cost} more were taken.
     *
     * @param cost the number of slots; nothing changes if it is 0 or less
     * @param endMs when they end, in milliseconds since the epoch; nothing changes if it is not after {@code nowMs}
     */
    public Slots taken(Slots slots, long cost, long endMs, long nowMs) {
        return cost <= 0 || endMs <= nowMs ? slots : slots.changed(endMs, cost, nowMs);
    }

    /**
     * Returns the slots after {@code cost} of them, which were taken until {@code endMs}, were freed. Nothing changes if
     * they have ended.
     */
    public Slots freed(Slots slots, long cost, long endMs, long nowMs) {
        return cost <= 0 || endMs <= nowMs ? slots : slots.changed(endMs, -cost, nowMs);
    }

    /** Corrects nothing: a reservation frees its slots, whatever the request really cost. */
    @Override
    public Slots settled(Slots slots, Charge charge, long actualCost, long nowMs) {
        return slots;
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof Concurrency;
    }

    /** Keeps all slots in use with their ends, however many they are. The use of a rate takes no slots. */
    @Override
    public Slots adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        return old.state() instanceof Slots slots ? slots : initialState(nowMs);
    }
}
