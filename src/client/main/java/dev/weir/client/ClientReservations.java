package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reservations of a client that are open or being ended. It sends their requests, and schedules their renewals with
 * the one timer of the client. Thread-safe.
 */
final class ClientReservations implements AutoCloseable {

    /** The most open reservations. Each one costs the heap of its request and three renewals in its time. */
    static final int MAX = 100_000;

    /** The shortest time, so that renewals do not become a load of their own. */
    static final Duration MIN_TTL = Duration.ofSeconds(1);

    private static final Logger LOG = LoggerFactory.getLogger(WeirClient.class);
    private static final long LOG_INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ClientBuilder options;
    private final BiFunction<Request, Duration, CompletableFuture<Decision>> decider;
    private final Timer timer;
    private final Executor executor;
    private final LongSupplier nanoTime;
    private final ClientMetrics metrics;
    private final Set<HeldReservation> open = ConcurrentHashMap.newKeySet();
    private final RateLimitedLog unconfirmed;
    private volatile boolean isClosed;

    /** Runs tasks later. */
    interface Timer {

        /** Runs a task once, after a time. Returns empty if the client is closed, so that it will not run. */
        Optional<Future<?>> schedule(Runnable task, long afterNanos);
    }

    /**
     * Creates an empty set.
     *
     * @param decider sends a request, and returns its decision or a failure, within a time of 1 ms or more
     * @param executor runs what could block
     * @param nanoTime a clock that is never set
     */
    ClientReservations(
            ClientBuilder options,
            BiFunction<Request, Duration, CompletableFuture<Decision>> decider,
            Timer timer,
            Executor executor,
            LongSupplier nanoTime,
            ClientMetrics metrics) {
        this.options = options;
        this.decider = decider;
        this.timer = timer;
        this.executor = executor;
        this.nanoTime = nanoTime;
        this.metrics = metrics;
        unconfirmed = new RateLimitedLog(nanoTime);
    }

    /** Counts events, and logs their number once a minute at most. */
    private static final class RateLimitedLog {
        private final LongSupplier nanoTime;
        private long count;
        private long lastNanos;

        RateLimitedLog(LongSupplier nanoTime) {
            this.nanoTime = nanoTime;
            lastNanos = nanoTime.getAsLong() - LOG_INTERVAL_NANOS;
        }

        synchronized void unconfirmed(Throwable cause) {
            count++;
            if (nanoTime.getAsLong() - lastNanos >= LOG_INTERVAL_NANOS) {
                LOG.warn(
                        "Weir did not confirm the ends of {} reservations, which end by their time; the last one: {}",
                        count,
                        cause.getMessage());
                count = 0;
                lastNanos = nanoTime.getAsLong();
            }
        }
    }

