package dev.weir.client.pipeline;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.SendWindow;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * The last stage: requests are sent to the enforcers, and wait for their decisions. Each partition has a window, so that
 * one without decisions does not delay the others.
 */
final class TopicStage implements RequestStage {

    private final ClientConnection connection;
    private final List<SendWindow<PendingRequest>> windows; // by partition
    private final RequestAdmission admission;
    private final PendingRequests pending;
    private final RequestCompleter completer;
    private final RequestMetrics metrics;
    private final AnswerClock decisions;

    /**
     * Creates a stage.
     *
     * @param windows as {@link #windows(int, int)} returns them
     * @param decisions the time without decisions over the topics
     */
    TopicStage(
            ClientConnection connection,
            List<SendWindow<PendingRequest>> windows,
            RequestAdmission admission,
            PendingRequests pending,
            RequestCompleter completer,
            RequestMetrics metrics,
            AnswerClock decisions) {
        this.connection = connection;
        this.windows = windows;
        this.admission = admission;
        this.pending = pending;
        this.completer = completer;
        this.metrics = metrics;
        this.decisions = decisions;
    }

    /**
     * Returns empty windows.
     *
     * @param partitions the number of partitions of the topic of requests
     * @param max the largest window
     */
    static List<SendWindow<PendingRequest>> windows(int partitions, int max) {
        return Stream.generate(() -> new SendWindow<PendingRequest>(max))
                .limit(partitions)
                .toList();
    }

    @Override
    public int queued() {
        return windows.stream().mapToInt(SendWindow::waiting).sum();
    }

    @Override
    public void accept(PendingRequest request) {
        if (!admission.admit(request)) {
            return;
        }
        decisions.requested(System.nanoTime());
        InWindow wait = new InWindow(window(request.request()));
        admission.begin(request, wait);
        if (!pending.contains(request)) {
            admission.release(request);
            return;
        }
        if (!wait.enter(request)) {
            completer.fail(request, NoDecisionReason.OVERLOADED);
            return;
        }
        if (!pending.contains(request)) { // it has ended before it entered the window
            wait.end(SendWindow.End.FAILED);
        }
        drain(wait.window);
    }

    /** Returns the window of a request, by the default partitioner of Kafka's producer. */
    private SendWindow<PendingRequest> window(Request request) {
        byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
        return windows.get(BuiltInPartitioner.partitionForKey(key, windows.size()));
    }

    /** Returns whether others lose nothing if a request is shed: it does not free or settle what another has taken. */
    private static boolean isSheddable(RequestKind kind) {
        return switch (kind) {
            case CONSUME, PEEK, RESET -> true;
            case SETTLE, CANCEL, RELEASE, RENEW, COMPLETE, EXTEND -> false;
        };
    }

    /** A request that waits in a window to be sent, or for its decision. */
    final class InWindow implements PendingRequest.Wait {

        private final SendWindow<PendingRequest> window;
        private final AtomicReference<SendWindow.Ticket<PendingRequest>> ticket = new AtomicReference<>();

        InWindow(SendWindow<PendingRequest> window) {
            this.window = window;
        }

        /** Enters the window. Returns false if the request is shed instead. */
        boolean enter(PendingRequest request) {
            SendWindow.Ticket<PendingRequest> added = new SendWindow.Ticket<>(
                    request,
                    request.startNanos(),
                    request.within().toNanos(),
                    isSheddable(request.request().kind()));
            boolean isAdded = window.offer(added, System.nanoTime());
            if (isAdded) {
                ticket.set(added);
            }
            return isAdded;
        }

        /** Returns overload if others were decided meanwhile, and it was not sent because it had to wait behind them. */
        @Override
        public NoDecisionReason atTimeout() {
            SendWindow.Ticket<PendingRequest> current = ticket.get();
            return current != null && window.wasCrowdedOut(current)
                    ? NoDecisionReason.OVERLOADED
                    : NoDecisionReason.TIMED_OUT;
        }

        @Override
        public void end(SendWindow.End how) {
            SendWindow.Ticket<PendingRequest> left = ticket.getAndSet(null);
            if (left != null) {
                window.end(left, how, System.nanoTime());
            }
        }

        @Override
        public void letOthersGoOn() {
            drain(window);
        }
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
                    failures.add(() -> completer.shed(request.number()));
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
        metrics.recordSent();
        long number = request.number();
        try {
            connection.send(request.request(), request.headers(), number, (metadata, exception) -> {
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
