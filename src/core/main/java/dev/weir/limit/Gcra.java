package dev.weir.limit;

/**
 * Generic cell rate algorithm (ITU-T I.371, the virtual scheduling form), with {@code burst} the total that may come at
 * once. With T the time of one token, a cost c passes iff
 *
 * <pre>
 *   t ≥ TAT + c·T − burst·T        and then  TAT ← max(TAT, t) + c·T
 * </pre>
 *
 * <p>The theoretical arrival time is kept as whole milliseconds and a part in the {@link Rate}'s units, so a T that is
 * no whole number (7 per 11 s) is exact. {@code remaining}, {@code retryAfter} and {@code resetAfter} are those of
 * throttled and redis-cell.
 *
 * @param rate its T is {@code perMs / tokens}
 * @param burst how much may come at once
 */
public record Gcra(Rate rate, long burst, boolean countDenied) implements Limit<Gcra.Arrival> {

    /** @throws IllegalArgumentException if the burst is not positive or cannot be counted exactly */
    public Gcra {
        rate.requireCountable(burst);
    }

    /**
     * The theoretical arrival time: {@code tatMs + part / rate.unitsPerMs()}.
     *
     * @param part 0 to unitsPerMs − 1
     */
    public record Arrival(long tatMs, long part) {}

    @Override
    public long capacity() {
        return burst;
    }

    @Override
    public long maxUsed() {
        return rate.maxTokens();
    }

    @Override
    public long windowMs(long nowMs) {
        return rate.msToFlow(rate.units(burst));
    }

    @Override
    public Arrival initialState(long nowMs) {
        return new Arrival(nowMs, 0);
    }

    @Override
    public long available(Arrival arrival, long nowMs) {
        return rate.wholeTokens(rate.units(burst) - unitsAhead(arrival, nowMs));
    }

    @Override
    public boolean permits(Arrival arrival, long cost, long nowMs) {
        return cost <= burst && unitsAhead(arrival, nowMs) <= rate.units(burst - cost);
    }

    @Override
    public long waitMs(Arrival arrival, long cost, long nowMs) {
        return rate.msToFlow(unitsAhead(arrival, nowMs) - rate.units(burst - cost));
    }

    @Override
    public Arrival charge(Arrival arrival, long cost, long nowMs) {
        return arrivalAhead(Limit.addToLevel(unitsAhead(arrival, nowMs), rate.units(cost)), nowMs);
    }

    private Arrival arrivalAhead(long units, long nowMs) {
        long wholeMs = rate.wholeMs(units);
        return new Arrival(nowMs + wholeMs, units - wholeMs * rate.unitsPerMs());
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof Gcra gcra && gcra.rate.equals(rate);
    }

    @Override
    public Arrival adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        if (!isCompatibleWith(old.limit())) {
            return Limit.super.adopt(old, mostUsed, nowMs);
        }
        Arrival arrival = (Arrival) old.state();
        long most = rate.units(mostUsed);
        return unitsAhead(arrival, nowMs) <= most ? arrival : arrivalAhead(most, nowMs);
    }

    /** How far the theoretical arrival time lies ahead of now, in units; 0 if it has passed. */
    private long unitsAhead(Arrival arrival, long nowMs) {
        long aheadMs = arrival.tatMs() - nowMs;
        return aheadMs < 0 ? 0 : Limit.addToLevel(rate.unitsIn(aheadMs), arrival.part());
    }
}
