package dev.weir.client.pipeline;

import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.SendWindow;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.common.header.Header;

/**
 * A request of a caller and its future. It can wait for the connection, for a lease or for a decision of an enforcer,
 * and is then among the {@link PendingRequests}; the thread that removes it from there completes it.
 */
final class PendingRequest {

    final CompletableFuture<Decision> future = new CompletableFuture<>();
    private final Request request;
    private final List<Header> headers;
    private final Duration within;
    private boolean hasPermission; // of the circuit breaker; guarded by this
    private volatile long number; // 0 until it waits
    private volatile long startNanos;
    private volatile Wait waitsFor; // null until it waits
    private volatile Future<?> timeout;

    /** What a request waits for. Each stage that lets requests wait has its own. */
    interface Wait {

        /** Returns why the request ends if its time passes now. */
        NoDecisionReason atTimeout();

        /** Ends the wait, because the request has ended. Has no effect if it was called before. */
        default void end(SendWindow.End how) {}

        /** Lets others go on that wait for the same. Called after {@link #end}. Can block if the producer does. */
        default void letOthersGoOn() {}
    }

    PendingRequest(Request request, List<Header> headers, Duration within) {
        this.request = request;
        this.headers = headers;
        this.within = within;
    }

    Request request() {
        return request;
    }

    List<Header> headers() {
        return headers;
    }

    /** Returns how long it may wait. */
    Duration within() {
        return within;
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

    /** Returns when its wait began. */
    long startNanos() {
        return startNanos;
    }

    /** Returns how long it has waited. */
    long waitedNanos() {
        return number == 0 ? 0 : System.nanoTime() - startNanos;
    }

    /** Returns what it waits for, or has waited for last. */
    Wait waitsFor() {
        return waitsFor;
    }

    void setWaitsFor(Wait next) {
        waitsFor = next;
    }

    void setTimeout(Future<?> task) {
        timeout = task;
    }

    void cancelTimeout() {
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
}
