package dev.weir.lease;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * What all leases of one holder have in common: its name, the numbers of its requests, and what it has measured.
 * Threads may share it.
 */
public final class LeaseSession {

    private static final long UNKNOWN = Long.MIN_VALUE;

    private final String name;
    private final AtomicLong requestNumbers;
    private final RoundTripEstimator roundTrip = new RoundTripEstimator();
    private final LongSupplier clockStepCounter;
    private volatile long clockSteps;
    private volatile long ledgerAheadMs = UNKNOWN;

    /**
     * @param name under which ledgers know the holder
     * @param firstNumber above the numbers of all earlier sessions with this name
     * @param clockSteps how often the wall clock was stepped forward so far: {@link ClockStepDetector}
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
     * The ledgers' time at a moment of this holder's clock, as the last response had it; {@code otherwiseMs} if none
     * has arrived.
     */
    public long ledgerTimeMs(long nowMs, long otherwiseMs) {
        long ahead = ledgerAheadMs;
        return ahead == UNKNOWN ? otherwiseMs : nowMs + ahead;
    }

    /** Learns from a response how ledger time and this holder's clock compare. */
    void recordResponse(long atMs, long sentMs, long nowMs) {
        roundTrip.sample(nowMs - sentMs);
        ledgerAheadMs = atMs - sentMs;
    }

    long nextRequestNumber() {
        return requestNumbers.getAndIncrement();
    }

    /** Revokes all leases if the wall clock was stepped forward. Call it before each decision. */
    public void checkClock() {
        clockSteps = clockStepCounter.getAsLong();
    }

    /** How often the wall clock was stepped forward, when it was last checked. */
    public long clockSteps() {
        return clockSteps;
    }
}
