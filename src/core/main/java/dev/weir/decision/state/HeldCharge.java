package dev.weir.decision.state;

import dev.weir.event.StateKey;
import java.util.List;

/**
 * What a reservation was charged to one key of a policy.
 *
 * @param key the policy, and the values of its key fields
 * @param observes whether the policy only observed, so that no answer may depend on its state
 * @param chargedAtMs the time of the charge to the limits other than of concurrency, in milliseconds since the epoch
 * @param slotMs how long the slots are in use if they are not freed, in milliseconds
 * @param origins the origin of the account of each limit: see {@link ReservedUse}
 */
public record HeldCharge(StateKey key, boolean observes, long chargedAtMs, long slotMs, List<Long> origins) {

    public HeldCharge {
        origins = List.copyOf(origins);
    }
}
