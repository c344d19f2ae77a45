package dev.weir.shape.fair;

import dev.weir.shape.fair.FlowOrder.TierOwed;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Which tier has got less than the share that is kept for it, whatever its priority.
 *
 * <pre>
 *   owed of a tier = share × service of all tiers since it waits − its own service
 *   served next      the tier that is owed most, if it is owed more than 0; otherwise the order of priorities applies
 * </pre>
 *
 * <p>Let m be the number of tiers with such a share, c the largest service of a request, and s the share of a tier. While it
 * waits and is not held, the tier gets at least s × the service of all − (m + 1) · c in each interval. Proof: a tier that
 * is served by the order of priorities is owed no less than −c afterwards. Let P be the sum of what tiers are owed that are
 * owed more than 0. If the tier that is owed most, d, is served and d ≥ c, P does not grow, since the shares add up to at
 * most 1; if d &lt; c, the others are owed less than c each before, so P ≤ m · c afterwards. So a tier is owed between −c
 * and m · c. If service is {@linkplain #correct corrected} when it ends, that of the requests in progress is added to c.
 *
 * <p>Each call takes O(m), and nothing without such a share. Amounts are in hundredths. A service above
 * {@value #MAX_SERVICE} counts as that.
 */
final class MinShares {

    /** The largest service: 2<sup>48</sup>. */
    static final long MAX_SERVICE = 1L << 48;

    private static final long WHOLE = 100;

    /** A waiting tier with a share. */
    private static final class Owed {
        long hundredths;
        boolean isHeld;

        Owed(long hundredths, boolean isHeld) {
            this.hundredths = hundredths;
            this.isHeld = isHeld;
        }
    }

    private final TreeMap<String, Owed> byTier = new TreeMap<>();

    MinShares() {}

    /** Restores what {@link #owed} returned. */
    void restore(List<TierOwed> state) {
        state.forEach(tier -> byTier.put(tier.tier(), new Owed(tier.hundredths(), tier.isHeld())));
    }

    /** Returns what each waiting tier with a share is owed. */
    List<TierOwed> owed() {
        List<TierOwed> state = new ArrayList<>(byTier.size());
        byTier.forEach((tier, owed) -> state.add(new TierOwed(tier, owed.hundredths, owed.isHeld)));
        return state;
    }

    /** Returns the tier that is owed most; null if none is owed anything. */
    String first() {
        String first = null;
        long most = 0;
        for (Map.Entry<String, Owed> tier : byTier.entrySet()) {
            Owed owed = tier.getValue();
            if (owed.hundredths > most && !owed.isHeld) {
                first = tier.getKey();
                most = owed.hundredths;
            }
        }
        return first;
    }

    /** Adds a tier that did not wait, or whose share has changed. */
    void enter(String tier, TierShare share) {
        if (share.minPercent() > 0) {
            byTier.computeIfAbsent(tier, entered -> new Owed(0, false));
        } else {
            byTier.remove(tier);
        }
    }

    /** Removes a tier that no longer waits. */
    void leave(String tier) {
        byTier.remove(tier);
    }

    /** Has a tier not be served, and be owed no more, until it is {@linkplain #readmit readmitted}. */
    void hold(String tier) {
        setHeld(tier, true);
    }

    void readmit(String tier) {
        setHeld(tier, false);
    }

    private void setHeld(String tier, boolean isHeld) {
        Owed owed = byTier.get(tier);
        if (owed != null) {
            owed.isHeld = isHeld;
        }
    }

    /** Returns whether a tier is owed anything. */
    boolean isOwed(String tier) {
        Owed owed = byTier.get(tier);
        return owed != null && owed.hundredths > 0;
    }

    /** Records that a tier was served. */
    void served(String tier, long service, Map<String, TierShare> shares) {
        Owed owed = byTier.get(tier);
        boolean isByRight = isOwed(tier);
        long counted = Math.min(service, MAX_SERVICE);
        correct(tier, counted, shares);
        if (owed != null && !isByRight) {
            owed.hundredths = Math.max(owed.hundredths, -WHOLE * counted);
        }
    }

    /** Changes what a tier was served in the past. */
    void correct(String tier, long change, Map<String, TierShare> shares) {
        byTier.forEach((each, owed) -> {
            long share = owed.isHeld
                    ? 0
                    : shares.getOrDefault(each, TierShare.DEFAULT).minPercent();
            owed.hundredths += (share - (each.equals(tier) ? WHOLE : 0)) * change;
        });
    }
}
