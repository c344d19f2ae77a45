package dev.weir.decision.usage;

import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.event.StateKey;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.List;
import java.util.Optional;

/**
 * A reservation to report: it is open, and an answer depends on it.
 *
 * @param requestId the id of the request that created it
 * @param cost the estimate, in tokens
 * @param sinceMs the start of the request, in milliseconds since the epoch. If none of its charges is known, and it was
 *     renewed since, the time of the last renewal
 * @param endMs when it ends if it is neither ended nor renewed before, in milliseconds since the epoch
 * @param holdings what it holds, in the order of layers
 */
public record OpenReservation(String requestId, long cost, long sinceMs, long endMs, List<Holding> holdings) {

    /**
     * What a reservation holds of one key of a policy.
     *
     * @param policyId the id of the policy
     * @param namesAndValues the names and values of the key fields other than the client, alternating, as in
     *     {@link StateKey#namesAndValues}
     * @param observes whether the policy only observed
     * @param slotsUntilMs when the slots end that it uses, in milliseconds since the epoch; empty if the policy in force
     *     has no limit of concurrency
     */
    public record Holding(
            String policyId, List<String> namesAndValues, boolean observes, Optional<Long> slotsUntilMs) {}

    /**
     * Returns a reservation as it is at {@code nowMs}.
     *
     * @return empty if it was ended or its time is over, or if it is hidden
     */
    public static Optional<OpenReservation> of(
            String requestId, ReservationRecord reservation, PolicyTable policies, long nowMs) {
        if (reservation.isHidden() || reservation.ending().isPresent() || reservation.endMs() <= nowMs) {
            return Optional.empty();
        }
        return Optional.of(new OpenReservation(
                requestId,
                reservation.cost(),
                reservation.held().stream()
                        .mapToLong(HeldCharge::chargedAtMs)
                        .min()
                        .orElse(reservation.fromMs()),
                reservation.endMs(),
                reservation.held().stream()
                        .map(held -> holding(reservation, held, policies, nowMs))
                        .toList()));
    }

    private static Optional<Long> slotsUntilMs(ReservationRecord reservation, HeldCharge held) {
        return held instanceof HeldCharge.Counted counted
                ? Optional.of(reservation.slotEndMs(counted))
                : ((HeldCharge.Leased) held).slots().map(HeldCharge.LentSlotsEnd::endMs);
    }

    private static Holding holding(ReservationRecord reservation, HeldCharge held, PolicyTable policies, long nowMs) {
        Policy policy = policies.inForce(held.key().policyId(), nowMs);
        boolean hasSlots = policy != null && policy.limitsConcurrency() && policy.countsUnder(held.key());
        return new Holding(
                held.key().policyId(),
                held.key().namesAndValues(),
                held.observes(),
                hasSlots ? slotsUntilMs(reservation, held) : Optional.empty());
    }
}
