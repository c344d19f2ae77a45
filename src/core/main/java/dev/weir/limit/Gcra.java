package dev.weir.limit;

/**
 * The generic cell rate algorithm (ITU-T I.371, virtual scheduling form). {@code burst} tokens can be used at once;
 * then tokens return at the rate. With T the time per token and TAT the theoretical arrival time, a request of cost c
 * at time t is permitted iff
 *
 * <pre>
 *   t ≥ TAT + c·T − burst·T        and then  TAT ← max(TAT, t) + c·T
 *
 *   1 token a second, burst 5      t=0: five requests of cost 1 are permitted   → TAT = 5000
 *                                  t=0: the sixth is denied, wait 1000 ms
 *                                  t=3000: cost 1 is permitted, 2 remain        → TAT = 6000
 * </pre>
 *
 * <p>The state stores TAT as whole milliseconds and a remainder in units of the {@link Rate}, so the result is exact
 * even if T is not a whole number of milliseconds (7 tokens per 11 s). Remaining tokens, retry time and reset time
 * equal those of throttled and redis-cell. Each operation takes O(1).
 *
 * @param rate the rate; T is {@code perMs / tokens}
 * @param burst the capacity in tokens
 * @param countDenied whether denied requests are charged too
 */
public record Gcra(Rate rate, long burst, boolean countDenied) implements Limit<Gcra.Arrival> {

    /** @throws IllegalArgumentException if the burst is not positive or too large to count exactly at this rate */
    public Gcra {
        rate.requireCountable(burst);
    }

    /**
     * The theoretical arrival time, {@code tatMs + part / rate.unitsPerMs()} milliseconds since the epoch.
     *
     * @param tatMs the whole milliseconds
     * @param part the remainder in units, 0 to {@code unitsPerMs − 1}
     * @param open the charges whose cost can be corrected
     */
    public record Arrival(long tatMs, long part, OpenCharges open) {

        /** Creates a time without charges that can be corrected. */
        public Arrival(long tatMs, long part) {
            this(tatMs, part, OpenCharges.NONE);
        }
    }

    @Override
    public long capacity() {
        return burst;
    }

    @Override
    public long maxUsed() {
        return rate.maxTokens();
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof Gcra gcra && gcra.rate.perMs() == rate.perMs();
    }

    @Override
    public long rateTokens() {
        return rate.tokens();
    }

    @Override
    public long ratePeriodMs(long nowMs) {
        return rate.perMs();
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
        long units = Limit.addToLevel(unitsAhead(arrival, nowMs), rate.units(cost));
        return arrivalAhead(
                units,
                nowMs,
                arrival.open().isEmpty()
                        ? OpenCharges.NONE
                        : arrival.open().charged(drained(arrival, nowMs), rate.units(cost)));
    }

    private Arrival arrivalAhead(long units, long nowMs, OpenCharges open) {
        long wholeMs = rate.wholeMs(units);
        return new Arrival(nowMs + wholeMs, units - wholeMs * rate.unitsPerMs(), open);
    }

    @Override
    public Arrival chargeReserved(Arrival arrival, Charge charge) {
        Arrival next = charge(arrival, charge.cost(), charge.atMs());
        return new Arrival(next.tatMs(), next.part(), next.open().with(charge));
    }

    @Override
    public Arrival settled(Arrival arrival, Charge charge, long actualCost, long nowMs) {
        if (!arrival.open().contains(charge)) {
            return arrival;
        }
        long drained = drained(arrival, nowMs);
        long change = rate.units(actualCost) - rate.units(charge.cost());
        OpenCharges.Correction correction =
                arrival.open().then(LevelResponse.drained(drained)).corrected(charge, change);
        return arrivalAhead(Limit.addToLevel(Math.max(0, drained), correction.change()), nowMs, correction.open());
    }

    @Override
    public Arrival refunded(Arrival arrival, Charge refund, long nowMs) {
        if (arrival.open().isEmpty()) {
            return arrival;
        }
        long drained = drained(arrival, nowMs);
        OpenCharges.Correction correction =
                arrival.open().then(LevelResponse.drained(drained)).refunded(refund, rate.units(refund.cost()));
        return arrivalAhead(Limit.addToLevel(Math.max(0, drained), correction.change()), nowMs, correction.open());
    }

    @Override
    public Arrival forgotten(Arrival arrival, Charge charge) {
        return arrival.open().contains(charge)
                ? new Arrival(arrival.tatMs(), arrival.part(), arrival.open().without(charge))
                : arrival;
    }

    /** Returns the usual time, and one window more while charges can be corrected: a larger cost can then be owed. */
    @Override
    public long expiresAtMs(Arrival arrival, long nowMs) {
        long passedMs = Limit.super.expiresAtMs(arrival, nowMs);
        return arrival.open().isEmpty() ? passedMs : passedMs + windowMs(nowMs);
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
        long units = unitsAhead(arrival, nowMs);
        return units <= most && arrival.open().isEmpty()
                ? arrival
                : arrivalAhead(Math.min(units, most), nowMs, arrival.open().loweredTo(most, drained(arrival, nowMs)));
    }

    /** Returns how far the theoretical arrival time lies ahead of {@code nowMs}, in units; 0 if it has passed. */
    private long unitsAhead(Arrival arrival, long nowMs) {
        long aheadMs = arrival.tatMs() - nowMs;
        return aheadMs < 0 ? 0 : Limit.addToLevel(rate.unitsIn(aheadMs), arrival.part());
    }

    /** Like {@link #unitsAhead}; negative by the time that has passed since the theoretical arrival time. */
    private long drained(Arrival arrival, long nowMs) {
        long aheadMs = arrival.tatMs() - nowMs;
        return aheadMs < 0 ? arrival.part() - rate.unitsIn(-aheadMs) : unitsAhead(arrival, nowMs);
    }
}
