package dev.weir.client;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.client.lease.LeasedDecisions;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.lease.ClockStepDetector;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.header.Header;

/**
 * Decides requests by leases or sends them to the enforcers. Until there is a connection, requests wait for it.
 * Thread-safe.
 */
final class RequestDispatcher {

    private final CircuitBreaker breaker;
    private final PendingRequests pending;
    private final RequestCompleter completer;
    private final ClientMetrics metrics;
    private final RequestCorrelation correlation;
    private final AnswerClock decisions;

    /** The requests that wait for the connection, in their order. Its lock is not held while they are sent. */
    private final Map<Long, PendingRequest> parked = new LinkedHashMap<>();

    private final ClockStepDetector clock = new ClockStepDetector();
    private long setBack; // only for the thread of time-outs
    private volatile ClientConnection connection; // null until the client is ready
    private volatile RequestWindows windows; // null until there is a connection

    /** @param decisions the time without decisions over the topics */
    RequestDispatcher(
            CircuitBreaker breaker,
            PendingRequests pending,
            RequestCompleter completer,
            ClientMetrics metrics,
            RequestCorrelation correlation,
            AnswerClock decisions) {
        this.breaker = breaker;
        this.pending = pending;
        this.completer = completer;
        this.metrics = metrics;
        this.correlation = correlation;
        this.decisions = decisions;
    }

    /** Returns the connection, or null if there is none yet. */
    ClientConnection connection() {
        return connection;
    }

    /** Returns how many requests wait to be sent. */
    int queued() {
        RequestWindows current = windows;
        return current == null ? 0 : current.waiting();
    }

    /** Checks whether the wall clock was set back. Then it sends what waits in the producers. */
    void checkClock() {
        var unused = clock.observe(System::nanoTime, System::currentTimeMillis);
        ClientConnection current = connection;
        if (clock.backwardCount() > setBack && current != null) {
            current.flush();
        }
        setBack = clock.backwardCount();
    }

    /** Sends the requests that wait for the connection, in their order. Returns false if the client was closed. */
    boolean use(ClientConnection ready) {
        if (CircuitSettings.state(breaker) != CircuitSettings.State.CLOSED) {
            breaker.transitionToClosedState(); // the outage that opened it is over
        }
        windows = new RequestWindows(ready.requestPartitions(), pending.max());
        for (PendingRequest next = nextParked(ready); next != null; next = nextParked(ready)) {
            decideBy(ready, next);
        }
        return connection != null;
    }

    /**
     * Returns the next request that waits for the connection. If none does, returns null, and further requests use the
     * connection unless the client was closed.
     */
    private PendingRequest nextParked(ClientConnection ready) {
        synchronized (parked) {
            Iterator<PendingRequest> all = parked.values().iterator();
            if (all.hasNext()) {
                PendingRequest first = all.next();
                all.remove();
                return first;
            }
            if (!pending.isClosed()) {
                connection = ready;
            }
            return null;
        }
    }

    /** Lets a request that has ended wait for the connection no longer. */
    void unpark(PendingRequest request) {
        if (connection == null) {
            synchronized (parked) {
                parked.remove(request.number());
            }
        }
    }

    /**
     * Decides or sends a request.
     *
     * @param within how long the request may wait
     * @return a future that completes with the decision, or fails like that of {@link WeirClient#decide(Request)}
     *     without a fallback
     */
    CompletableFuture<Decision> dispatch(Request request, List<Header> headers, Duration within) {
        PendingRequest call = new PendingRequest(this, request, headers, within);
        ClientConnection current = connection;
        if (pending.isClosed()) {
            completer.fail(call, NoDecisionReason.CLOSED);
        } else if (current == null) {
            decideWhenReady(call);
        } else if (current.hasStopped()) {
            completer.fail(call, NoDecisionReason.NOT_READY);
        } else {
            decideBy(current, call);
        }
        return call.future;
    }

    private void decideWhenReady(PendingRequest request) {
        if (!admit(request)) {
            return;
        }
        begin(request, NoDecisionReason.NOT_READY);
        ClientConnection ready;
        synchronized (parked) {
            ready = connection;
            if (ready == null) {
                parked.put(request.number(), request);
            }
        }
        if (ready != null) {
            decideBy(ready, request);
        } else if (!pending.contains(request)) { // it has ended before it was added
            unpark(request);
        }
    }

    private void decideBy(ClientConnection by, PendingRequest request) {
        request.setConnection(by);
        if (by.leases() == null) {
            send(request);
        } else {
            apply(request, by.leases().decide(request.request(), request));
        }
    }

    private void apply(PendingRequest request, LeasedDecisions.Reply reply) {
        if (reply.decision() != null) {
            completer.decidedHere(request, reply.decision());
            return;
        }
        switch (reply.undecided()) {
            case WAITS -> {}
            case NO_ROOM -> completer.fail(request, NoDecisionReason.TOO_MANY_WAITING);
            case NO_LEASE ->
                completer.fail(request, request.isWaiting() ? request.atTimeout() : NoDecisionReason.NO_LEASE);
            case NO_LEDGER -> completer.fail(request, NoDecisionReason.NO_LEDGER);
            case OVER_TOPIC -> send(request);
        }
    }