    /**
     * Sends a request that creates a reservation.
     *
     * @param ttl {@link #MIN_TTL} or more
     * @param fallback what to return if there is no decision in time
     */
    CompletableFuture<Reservation> reserve(Request request, Duration ttl, Fallback fallback) {
        Optional<RuntimeException> fault = fault(request, ttl);
        if (fault.isPresent()) {
            return CompletableFuture.failedFuture(fault.get());
        }
        Request reserving = request.toBuilder().reserveMs(ttl.toMillis()).build();
        long sentNanos = nanoTime.getAsLong();
        CompletableFuture<Reservation> result = new CompletableFuture<>();
        var unused = decider.apply(reserving, options.timeout()).whenComplete((decision, failure) -> {
            if (failure == null) {
                granted(reserving, ClientDecision.of(decision), sentNanos, result);
            } else if (failure instanceof NoDecisionException none) {
                undecided(reserving, none, fallback, result);
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private Optional<RuntimeException> fault(Request request, Duration ttl) {
        if (request.kind() != RequestKind.CONSUME) {
            return Optional.of(new IllegalArgumentException(
                    "only a request of the kind CONSUME can reserve, this is a " + request.kind()));
        }
        if (ttl.compareTo(MIN_TTL) < 0 || ttl.compareTo(Duration.ofMillis(Request.MAX_RESERVE_MS)) > 0) {
            return Optional.of(new IllegalArgumentException("ttl must be 1 s to 30 days, is " + ttl));
        }
        return open.size() < MAX
                ? Optional.empty()
                : Optional.of(new IllegalStateException(MAX
                        + " reservations of this client are open, which is the maximum; end each one when its work is"
                        + " done"));
    }

    private void granted(
            Request request, ClientDecision decision, long sentNanos, CompletableFuture<Reservation> result) {
        if (!decision.allowed()) {
            result.complete(new NoReservation(decision));
            return;
        }
        HeldReservation held = new HeldReservation(this, request, decision);
        open.add(held);
        held.begin(decision.decision().orElseThrow(), sentNanos);
        if (isClosed) {
            held.clientClosed(); // it may have been added after the client closed the others
        }
        if (!result.complete(held)) { // the caller has cancelled the future, so nobody else ends it
            held.close();
        }
    }

    /** Returns what the fallback decides. Cancels a request that it refuses and that Weir may yet decide. */
    private void undecided(
            Request request, NoDecisionException none, Fallback fallback, CompletableFuture<Reservation> result) {
        boolean mayBeDecided =
                switch (none.reason()) {
                    case TIMED_OUT, NOT_WRITTEN, UNREADABLE, CLOSED -> true;
                    default -> false;
                };
        Optional<ClientDecision> decision = fallback.decision(none.reason(), options.hasFallbackOnOverload());
        decision.ifPresent(decided -> metrics.decided(decided, fallback));
        boolean isAllowed = decision.map(ClientDecision::allowed).orElse(false);
        HeldReservation unsure = new HeldReservation(this, request, decision.orElse(null));
        boolean isTaken = decision.isEmpty()
                ? result.completeExceptionally(none)
                : result.complete(isAllowed && mayBeDecided ? unsure : new NoReservation(decision.get()));
        if (mayBeDecided && !(isAllowed && isTaken)) {
            unsure.close();
        }
    }

    /**
     * Returns the request of a kind that is about the reservation of another request.
     *
     * @throws IllegalArgumentException if the cost is out of its range
     */
    Request request(Request reserved, RequestKind kind, long cost) {
        boolean isSettle = kind == RequestKind.SETTLE;
        Request request = Request.builder(reserved.requestId(), reserved.client())
                .kind(kind)
                .cost(cost)
                .settles(isSettle ? reserved.requestId() : null)
                .timestampMs(System.currentTimeMillis())
                .source(0, 0)
                .build();
        RequestFaults.of(request, options.rules()).ifPresent(fault -> {
            throw new IllegalArgumentException(fault);
        });
        return request;
    }

    CompletableFuture<Decision> decide(Request request, Duration within) {
        return decider.apply(request, within);
    }

    /** Sends the end of a reservation, and completes the result. */
    void end(HeldReservation reservation, Request request, CompletableFuture<Reason> result) {
        open.add(reservation);
        var unused = result.whenComplete((reason, failure) -> {
            open.remove(reservation);
            if (failure != null) {
                metrics.unconfirmedEnds.increment();
                unconfirmed.unconfirmed(failure);
            }
        });
        long untilNanos = nanoTime.getAsLong() + options.timeout().toNanos();
        attempt(request, untilNanos, FIRST_BACKOFF_NANOS, result);
        if (isClosed) {
            result.completeExceptionally(closed());
        }
    }

    private void attempt(Request request, long untilNanos, long backoffNanos, CompletableFuture<Reason> result) {
        long leftNanos = Math.max(ClientBuilder.MIN_TIMEOUT.toNanos(), untilNanos - nanoTime.getAsLong());
        var unused = decider.apply(request, Duration.ofNanos(leftNanos)).whenComplete((decision, failure) -> {
            if (failure == null) {
                result.complete(decision.reason());
                return;
            }
            boolean isAgain = failure instanceof NoDecisionException none
                    && isTriedAgain(none.reason())
                    && nanoTime.getAsLong() + backoffNanos - untilNanos < 0;
            long nextNanos = Math.min(2 * backoffNanos, MAX_BACKOFF_NANOS);
            Runnable again = () -> execute(() -> attempt(request, untilNanos, nextNanos, result));
            if (!isAgain || timer.schedule(again, backoffNanos).isEmpty()) {
                result.completeExceptionally(failure);
            }
        });
    }

    /** Returns whether a request ends at once for a reason that can pass. */
    private static boolean isTriedAgain(NoDecisionReason reason) {
        return switch (reason) {
            case NOT_READY, NOT_WRITTEN, TOO_MANY_WAITING, OVERLOADED, CIRCUIT_OPEN -> true;
            default -> false;
        };
    }

    /** Removes a reservation that is lost. */
    void lost(HeldReservation reservation) {
        open.remove(reservation);
        metrics.lostReservations.increment();
    }

    Optional<Future<?>> schedule(Runnable task, long afterNanos) {
        return timer.schedule(task, afterNanos);
    }

    void execute(Runnable task) {
        executor.execute(task);
    }

    long nanoTime() {
        return nanoTime.getAsLong();
    }

    NoDecisionException closed() {
        return new NoDecisionException(NoDecisionReason.CLOSED, "the client is closed", null);
    }

    /** Returns the number of reservations that are open or being ended. */
    int size() {
        return open.size();
    }

    /** Loses the open reservations, and completes the futures of ends. The timer must have been stopped before. */
    @Override
    public void close() {
        isClosed = true;
        open.forEach(HeldReservation::clientClosed);
    }
}
