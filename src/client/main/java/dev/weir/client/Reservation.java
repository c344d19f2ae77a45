package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.event.Reason;
import java.util.concurrent.CompletableFuture;

/**
 * The answer to {@link WeirClient#reserve}: a decision and, if it allows the request, what Weir reserves until the work
 * is done. End it once, by what is known then.
 *
 * <pre>{@code
 * Request request = RequestBuilder.of("alice").attribute("model", "large").cost(4_000).build();
 * try (Reservation reservation = weir.reserve(request, Duration.ofSeconds(60)).join()) {
 *     if (reservation.isAllowed()) {
 *         long usedTokens = model.complete("…");
 *         reservation.settle(usedTokens);
 *     }
 * } // cancelled if the work has failed
 * }</pre>
 *
 * <pre>
 *             charges                          slots of concurrency limits
 *   settle    as if the cost had been actual   freed
 *   release   as reserved                      freed
 *   cancel    refunded                         freed
 *   none      as reserved                      freed when the reservation ends by itself
 * </pre>
 *
 * <p>The client renews an open reservation each third of its time, until it is ended, {@linkplain #onLost lost} or the
 * client is closed. A reservation that is denied, or allowed by the {@link Fallback} without being sent, holds nothing:
 * its methods do nothing. If the fallback allowed a request that may have been sent, the reservation is not renewed, but
 * it can be ended, as Weir may have decided the request meanwhile.
 *
 * <p>The first call of {@code settle}, {@code release}, {@code cancel} or {@code close} counts. A later call sends
 * nothing. If an end cannot be sent, it is tried again within the client's time-out; after that the reservation ends by
 * its time. A future of an end completes on the client's executor, with
 *
 * <ul>
 *   <li>{@link Reason#SETTLED}, {@link Reason#RELEASED} or {@link Reason#CANCELLED} if the reservation was ended
 *   <li>{@link Reason#NOTHING_RESERVED} if there is none: it has ended by its time, or holds nothing
 *   <li>{@link Reason#ALREADY_ENDED} if it was ended in another way
 *   <li>a {@link NoDecisionException} if Weir has not confirmed the end; it may have happened
 * </ul>
 *
 * <p>Instances are thread-safe.
 */
public interface Reservation extends AutoCloseable {

    /**
     * Returns a reservation that holds nothing.
     *
     * @param decision the decision, which may allow or refuse the request
     * @return a reservation whose methods do nothing
     */
    static Reservation none(ClientDecision decision) {
        return new NoReservation(decision);
    }

    /**
     * Returns the decision on the request.
     *
     * @return the decision of Weir or, without one, that of the fallback
     */
    ClientDecision decision();

    /**
     * Returns whether the request may proceed: at once, or after the decision's {@code delayMs}. A queued request may
     * not; its reservation stays open for the worker that processes its release and ends it by its requestId.
     *
     * @return {@link ClientDecision#allowed} of the decision
     */
    default boolean isAllowed() {
        return decision().allowed();
    }

    /**
     * Ends the reservation: the request counts as if it had cost {@code actualCost} from the start.
     *
     * @param actualCost what the work really cost, in tokens, 0 or more. What it exceeds the estimate by is charged up to
     *     the policy's {@code max-debt}
     * @return a future that completes with how it ended
     * @throws IllegalArgumentException if the cost is below 0 or above the client's {@link ClientBuilder#rules}
     */
    CompletableFuture<Reason> settle(long actualCost);

    /**
     * Ends the reservation: the charges stay, the slots are freed.
     *
     * @return a future that completes with how it ended
     */
    CompletableFuture<Reason> release();

    /**
     * Ends the reservation: nothing was done, so all of it is refunded.
     *
     * @return a future that completes with how it ended
     */
    CompletableFuture<Reason> cancel();

    /**
     * Sets what runs once, on the client's executor, if the reservation is lost: Weir has denied to renew it, or its time
     * has passed without a renewal, or the client was closed. Its slots may then be those of others, so the work should
     * stop. It runs soon if the reservation is lost already, and never after an end.
     *
     * @param action what runs
     */
    void onLost(Runnable action);

    /** {@linkplain #cancel Cancels} the reservation if nothing has ended it. Does not wait. */
    @Override
    void close();
}