    /** Begins the wait of a request for a lease. Returns false if too many requests wait. */
    boolean waitForLease(PendingRequest request) {
        if (request.isWaiting()) { // it has waited for the connection
            request.setAtTimeout(NoDecisionReason.NO_LEASE);
            request.releasePermission(breaker);
            return true;
        }
        if (!pending.tryReserve()) {
            return false;
        }
        begin(request, NoDecisionReason.NO_LEASE);
        return true;
    }

    boolean isPending(PendingRequest request) {
        return pending.contains(request);
    }

    void endWaitForLease(PendingRequest request, LeasedDecisions.Reply reply) {
        if (reply.undecided() == LeasedDecisions.Undecided.OVER_TOPIC) {
            completer.execute(() -> send(request)); // its policies changed while it waited
        } else {
            apply(request, reply);
        }
    }

    /** Takes a permission of the circuit breaker and room for a request, or ends the request. */
    private boolean admit(PendingRequest request) {
        if (!request.acquirePermission(breaker)) {
            completer.fail(request, NoDecisionReason.CIRCUIT_OPEN);
            return false;
        }
        if (!request.isWaiting() && !pending.reserve()) {
            request.releasePermission(breaker);
            completer.fail(request, NoDecisionReason.TOO_MANY_WAITING);
            return false;
        }
        return true;
    }

    /** Adds a request to the waiting ones. If its time passes, it fails with the given reason. */
    private void begin(PendingRequest request, NoDecisionReason atTimeout) {
        request.setAtTimeout(atTimeout);
        boolean isOpen = pending.add(request, () -> completer.timeOut(request.number()));
        if (!isOpen) {
            completer.giveUp(request.number(), NoDecisionReason.CLOSED, null);
        }
    }

    private void send(PendingRequest request) {
        if (!admit(request)) {
            return;
        }
        decisions.asked(System.nanoTime());
        if (request.isWaiting()) {
            request.setAtTimeout(NoDecisionReason.TIMED_OUT);
        } else {
            begin(request, NoDecisionReason.TIMED_OUT);
        }
        if (!pending.contains(request)) {
            request.releasePermission(breaker);
            return;
        }
        SendWindow<PendingRequest> window = windows.of(request.request());
        if (!request.enter(window)) {
            completer.fail(request, NoDecisionReason.OVERLOADED);
            return;
        }
        if (!pending.contains(request)) { // it has ended before it entered the window
            request.leaveWindow(SendWindow.End.FAILED);
        }
        drain(window);
    }

    /** Sends the requests of a window that may be sent, unless another thread does so. */
    void drain(SendWindow<PendingRequest> window) {
        boolean isAgain = true;
        while (isAgain) { // those that fail let others be sent
            isAgain = drainOnce(window);
        }
    }

    /** Returns whether requests have failed and left the window. */
    private boolean drainOnce(SendWindow<PendingRequest> window) {
        if (!window.beginDrain()) {
            return false;
        }
        Failures failures = new Failures(window);
        boolean isDone = false;
        try {
            SendWindow.Step<PendingRequest> step = window.next(System.nanoTime());
            for (; step != null; step = window.next(System.nanoTime())) {
                PendingRequest request = step.request();
                if (step.isShed()) {
                    failures.add(() -> completer.end(request.number(), NoDecisionReason.OVERLOADED, null));
                } else if (!pending.isClosed() && pending.contains(request)) {
                    send(request, failures);
                }
            }
            isDone = true;
        } finally {
            if (!isDone) {
                window.endDrain();
            }
            failures.report();
        }
        return failures.areReported();
    }

    /** Passes a request to the producer. */
    private void send(PendingRequest request, Failures failures) {
        metrics.sent.increment();
        long number = request.number();
        try {
            Header header = correlation.header(number);
            request.connection().send(request.request(), request.headers(), header, (metadata, exception) -> {
                if (exception != null) {
                    failures.add(() -> completer.notWritten(number, exception));
                }
            });
        } catch (RuntimeException e) {
            failures.add(() -> completer.notWritten(number, e));
        }
    }

    /**
     * Failures to send that are known while a window is drained. They are reported afterwards, since a callback of a
     * request could block the thread, and the others of the window would not be sent; the window is then drained again.
     * Later ones are reported at once.
     */
    private final class Failures {

        private final SendWindow<PendingRequest> window;
        private List<Runnable> known = new ArrayList<>(0); // null once they are reported
        private boolean areReported;

        Failures(SendWindow<PendingRequest> window) {
            this.window = window;
        }

        void add(Runnable report) {
            synchronized (this) {
                if (known != null) {
                    known.add(report);
                    return;
                }
            }
            report.run();
            completer.runSending(() -> drain(window));
        }

        void report() {
            List<Runnable> all;
            synchronized (this) {
                all = known;
                known = null;
            }
            areReported = !all.isEmpty();
            all.forEach(Runnable::run);
        }

        /** Returns whether {@link #report} has reported any. */
        boolean areReported() {
            return areReported;
        }
    }
}
