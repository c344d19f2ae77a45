package dev.weir.spring.http;

import dev.weir.client.Reservation;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServletRequest;

/**
 * Releases the reservation of an HTTP request that became asynchronous when it is complete, also after a time-out or an
 * error: the container reports these first, and then the completion.
 */
final class AsyncRelease implements AsyncListener {

    private final Reservation reservation;

    private AsyncRelease(Reservation reservation) {
        this.reservation = reservation;
    }

    /** Releases a reservation now or, if the request is asynchronous, when that is complete. */
    static void atEndOf(HttpServletRequest http, Reservation reservation) {
        AsyncRelease release = new AsyncRelease(reservation);
        boolean isLater = false;
        try {
            if (http.isAsyncStarted()) {
                http.getAsyncContext().addListener(release);
                isLater = true;
            }
        } catch (IllegalStateException e) { // it has become complete meanwhile
            isLater = false;
        }
        if (!isLater) {
            release.release();
        }
    }

    private void release() {
        var unused = reservation.release();
    }

    @Override
    public void onComplete(AsyncEvent event) {
        release();
    }

    @Override
    public void onTimeout(AsyncEvent event) {}

    @Override
    public void onError(AsyncEvent event) {}

    /** A dispatched request is asynchronous again, which removes listeners. */
    @Override
    public void onStartAsync(AsyncEvent event) {
        event.getAsyncContext().addListener(this);
    }
}
