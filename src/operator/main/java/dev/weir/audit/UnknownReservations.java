package dev.weir.audit;

import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.RequestKey;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The reservations that the replay may lack, or have although there was none: those of requests whose decision could not
 * be verified, and all from before the oldest retained request.
 */
final class UnknownReservations {

    /** The most reservations that are tracked individually. Beyond that, the oldest is forgotten. */
    private static final int MAX_RESERVATIONS = 100_000;

    /**
     * A reservation that may exist.
     *
     * @param reason why that is unknown
     * @param keys what it may hold; empty if that is unknown too
     */
    record Possible(UnverifiedReason reason, List<StateKey> keys) {}

    private final Map<RequestKey, Possible> possible = new LinkedHashMap<>();
    private final boolean lacksEarlier;
    private UnverifiedReason forgotten; // null if none was forgotten
    private long firstMs = Long.MAX_VALUE;

    /** @param lacksEarlier whether there were requests before the oldest retained one */
    UnknownReservations(boolean lacksEarlier) {
        this.lacksEarlier = lacksEarlier;
    }

    /** Returns the key of the reservation that a request creates or ends. */
    static RequestKey key(Request request) {
        return new RequestKey(request.client(), RequestKind.CONSUME, request.reservationId());
    }

    /** Observes the time of a request. Reservations from before the first one end in time. */
    void observe(long timestampMs) {
        firstMs = Math.min(firstMs, timestampMs);
    }

    void add(Request request, UnverifiedReason reason, List<StateKey> keys) {
        Possible before = possible.remove(key(request));
        List<StateKey> all = new ArrayList<>(keys);
        if (before != null) {
            before.keys.stream().filter(key -> !all.contains(key)).forEach(all::add);
        } else if (possible.size() >= MAX_RESERVATIONS) {
            Iterator<Possible> oldest = possible.values().iterator();
            forgotten = oldest.next().reason;
            oldest.remove();
        }
        possible.put(key(request), new Possible(reason, List.copyOf(all)));
    }

    /**
     * Returns the reservation that a request may name although the replay does not have it, or has another one.
     *
     * @param isFound whether the recorded decision shows that there was one
     */
    Optional<Possible> get(Request request, boolean isFound) {
        Possible one = possible.get(key(request));
        boolean mayBeEarlier = lacksEarlier && request.timestampMs() < firstMs + Request.MAX_RESERVE_MS;
        if (one != null) {
            return Optional.of(one);
        } else if (forgotten != null) {
            return Optional.of(new Possible(forgotten, List.of()));
        }
        return isFound && mayBeEarlier
                ? Optional.of(new Possible(UnverifiedReason.BEFORE_RETENTION, List.of()))
                : Optional.empty();
    }

    /** Returns why the number of reservations is unknown; empty if it is known. */
    Optional<UnverifiedReason> whySizeIsUnknown() {
        return lacksEarlier
                ? Optional.of(UnverifiedReason.BEFORE_RETENTION)
                : forgotten != null
                        ? Optional.of(forgotten)
                        : possible.values().stream().map(Possible::reason).findFirst();
    }
}
