package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.pipeline.RequestMetrics;
import java.util.concurrent.atomic.LongAdder;

/** Counts what the fallback decides, and how reservations end. Thread-safe. */
final class ClientMetrics {

    final LongAdder lostReservations = new LongAdder();
    final LongAdder unconfirmedEnds = new LongAdder();
    private final LongAdder failedOpen = new LongAdder();
    private final LongAdder failedClosed = new LongAdder();
    private final LongAdder shedClosed = new LongAdder();

    /** Counts a decision if the fallback made it. */
    void decided(ClientDecision decision, Fallback fallback) {
        if (decision.noDecisionReason().isPresent()) {
            LongAdder count =
                    decision.allowed() ? failedOpen : fallback == Fallback.FAIL_OPEN ? shedClosed : failedClosed;
            count.increment();
        }
    }

    /**
     * Returns these counts and those of requests.
     *
     * @param openReservations reservations that are open or being ended
     */
    ClientStats stats(RequestMetrics requests, ClientStats.Now now, int openReservations) {
        return new ClientStats(
                requests.sent(),
                new ClientStats.Decided(
                        requests.decidedOverTopic(),
                        requests.decidedHere(),
                        requests.waitedHere(),
                        requests.late(),
                        new ClientStats.Latency(requests.latency(50), requests.latency(99), requests.latency(100))),
                requests.undecided(),
                requests.rejected(),
                new ClientStats.Fallbacks(failedOpen.sum(), failedClosed.sum(), shedClosed.sum()),
                now,
                new ClientStats.Reservations(openReservations, lostReservations.sum(), unconfirmedEnds.sum()));
    }
}
