package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A reservation that Weir has granted, or may have granted. How long it lasts is the difference of two times of Weir's
 * decision, since clocks can be wrong. The client counts it from before the request or the renewal was sent, so the
 * reservation never ends earlier by Weir's clock than by the client's.
 *
 * <pre>
 *   sent at 0       reservedUntil − decidedAt = 60   ends at 60, renew at 20
 *   RENEW at 20     RENEWED at 21, again for 60      ends at 80, renew at 40
 *   RENEW at 40     no decision                      again after each ninth of the time
 *                   at 80                            lost
 * </pre>
 *
 * <p>A repeated decision does not show how much of that time has passed, so such a reservation is renewed at once.
 */
final class HeldReservation implements Reservation {

    /** Renews after this part of the time. */
    private static final int RENEWALS = 3;

    /** Tries again after this part of the time if a renewal got no decision. */
    private static final int TRIALS = 9;

    private static final long MIN_WITHIN_NANOS = ClientBuilder.MIN_TIMEOUT.toNanos();

    private final ClientReservations all;
    private final Request request;
    private final ClientDecision decision;
    private final long ttlNanos;

    private long endNanos; // guarded by this, as are the following
    private long durationNanos; // from the start or the last renewal
    private Future<?> timer; // null if none was started
    private ChosenEnd end; // null while it is open
    private boolean isLost;
    private final List<Runnable> actions = new ArrayList<>(0);

    /** An end that the caller has chosen. */
    private record ChosenEnd(RequestKind kind, long cost, CompletableFuture<Reason> result) {}

    /**
     * Creates a reservation.
     *
     * @param request the request that created it, which says how long after its start or its last renewal it ends
     */
    HeldReservation(ClientReservations all, Request request, ClientDecision decision) {
        this.all = all;
        this.request = request;
        this.decision = decision;
        ttlNanos = TimeUnit.MILLISECONDS.toNanos(request.reserveMs());
        durationNanos = ttlNanos;
    }

    @Override
    public ClientDecision decision() {
        return decision;
    }

    /**
     * Begins to renew a reservation by Weir's decision on the request.
     *
     * @param sentNanos when the request was sent, or earlier
     */
    synchronized void begin(Decision decided, long sentNanos) {
        long delayNanos = TimeUnit.MILLISECONDS.toNanos(decided.delayMs() == null ? 0 : decided.delayMs());
        long heldNanos = decided.repeated() ? delayNanos + ttlNanos : heldNanos(decided, delayNanos + ttlNanos);
        endNanos = sentNanos + heldNanos;
        durationNanos = heldNanos > delayNanos ? heldNanos - delayNanos : heldNanos;
        if (end == null) {
            wakeAt(decided.repeated() ? sentNanos : endNanos - durationNanos + durationNanos / RENEWALS, this::renew);
        }
    }

    /** Returns how long after a decision the reservation ends; {@code otherwise} if the decision does not say. */
    private static long heldNanos(Decision decided, long otherwise) {
        return decided.reservedUntilMs() == null
                ? otherwise
                : TimeUnit.MILLISECONDS.toNanos(decided.reservedUntilMs() - decided.decidedAtMs());
    }

    /** Runs a task at a time, or at the end of the reservation if that is sooner. Replaces the task before. */
    private void wakeAt(long nanos, Runnable task) {
        stopTimer();
        long at = nanos - endNanos < 0 ? nanos : endNanos;
        timer = all.schedule(task, Math.max(0, at - all.nanoTime())).orElse(null);
        if (timer == null) {
            lose();
        }
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    private boolean isOpen() {
        return end == null && !isLost;
    }

    /** Sends a RENEW, or loses the reservation if its time has passed. */
    private void renew() {
        long now = all.nanoTime();
        long leftNanos;
        synchronized (this) {
            if (!isOpen()) {
                return;
            }
            leftNanos = endNanos - now;
            if (leftNanos < MIN_WITHIN_NANOS) {
                lose();
                return;
            }
            wakeAt(endNanos, this::renew); // an answer replaces it
        }
        all.execute(() -> sendRenewal(leftNanos));
    }

    private void sendRenewal(long withinNanos) {
        long sentNanos = all.nanoTime();
        CompletableFuture<Decision> answer =
                all.decide(all.request(request, RequestKind.RENEW, 0), Duration.ofNanos(withinNanos));
        var unused = answer.whenComplete((decided, failure) -> renewed(sentNanos, decided));
    }

    /** @param decided null without a decision */
    private synchronized void renewed(long sentNanos, Decision decided) {
        if (!isOpen()) {
            return;
        }
        if (decided == null) {
            wakeAt(all.nanoTime() + durationNanos / TRIALS, this::renew);
        } else if (decided.reason() == Reason.RENEWED) {
            durationNanos = heldNanos(decided, durationNanos);
            endNanos = sentNanos + durationNanos;
            wakeAt(sentNanos + durationNanos / RENEWALS, this::renew);
        } else {
            lose();
        }
    }

    /** Loses the reservation if it is open. It can still be ended, since Weir may have renewed it. */
    synchronized void lose() {
        if (isOpen()) {
            isLost = true;
            stopTimer();
            all.lost(this);
            actions.forEach(all::execute);
            actions.clear();
        }
    }

    @Override
    public void onLost(Runnable action) {
        synchronized (this) {
            if (isOpen()) {
                actions.add(action);
            }
            if (!isLost) {
                return;
            }
        }
        all.execute(action);
    }

    @Override
    public CompletableFuture<Reason> settle(long actualCost) {
        if (actualCost < 0) {
            throw new IllegalArgumentException("actualCost must be 0 or more, is " + actualCost);
        }
        return end(RequestKind.SETTLE, actualCost);
    }

    @Override
    public CompletableFuture<Reason> release() {
        return end(RequestKind.RELEASE, 0);
    }

    @Override
    public CompletableFuture<Reason> cancel() {
        return end(RequestKind.CANCEL, 0);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (end != null) {
                return;
            }
        }
        var unused = cancel();
    }

    private CompletableFuture<Reason> end(RequestKind kind, long cost) {
        Request ending = all.request(request, kind, cost);
        ChosenEnd mine = new ChosenEnd(kind, cost, new CompletableFuture<>());
        synchronized (this) {
            if (end != null) {
                return end.kind == kind && end.cost == cost
                        ? end.result.copy()
                        : CompletableFuture.completedFuture(Reason.ALREADY_ENDED);
            }
            end = mine;
            stopTimer();
            actions.clear();
        }
        all.end(this, ending, mine.result);
        return mine.result.copy();
    }

    /** Stops, since the client is closed. */
    void clientClosed() {
        CompletableFuture<Reason> result;
        synchronized (this) {
            lose();
            result = end == null ? null : end.result;
        }
        if (result != null) {
            result.completeExceptionally(all.closed());
        }
    }
}
