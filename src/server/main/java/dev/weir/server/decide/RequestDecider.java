package dev.weir.server.decide;

import dev.weir.client.Fallback;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Decides the requests that arrive over the network. Implementations are thread-safe. */
@FunctionalInterface
public interface RequestDecider {

    /** The longest time that a request can wait for its decision. */
    Duration MAX_TIMEOUT = Duration.ofSeconds(10);

    /** The shortest time that a request can wait for its decision. */
    Duration MIN_TIMEOUT = Duration.ofMillis(1);

    /**
     * Decides a request and charges it, or reads its quota if its kind is {@code PEEK}. The calling thread does not wait
     * for the decision.
     *
     * @param request the request. Its source is ignored
     * @param timeout how long to wait for the decision, {@link #MIN_TIMEOUT} to {@link #MAX_TIMEOUT}
     * @param fallback who decides if Weir does not
     * @return a future that completes within the timeout. If the fallback decides, the answer has a reason instead of a
     *     decision. The future fails with an {@link IllegalArgumentException} if the request is invalid. With
     *     {@link Fallback#FAIL} it fails with another exception if there is no decision
     */
    CompletableFuture<ClientDecision> decide(Request request, Duration timeout, Fallback fallback);

    /**
     * Decides a request like {@link #decide(Request, Duration, Fallback)}, with a timeout that began when the request
     * was received. If it is over, the request is {@linkplain #decideAtOnce decided at once}.
     *
     * @param receivedNanos when the request was received, by {@link System#nanoTime}
     */
    default CompletableFuture<ClientDecision> decide(
            Request request, long receivedNanos, Duration timeout, Fallback fallback) {
        return isOver(timeout, receivedNanos)
                ? decideAtOnce(request, fallback)
                : decide(request, left(timeout, receivedNanos), fallback);
    }

    /**
     * Decides a request whose timeout was over before it could be decided, because there are too many requests. Leases
     * can still decide it; otherwise it is shed.
     */
    default CompletableFuture<ClientDecision> decideAtOnce(Request request, Fallback fallback) {
        return decide(request, MIN_TIMEOUT, fallback);
    }

    /**
     * Returns whether a timeout is over.
     *
     * @param beganNanos when it began, by {@link System#nanoTime}
     */
    static boolean isOver(Duration timeout, long beganNanos) {
        return System.nanoTime() - beganNanos >= timeout.toNanos();
    }

    /**
     * Returns the rest of a timeout, at least {@link #MIN_TIMEOUT}.
     *
     * @param beganNanos when it began, by {@link System#nanoTime}
     */
    static Duration left(Duration timeout, long beganNanos) {
        Duration left = timeout.minusNanos(System.nanoTime() - beganNanos);
        return left.compareTo(MIN_TIMEOUT) < 0 ? MIN_TIMEOUT : left;
    }
}
