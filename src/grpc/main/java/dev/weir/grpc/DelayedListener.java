package dev.weir.grpc;

import io.grpc.ServerCall;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A listener that stores the events of a call until the listener of its handler exists. gRPC delivers messages only
 * when they are requested, and nothing requests them before. So there are a few events at most: half-close, ready and
 * cancellation. Thread-safe.
 */
// The order of events is kept although they are stored by one thread and delivered by another:
//
//   gRPC's thread            the thread of the decision
//   store half-close
//                            start: take [half-close], unlocked: deliver it
//   store cancellation
//                            take [cancellation], deliver it
//                            nothing is stored: pass on from now
//   deliver the next event
final class DelayedListener<Q> extends ServerCall.Listener<Q> {

    /** Reached only if another interceptor requests messages before the handler does. */
    static final int MAX_STORED = 64;

    private final Runnable onOverflow;
    private final Runnable onEnd;
    private List<Consumer<ServerCall.Listener<Q>>> stored = new ArrayList<>();
    private ServerCall.Listener<Q> delegate; // null until all stored events were delivered
    private boolean isCancelled;
    private boolean isClosed;

    /**
     * Creates a listener.
     *
     * @param onOverflow called once, by the thread of an event, if too many events would have to be stored
     * @param onEnd called once, by the thread of the event, when the call has ended, whether it was handled or not
     */
    DelayedListener(Runnable onOverflow, Runnable onEnd) {
        this.onOverflow = onOverflow;
        this.onEnd = onEnd;
    }

    /** Returns whether the call was cancelled while it waited. */
    synchronized boolean isCancelled() {
        return isCancelled;
    }

    /** Discards all stored and later events. Returns false if they were discarded before. */
    synchronized boolean discard() {
        boolean first = !isClosed;
        isClosed = true;
        stored.clear();
        return first;
    }

    /** Delivers the stored events, and then all others directly. */
    void start(ServerCall.Listener<Q> listener) {
        while (true) {
            List<Consumer<ServerCall.Listener<Q>>> events;
            synchronized (this) {
                if (stored.isEmpty()) {
                    delegate = listener;
                    return;
                }
                events = stored;
                stored = new ArrayList<>();
            }
            events.forEach(event -> event.accept(listener));
        }
    }

    private void deliver(Consumer<ServerCall.Listener<Q>> event) {
        ServerCall.Listener<Q> listener;
        synchronized (this) {
            if (isClosed) {
                return;
            }
            listener = delegate;
            if (listener == null && stored.size() < MAX_STORED) {
                stored.add(event);
                return;
            }
        }
        if (listener != null) {
            event.accept(listener);
        } else if (discard()) {
            onOverflow.run();
        }
    }

    @Override
    public void onMessage(Q message) {
        deliver(listener -> listener.onMessage(message));
    }

    @Override
    public void onHalfClose() {
        deliver(ServerCall.Listener::onHalfClose);
    }

    @Override
    public void onCancel() {
        synchronized (this) {
            isCancelled = true;
        }
        end(ServerCall.Listener::onCancel);
    }

    @Override
    public void onComplete() {
        end(ServerCall.Listener::onComplete);
    }

    /** gRPC reports the end of each call by one of two events. */
    private void end(Consumer<ServerCall.Listener<Q>> event) {
        try {
            deliver(event);
        } finally {
            onEnd.run();
        }
    }

    @Override
    public void onReady() {
        deliver(ServerCall.Listener::onReady);
    }
}
