package dev.weir.client;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.lease.LeasedDecisions;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.header.Header;

/**
 * A request of a caller and its future. It can wait for the connection, for a lease or for a decision of an enforcer,
 * and is then among the {@link PendingRequests}; the thread that removes it from there completes it.
 */
final class PendingRequest implements LeasedDecisions.Waiter {

    final CompletableFuture<Decision> future = new CompletableFuture<>();
    private final RequestDispatcher dispatcher;
    private final Request request;
    private final List<Header> headers;
    private final Duration within;
    private ClientConnection connection; // null until it is decided; guarded by the locks of its leases after that
    private boolean hasPermission; // of the circuit breaker; guarded by this
    private volatile long number; // 0 until it waits
    private volatile long startNanos;
    private volatile NoDecisionReason atTimeout;
    private volatile AnswerClock ledger; // null unless it waits for a lease
    private volatile Future<?> timeout;
    private final AtomicReference<SendWindow.Ticket<PendingRequest>> ticket = new AtomicReference<>(); // in the window
    private volatile SendWindow<PendingRequest> window; // null unless it goes over the topic

    PendingRequest(RequestDispatcher dispatcher, Request request, List<Header> headers, Duration within) {
        this.dispatcher = dispatcher;
        this.request = request;
        this.headers = headers;
        this.within = within;
    }

    @Override
    public Request request() {
        return request;
    }

    List<Header> headers() {
        return headers;
    }

    /** Returns how long it may wait. */
    Duration within() {
        return within;
    }

    ClientConnection connection() {
        return connection;
    }

    void setConnection(ClientConnection by) {
        connection = by;
    }

    /** Returns whether its wait has begun. It may have ended since. */
    boolean isWaiting() {
        return number != 0;
    }

    /** Returns its number among the requests of the client; 0 until it waits. */
    long number() {
        return number;
    }

    /** Begins the wait. */
    void begin(long newNumber) {
        startNanos = System.nanoTime();
        number = newNumber;
    }

    /** Returns how long it has waited. */
    @Override
    public long waitedNanos() {
        return number == 0 ? 0 : System.nanoTime() - startNanos;
    }

    /**
     * Returns why it ends when its time has passed: because of overload if others were answered meanwhile by the
     * same enforcer or ledger, and it had to wait behind them.
     */
    NoDecisionReason atTimeout() {
        SendWindow.Ticket<PendingRequest> sending = ticket.get();
        boolean isCrowdedOut =
                switch (atTimeout) {
                    case TIMED_OUT -> sending != null && window.wasCrowdedOut(sending);
                    case NO_LEASE -> ledger.hasAnsweredSince(startNanos);
                    default -> false;
                };
        return isCrowdedOut ? NoDecisionReason.OVERLOADED : atTimeout;
    }

    /** Enters the window from which it is sent. Returns false if it is shed instead. */
    boolean enter(SendWindow<PendingRequest> entered) {
        SendWindow.Ticket<PendingRequest> added = new SendWindow.Ticket<>(this, startNanos, within.toNanos());
        window = entered;
        boolean isAdded = entered.offer(added, System.nanoTime());
        if (isAdded) {
            ticket.set(added);
        }
        return isAdded;
    }

    /** Leaves the window, if it is in one. Then {@link #letOthersBeSent} is due. */
    void leaveWindow(SendWindow.End how) {
        SendWindow.Ticket<PendingRequest> left = ticket.getAndSet(null);
        if (left != null) {
            window.end(left, how, System.nanoTime());
        }
    }

    /** Sends others of the window that it was in, if it was in one. */
    void letOthersBeSent() {
        SendWindow<PendingRequest> left = window;
        if (left != null) {
            dispatcher.drain(left);
        }
    }

    void setAtTimeout(NoDecisionReason why) {
        atTimeout = why;
    }

    void setTimeout(Future<?> task) {
        timeout = task;
    }

    /** Cancels the time-out, and the wait for the connection. */
    void endWait() {
        dispatcher.unpark(this);
        Future<?> task = timeout;
        if (task != null) {
            task.cancel(false);
        }
    }

    /** Requests a permission of the circuit breaker, if it has none. Returns whether it has one. */
    synchronized boolean acquirePermission(CircuitBreaker breaker) {
        hasPermission = hasPermission || breaker.tryAcquirePermission();
        return hasPermission;
    }

    /** Returns whether it had a permission. It has none afterwards. */
    synchronized boolean takePermission() {
        boolean had = hasPermission;
        hasPermission = false;
        return had;
    }

    void releasePermission(CircuitBreaker breaker) {
        if (takePermission()) {
            breaker.releasePermission();
        }
    }

    @Override
    public long withinNanos() {
        return within.toNanos();
    }

    @Override
    public boolean enter(AnswerClock first) {
        ledger = first;
        return dispatcher.waitForLease(this);
    }

    @Override
    public void waitFor(AnswerClock next) {
        ledger = next;
    }

    @Override
    public boolean isOver() {
        return !dispatcher.isPending(this);
    }

    @Override
    public void end(LeasedDecisions.Reply reply) {
        dispatcher.endWaitForLease(this, reply);
    }
}
