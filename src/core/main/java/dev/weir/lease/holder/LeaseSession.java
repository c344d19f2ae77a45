package dev.weir.lease.holder;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** The state that all leases of one holder share: its name, its request numbers and its measurements. Thread-safe. */
public final class LeaseSession {

    private static final long UNKNOWN = Long.MIN_VALUE;

    private final String name;
    private final AtomicLong requestNumbers;
    private final RoundTripEstimator roundTrip = new RoundTripEstimator();
    private final LongSupplier clockStepCounter;
    private volatile long clockSteps;
    private volatile long ledgerAheadMs = UNKNOWN;

    /**
     * @param name the name of the holder in requests to ledgers
     * @param firstNumber larger than the request numbers of all earlier sessions with this name
     * @param clockSteps returns how often the wall clock was stepped forward so far; see {@link ClockStepDetector}
     */
    public LeaseSession(String name, long firstNumber, LongSupplier clockSteps) {
        this.name = name;
        clockStepCounter = clockSteps;
        this.clockSteps = clockSteps.getAsLong();
        requestNumbers = new AtomicLong(Math.max(1, firstNumber));
    }

    public String name() {
        return name;
    }

    public RoundTripEstimator roundTrip() {
        return roundTrip;
    }

    /**
     * Returns the ledger time at {@code nowMs} of this holder's clock, estimated from the last response, or
     * {@code otherwiseMs} if no response has arrived.
     */
    public long ledgerTimeMs(long nowMs, long otherwiseMs) {
        long ahead = ledgerAheadMs;
        return ahead == UNKNOWN ? otherwiseMs : nowMs + ahead;
    }

    /** Records the offset between ledger time and this holder's clock, and the round trip. */
    void recordResponse(long atMs, long sentMs, long nowMs) {
        roundTrip.sample(nowMs - sentMs);
        ledgerAheadMs = atMs - sentMs;
    }

    long nextRequestNumber() {
        return requestNumbers.getAndIncrement();
    }

    /**
     * Reads the number of clock steps; if it has risen, holders revoke all of their leases. Call it before
     * each decision.
     */
    public void checkClock() {
        clockSteps = clockStepCounter.getAsLong();
    }

    /** Returns how often the wall clock had been stepped forward when it was last checked. */
    public long clockSteps() {
        return clockSteps;
    }
}
