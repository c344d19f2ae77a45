package dev.weir.bench.candidate;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.util.Map;
import java.util.function.LongFunction;

/**
 * Pairs of requests: one ends a reservation, the other creates a reservation with an id of its own. So a number of
 * reservations is open at all times, once as many were created.
 *
 * @param clients the number of clients; each has about as many reservations
 * @param held how many reservations are open
 * @param end {@code RELEASE}, or {@code SETTLE} with the cost that was estimated less one
 * @param reserveMs how long a reservation lasts that is not ended, in milliseconds; null if policies say so
 */
public record ReservedRequests(long clients, long held, RequestKind end, Long reserveMs)
        implements LongFunction<Request> {

    private static final long ESTIMATE = 2;
    private static final Duration RETENTION = Duration.ofSeconds(10);
    private static final long MIX = 0x9E3779B97F4A7C15L; // spreads reservations that follow each other over the clients

    /**
     * Returns how long a reservation lasts that is not ended, in milliseconds: longer than any is held, and otherwise
     * short. The records of ended ones stay until then and for the retention, which {@link #config} shortens, so that they
     * are deleted during a measurement.
     */
    public static long durationMs(long held) {
        return 10_000 + held / 10; // at 20,000 requests a second or more
    }

    /** Returns a configuration in which the table of reservations is never full. */
    public static WeirConfig config(WeirConfig of) {
        WeirConfig.State state = of.state();
        WeirConfig.PartitionBounds most = new WeirConfig.PartitionBounds(
                state.most().idempotencyKeys(), WeirConfig.PartitionBounds.MAX_RESERVATIONS);
        return of.toBuilder()
                .state(new WeirConfig.State(
                        state.directory(),
                        state.memoryBytes(),
                        state.hotMemoryBytes(),
                        state.cleanupInterval(),
                        state.cleanupKeys(),
                        RETENTION,
                        most))
                .build();
    }

    @Override
    public Request apply(long number) {
        long reservation = number / 2;
        return number % 2 == 0 ? ended(number, reservation - held) : reserved(number, reservation);
    }

    private String client(long reservation) {
        return BenchCluster.client(Math.floorMod((reservation * MIX) >> 32, clients));
    }

    private static String id(long reservation) {
        return "reservation-" + reservation;
    }

    private Request reserved(long number, long reservation) {
        return Request.builder(id(reservation), client(reservation))
                .tier("free")
                .cost(reserveMs == null ? 1 : ESTIMATE)
                .reserveMs(reserveMs)
                .attributes(Map.of(
                        "endpoint",
                        "/articles/" + number % 1000,
                        "ip",
                        "10.0.0.1",
                        "agent",
                        "Mozilla/5.0 (X11; Linux x86_64)"))
                .source(0, number)
                .build();
    }

    private Request ended(long number, long reservation) {
        boolean settles = end == RequestKind.SETTLE;
        return Request.builder(settles ? "end-" + reservation : id(reservation), client(reservation))
                .kind(end)
                .settles(settles ? id(reservation) : null)
                .cost(ESTIMATE - 1)
                .source(0, number)
                .build();
    }
}
