package dev.weir.client.kafka;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Bounds how many requests of one partition are sent and undecided at the same time. Further ones wait in their order,
 * or are shed if they would not be decided in time. So a busy enforcer does not decide requests whose callers have given
 * up. All times are of {@link System#nanoTime}. Thread-safe.
 *
 * @param <R> the type of requests
 */
// A partition is decided in order, so more requests in flight than needed to keep its enforcer busy only make each of
// them later. As in TCP (RFC 5681), the bound follows from what happens to the requests that were sent:
//
//   decided within a quarter of its time, and half of the window was in use    window + 1
//   decided after half of its time or not at all, which was 100 ms or more     window = half of what was in flight
//
// The window is between MIN and the maximum of the client. So it grows by half or more with each round trip until the
// decisions take a quarter of their time, which leaves time for the wait before:
//
//   expected time = time of recent decisions × (1 + waiting / window)
//
// A request that has to wait is shed if its expected time is more than half of its time. The other half is for jitter:
// a request that is shed is known to be uncharged, one that times out is not. With a window of 128, decisions after
// 10 ms and a time-out of 500 ms, 3,072 requests can wait.
//
// A request that frees or settles what another has taken is not shed: without it, less passes for the others. It keeps
// its place, since the other one may wait ahead of it.
//
// The estimate holds only while decisions arrive. Otherwise, because the enforcer pauses or is away, nothing is shed,
// and what waits ends like a request that was sent: it timed out.
public final class SendWindow<R> {

    /** The window at first. */
    public static final int INITIAL = 128;

    /** The smallest window. If fewer requests are in flight and late, that is not because of each other. */
    static final int MIN = 32;

    /** The shortest time-out whose passing is a sign of overload or an outage, since a decision can take that long. */
    public static final Duration MIN_COUNTED_TIMEOUT = Duration.ofMillis(100);

    private static final long MIN_COUNTED_NANOS = MIN_COUNTED_TIMEOUT.toNanos();

    /** How long no decision may arrive until the estimate does not hold any more, at least. */
    private static final long MIN_FLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final int GROWTH_PARTS = 4;
    private static final int SAFETY = 2;
    private static final int SMOOTHING = 8;

    private final int max;
    private final Set<Ticket<R>> queue = new LinkedHashSet<>();
    private int window;
    private int inFlight;
    private long smoothedNanos; // 0 before the first decision
    private boolean hasDecision;
    private long decidedNanos;
    private boolean isDraining;

    /**
     * The place of a request in a window.
     *
     * @param <R> the type of requests
     */
    public static final class Ticket<R> {

        private final R request;
        private final long startNanos;
        private final long withinNanos;
        private final boolean isSheddable;
        private boolean isSent;
        private long sentNanos;
        private int inFlightWhenSent;
        private boolean usesWindow;

        /**
         * Creates a ticket.
         *
         * @param request the request
         * @param startNanos when the time of the request began
         * @param withinNanos how long it may take
         * @param isSheddable whether it may be shed
         */
        public Ticket(R request, long startNanos, long withinNanos, boolean isSheddable) {
            this.request = request;
            this.startNanos = startNanos;
            this.withinNanos = withinNanos;
            this.isSheddable = isSheddable;
        }

        R request() {
            return request;
        }
    }

    /** How the time of a request in the window ends. */
    public enum End {
        /** It was decided in time. */
        DECIDED,
        /** Its time has passed. */
        TIMED_OUT,
        /** It failed in another way. */
        FAILED
    }

    /**
     * What to do with a request that has waited.
     *
     * @param <R> the type of requests
     * @param request the request
     * @param isShed whether it ends without being sent; otherwise it is sent
     */
    public record Step<R>(R request, boolean isShed) {}

    /**
     * Creates an empty window.
     *
     * @param max the largest window, at least 1
     */
    public SendWindow(int max) {
        this.max = max;
        window = Math.min(INITIAL, max);
    }

    /**
     * Adds a request to those that wait.
     *
     * @param ticket the request
     * @param nowNanos the time
     * @return false if it is shed instead
     */
    public synchronized boolean offer(Ticket<R> ticket, long nowNanos) {
        boolean isLate = inFlight + queue.size() >= window && expectedNanos() > ticket.withinNanos;
        if (isLate && isShed(ticket, nowNanos)) {
            return false;
        }
        queue.add(ticket);
        return true;
    }

    private boolean isShed(Ticket<R> late, long nowNanos) {
        return late.isSheddable && isFlowing(nowNanos);
    }

    private long expectedNanos() {
        return SAFETY * (smoothedNanos + smoothedNanos * (queue.size() + 1) / window);
    }

    private boolean isFlowing(long nowNanos) {
        return hasDecision && nowNanos - decidedNanos <= Math.max(MIN_FLOW_NANOS, SAFETY * smoothedNanos);
    }

    /**
     * Begins to send what may be sent. If this returns true, the caller repeats {@link #next} until it returns null.
     * One thread does so at a time, so requests are sent in their order.
     *
     * @return false if another thread does so
     */
    public synchronized boolean beginDrain() {
        boolean begins = !isDraining;
        isDraining = true;
        return begins;
    }

    /** Ends {@link #beginDrain} early, because of an error. */
    public synchronized void endDrain() {
        isDraining = false;
    }

    /**
     * Returns what to do next.
     *
     * @param nowNanos the time
     * @return a request to send or to shed; null if nothing is to be done now
     */
    public synchronized Step<R> next(long nowNanos) {
        Iterator<Ticket<R>> first = queue.iterator();
        if (inFlight >= window || !first.hasNext()) {
            isDraining = false;
            return null;
        }
        Ticket<R> ticket = first.next();
        first.remove();
        long leftNanos = ticket.withinNanos - (nowNanos - ticket.startNanos);
        boolean isLate = inFlight + queue.size() + 1 >= window && leftNanos < SAFETY * smoothedNanos;
        if (isLate && isShed(ticket, nowNanos)) {
            return new Step<>(ticket.request, true);
        }
        inFlight++;
        ticket.isSent = true;
        ticket.sentNanos = nowNanos;
        ticket.inFlightWhenSent = inFlight;
        ticket.usesWindow = inFlight >= window / 2;
        return new Step<>(ticket.request, false);
    }

    /**
     * Returns whether a request whose time has passed was not sent because others were ahead of it: decisions have
     * arrived in the second half of its time.
     *
     * @param ticket the request
     * @return whether there is overload
     */
    public synchronized boolean wasCrowdedOut(Ticket<R> ticket) {
        return !ticket.isSent && hasDecision && decidedNanos - (ticket.startNanos + ticket.withinNanos / 2) >= 0;
    }

    /**
     * Removes a request that has ended. Must be called once. Then {@link #beginDrain} is due.
     *
     * @param ticket the request
     * @param how how it has ended
     * @param nowNanos the time
     */
    public synchronized void end(Ticket<R> ticket, End how, long nowNanos) {
        if (!ticket.isSent) {
            queue.remove(ticket);
            return;
        }
        inFlight--;
        if (how == End.DECIDED) {
            decided(ticket, nowNanos);
        } else if (how == End.TIMED_OUT) {
            shrink(ticket);
        }
    }

    private void shrink(Ticket<R> ticket) {
        if (ticket.withinNanos >= MIN_COUNTED_NANOS) {
            window = Math.max(Math.min(MIN, max), Math.min(window, ticket.inFlightWhenSent / 2));
        }
    }

    private void decided(Ticket<R> ticket, long nowNanos) {
        long tookNanos = Math.max(1, nowNanos - ticket.sentNanos);
        smoothedNanos = smoothedNanos == 0 ? tookNanos : smoothedNanos + (tookNanos - smoothedNanos) / SMOOTHING;
        hasDecision = true;
        decidedNanos = nowNanos;
        if (tookNanos > ticket.withinNanos / 2) {
            shrink(ticket);
        } else if (ticket.usesWindow && tookNanos <= ticket.withinNanos / GROWTH_PARTS) {
            window = Math.min(max, window + 1);
        }
    }

    /** Returns how many requests may be in flight. */
    synchronized int window() {
        return window;
    }

    /**
     * Returns how many requests wait to be sent.
     *
     * @return the number of requests
     */
    public synchronized int waiting() {
        return queue.size();
    }
}
