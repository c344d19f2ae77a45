package dev.weir.audit.history;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.RequestKey;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The reservations of a log, by its requests and decisions alone: what each finally cost, and when it ended. The decisions
 * on a client's requests must be passed in their order.
 *
 * @param <T> what the caller knows of a reservation
 */
public final class ReservationHistory<T> {

    private final Map<RequestKey, Reserved<T>> latest = new HashMap<>();

    /**
     * A request that was admitted with a reservation.
     *
     * @param <T> what the caller knows of it
     */
    public static final class Reserved<T> {
        private final T charged;
        private final long estimate;
        private final long startMs;
        private long endMs;
        private long finalCost;
        private boolean isOpen = true;

        private Reserved(Request request, Decision decision, T charged) {
            this.charged = charged;
            this.estimate = request.cost();
            this.startMs = decision.decidedAtMs();
            this.endMs = endOf(decision);
            this.finalCost = request.cost();
        }

        public T charged() {
            return charged;
        }

        /** Returns its slots, and what was charged at first. */
        public long estimate() {
            return estimate;
        }

        /** Returns when the request was decided, in milliseconds since the epoch. */
        public long startMs() {
            return startMs;
        }

        /** Returns when it ends by the last decision or, if a request has ended it, the time of that one. */
        public long endMs() {
            return endMs;
        }

        /**
         * Returns what the request counts as if it had cost that from the start, by what is known so far. What it really
         * cost above its estimate is not included: that counts when it is settled.
         */
        public long finalCost() {
            return Math.min(estimate, finalCost);
        }

        /** Returns what it really cost above its estimate. */
        public long excess() {
            return Math.max(0, finalCost - estimate);
        }

        /** Returns whether nobody has ended it, and its time is not over. */
        public boolean isOpenAt(long atMs) {
            return isOpen && endMs > atMs;
        }

        /** Returns whether a request has ended it. */
        public boolean isEnded() {
            return !isOpen;
        }
    }

    /** Returns whether a decision says that it has ended or prolonged a reservation. */
    public static boolean isChange(Request request, Decision decision) {
        return request.isForReservation()
                && !decision.repeated()
                && switch (decision.reason()) {
                    case SETTLED, RELEASED, CANCELLED, RENEWED -> true;
                    default -> false;
                };
    }

    /**
     * Adds the reservation of an admitted request. An earlier one with its id is over.
     *
     * @param decision the decision, which says when the reservation ends if nobody ends or prolongs it
     */
    public Reserved<T> add(Request request, Decision decision, T charged) {
        Reserved<T> reserved = new Reserved<>(request, decision, charged);
        latest.put(key(request), reserved);
        return reserved;
    }

    /** Returns the latest reservation of the client with the id that a request has or names. */
    public Optional<Reserved<T>> get(Request request) {
        return Optional.ofNullable(latest.get(key(request)));
    }

    /** Returns how many reservations are stored. */
    public int size() {
        return latest.size();
    }

    /** Forgets the reservation with the id that a request has or names. */
    public void remove(Request request) {
        latest.remove(key(request));
    }

    /**
     * Follows a decision that {@linkplain #isChange ends or prolongs} a reservation.
     *
     * @return the reservation; empty if there is none, or a request has ended it before
     */
    public Optional<Reserved<T>> follow(Request request, Decision decision) {
        Reserved<T> reserved = latest.get(key(request));
        if (reserved == null || !reserved.isOpen) {
            return Optional.empty();
        }
        if (request.kind() == RequestKind.RENEW) {
            reserved.endMs = endOf(decision);
            return Optional.of(reserved);
        }
        reserved.isOpen = false;
        reserved.endMs = decision.decidedAtMs();
        if (request.kind() != RequestKind.RELEASE) {
            reserved.finalCost = request.kind() == RequestKind.SETTLE ? request.cost() : 0;
        }
        return Optional.of(reserved);
    }

    /** Returns when a reservation ends; at once if no answer depends on it, so that it cannot be ended. */
    private static long endOf(Decision decision) {
        return decision.reservedUntilMs() == null ? decision.decidedAtMs() : decision.reservedUntilMs();
    }

    private static RequestKey key(Request request) {
        return new RequestKey(request.client(), RequestKind.CONSUME, request.reservationId());
    }
}
