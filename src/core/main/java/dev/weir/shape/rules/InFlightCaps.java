package dev.weir.shape.rules;

import java.util.Map;
import java.util.OptionalLong;

/**
 * How many slots of a bucket the requests of a tier, and those of a client, may occupy at the same time. A request that
 * costs more takes all of them. A tier or a client without slots does not delay others. A number above the slots of the
 * bucket has no effect, so that the slots of the bucket can be reduced for a while without changes to the others.
 *
 * @param ofTier by tier, 1 to {@value InFlightRules#MOST}; a tier that is not named has no bound of its own
 * @param ofClient of each client, 1 to {@value InFlightRules#MOST}
 */
public record InFlightCaps(Map<String, Long> ofTier, OptionalLong ofClient) {

    public static final InFlightCaps NONE = new InFlightCaps(Map.of(), OptionalLong.empty());

    /** @throws IllegalArgumentException if a part is out of its range; the message starts with the part's name */
    public InFlightCaps {
        ofTier = Map.copyOf(ofTier);
        ofTier.forEach((tier, most) -> requireRange("max-in-flight of tier '" + tier + "'", most));
        ofClient.ifPresent(most -> requireRange("max-in-flight-per-client", most));
    }

    private static void requireRange(String part, long value) {
        if (value < 1 || value > InFlightRules.MOST) {
            throw new IllegalArgumentException(part + " must be 1 to " + InFlightRules.MOST + ", is " + value);
        }
    }

    /** Returns whether no tier and no client has a bound. */
    public boolean isEmpty() {
        return ofTier.isEmpty() && ofClient.isEmpty();
    }

    /**
     * Returns whether a tier has slots for another request.
     *
     * @param used the slots that its requests occupy
     * @param more the slots that the request occupies
     */
    boolean hasTierSlots(String tier, long used, long more) {
        Long most = ofTier.get(tier);
        return most == null || fits(used, more, most);
    }

    /** Returns whether a client has slots for another request. The arguments are as those of {@link #hasTierSlots}. */
    boolean hasClientSlots(long used, long more) {
        return ofClient.isEmpty() || fits(used, more, ofClient.getAsLong());
    }

    private static boolean fits(long used, long more, long most) {
        return used + Math.min(more, most) <= most;
    }
}
