package dev.weir.client.pipeline;

import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.SendWindow;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** The first stage: until there is a connection, requests wait for it. */
final class ConnectionStage implements RequestStage {

    private final RequestAdmission admission;
    private final PendingRequests pending;
    private final RequestCompleter completer;

    /** The requests that wait for the connection, in their order. Its lock is not held while they are passed on. */
    private final Map<Long, PendingRequest> parked = new LinkedHashMap<>();

    private volatile RequestStage next; // null until there is a connection
    private volatile ClientConnection connection; // null until no request waits for it any more

    ConnectionStage(RequestAdmission admission, PendingRequests pending, RequestCompleter completer) {
        this.admission = admission;
        this.pending = pending;
        this.completer = completer;
    }

    /** Returns the connection, or null if there is none yet. */
    ClientConnection connection() {
        return connection;
    }

    @Override
    public int queued() {
        RequestStage current = next;
        return current == null ? 0 : current.queued();
    }

    @Override
    public void accept(PendingRequest request) {
        ClientConnection current = connection;
        if (pending.isClosed()) {
            completer.fail(request, NoDecisionReason.CLOSED);
        } else if (current == null) {
            park(request);
        } else if (current.hasStopped()) {
            completer.fail(request, NoDecisionReason.NOT_READY);
        } else {
            next.accept(request);
        }
    }

    private void park(PendingRequest request) {
        if (!admission.admit(request)) {
            return;
        }
        admission.begin(request, new Parked(request));
        boolean isConnected;
        synchronized (parked) {
            isConnected = connection != null;
            if (!isConnected) {
                parked.put(request.number(), request);
            }
        }
        if (isConnected) {
            next.accept(request);
        } else if (!pending.contains(request)) { // it has ended before it was added
            unpark(request);
        }
    }

    private void unpark(PendingRequest request) {
        if (connection == null) {
            synchronized (parked) {
                parked.remove(request.number());
            }
        }
    }

    /**
     * Passes the requests that wait for the connection on, in their order.
     *
     * @param decide the stages that use the connection
     * @return false if the client was closed
     */
    boolean connect(ClientConnection ready, RequestStage decide) {
        next = decide;
        for (PendingRequest first = nextParked(ready); first != null; first = nextParked(ready)) {
            decide.accept(first);
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

    private final class Parked implements PendingRequest.Wait {

        private final PendingRequest request;

        Parked(PendingRequest request) {
            this.request = request;
        }

        @Override
        public NoDecisionReason atTimeout() {
            return NoDecisionReason.NOT_READY;
        }

        @Override
        public void end(SendWindow.End how) {
            unpark(request);
        }
    }
}
