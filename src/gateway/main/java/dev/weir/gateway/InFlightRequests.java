package dev.weir.gateway;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Counts the requests that have no response yet, so that a stop can wait for them. */
final class InFlightRequests extends Handler.Wrapper {

    private final AtomicInteger count = new AtomicInteger();
    private volatile boolean isAwaited;

    InFlightRequests(Handler handler) {
        super(handler);
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        AtomicBoolean isOpen = new AtomicBoolean(true);
        Runnable end = () -> {
            if (isOpen.getAndSet(false)) {
                ended();
            }
        };
        count.incrementAndGet();
        boolean isHandled = false;
        try {
            isHandled = super.handle(request, response, Callback.from(callback, end));
        } finally {
            if (!isHandled) {
                end.run();
            }
        }
        return isHandled;
    }

    private void ended() {
        if (count.decrementAndGet() == 0 && isAwaited) {
            synchronized (this) {
                notifyAll();
            }
        }
    }

    /** Waits until there is no request, for a time at most. Returns whether there is none. */
    synchronized boolean awaitNone(Duration atMost) throws InterruptedException {
        long deadlineNanos = System.nanoTime() + atMost.toNanos();
        isAwaited = true;
        while (count.get() > 0) {
            long leftNanos = deadlineNanos - System.nanoTime();
            if (leftNanos <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(leftNanos, 1_000_000));
        }
        return true;
    }
}
